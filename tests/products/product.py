"""One product: a job of some kind, with a body, that ends in some way. It is submitted, waited for until all of it is up, what ends it is done, and what became of it is
written down in one form, which rules.py foretells."""
import re
import subprocess
import time

from bodies import BODY, RESIZE, SCRIPT

KINDS = ["plain", "array_first", "array_middle", "array_last", "het", "requeued", "resized", "reservation", "preemptable"]
BODIES = ["batch", "srun", "srun_twice", "srun_tee", "signal", "mpirun", "sbcast", "sattach", "many", "async", "overlap"]
ENDINGS = ["self", "scancel", "scancel_usr1", "time_limit", "requeue_outside", "requeue_script", "requeue_task", "preempt_cancel", "preempt_requeue", "preempt_suspend",
           "node_lost_a", "node_lost_b", "controller_killed"]
# Of --full alone: two kinds in one, jobs of salloc, whose script runs beside it, and of srun alone; a job that is stopped or suspended for a while, signals to the script or to
# everybody, a step that is cancelled, has a limit that is cut or its own, too much memory or a task that fails (with srun -K and without), node daemons that are killed.
MORE_KINDS = ["array_middle+requeued", "array_last+requeued", "array_middle+reservation", "array_first+preemptable", "requeued+reservation", "requeued+preemptable", "resized+requeued",
              "resized+preemptable", "het+requeued", "het+reservation", "het+preemptable", "salloc", "salloc+het", "salloc+resized", "salloc+reservation", "salloc+preemptable", "direct", "direct+het",
              "direct+reservation", "direct+preemptable"]
MORE_BODIES = ["pty", "multi", "colon"]
MORE_ENDINGS = ["stopped", "suspended", "scancel_batch", "scancel_full", "scancel_step", "step_limit", "step_own_limit", "step_oom", "task_fails", "task_fails_k", "daemon_killed"]

READY_S, OVER_S = 90, 90
ELEMENT = {"array_first": 0, "array_middle": 1, "array_last": 2}

def tasks_of(product):
    """Those that are there when it is ended."""
    if product.body == "batch":
        return ["task0"]
    if product.body == "colon" or (product.a("direct") and product.a("het")):
        return ["taskA", "taskB"]
    if product.body == "overlap":
        return ["task0", "task1", "beside"]
    return ["taskA", "taskB"] if product.body in ("srun_twice", "many", "async") else ["task0", "task1"]


def later_of(product):
    """Those that wait for them."""
    return {"many": ["taskC", "taskD"], "async": ["taskC"]}.get(product.body, [])


class Broken(Exception):
    pass


class Product:
    def __init__(self, kind, body, ending, element=None):
        self.kind, self.body, self.ending = kind, body, ending
        self.name = f"{kind}/{body}/{ending}"
        self.traits = set(kind.split("+"))
        self.array = next((t for t in self.traits if t in ELEMENT), None)
        self.run_at = 1 if self.a("requeued") else 0  # number of the run that is ended
        self.pair = self.high = None
        self.attached = self.command = None
        # The command that made the job stays with it: salloc and its script, or srun.
        self.front = "salloc" if self.a("salloc") else "srun" if self.a("direct") else None
        self.people = [] if self.front == "srun" else ["script", "helper"]
        # The one CPU of a node is for the element that is preempted: the others come when it is over.
        self.alone = self.array is not None and ending.startswith("preempt_")

    def a(self, trait):
        return trait in self.traits

    # ---- submission ----

    def prepare(self, cluster, counter):
        self.cluster = cluster
        self.base = cluster.work / self.name.replace("/", ".")
        self.counter = counter
        self.elements = [0, 1, 2] if self.array else [None]
        for element in self.elements:
            folder = self.dir(element)
            folder.mkdir(parents=True)
            (folder / "log").touch()

    def dir(self, element):
        return self.base if element is None else self.base / str(element)

    @property
    def target(self):
        return ELEMENT.get(self.array)

    def partition(self):
        if self.ending.startswith("preempt_"):
            return "low_" + self.ending.split("_")[1]
        if self.ending.startswith("node_lost"):
            return self.ending.replace("node_", "")
        return "low_requeue" if self.a("preemptable") else "main"

    def options(self):
        yield from ["-J", self.name, "-p", self.partition(), "--mem=10", "-t", "30"]
        if not self.front:
            yield from ["--parsable", "--open-mode=append", "-o", str(self.base / ("out" if self.target is None else "%a/out"))]
        if not self.front and (self.ending.startswith(("requeue", "preempt_requeue", "node")) or self.a("requeued")):
            yield "--requeue"
        if self.a("reservation"):
            yield f"--reservation={self.cluster.reservation(self)}"
        if self.body == "signal":
            yield self.cluster.signal_option
        if self.target is not None:
            yield "--array=0-2"
        if self.alone:
            yield "--hold"
        if self.front == "srun":
            yield from self.step_options()

    def step_options(self):
        """What the ending wants of the step."""
        return {"step_own_limit": ["-t", self.cluster.own_limit], "task_fails_k": ["-K"]}.get(self.ending, [])

    def shape(self):
        """What each component asks for, and what srun alone runs in it."""
        nodes = [["-w", n] for n in self.pair] if self.pair else [[], []]
        if self.a("het") and self.ending.startswith("node_lost"):  # a component on each of the first two nodes
            first, second = self.cluster.lost_pair[self.ending[-1]]
            nodes = [["-x", second], ["-x", first]]
        if self.a("het"):
            return ["-N1", "-n1", "--mem=10", *nodes[0], *self.program("taskA"), ":", "-N1", "-n1", "--mem=10", "-p", self.partition(), *nodes[1], *self.program("taskB")]
        where = ["-w", ",".join(self.pair)] if self.pair else []
        if self.a("resized") and self.pair:  # the third node comes behind the pair, which stays
            where += ["-x", "n[1-5],a[1-4],b[1-4]"]
        return ["-N3", "-n3", *where] if self.a("resized") else ["-N2", "-n2", *where, *self.program("task")]

    def program(self, task):
        if self.front != "srun":
            return []
        if self.body == "multi":
            (self.base / "lines").write_text(f"0 {self.counter} task\n1 {self.counter} task\n")
            return ["--multi-prog", str(self.base / "lines")]
        return [*(["--pty"] if self.body == "pty" else []), self.counter, task]

    def submit(self):
        if self.ending.startswith("preempt_"):
            self.pair = self.cluster.pairs.get()
        het = self.a("het")
        folder = self.base if self.target is None else f"{self.base}/$SLURM_ARRAY_TASK_ID"
        script = self.base / "script"
        script.write_text(SCRIPT % dict(dir=folder, counter=self.counter, body=BODY[self.body], before=RESIZE if self.a("resized") else "", both="--het-group=0,1" if het else "",
                                        first="--het-group=0" if het else "", second="--het-group=1" if het else "", step=" ".join(self.step_options())))
        if self.front:
            self.begin([self.front, *self.options(), *self.shape(), *(["bash", str(script)] if self.front == "salloc" else [])])
        else:
            self.id = self.cluster.ask("sbatch", *self.options(), *self.shape(), str(script)).split(";")[0].strip()
        self.ref = self.id if self.target is None else f"{self.id}_{self.target}"
        if self.alone:
            self.cluster.ask("scontrol", "release", self.ref)
        self.labels = [self.id] if self.target is None else [f"{self.id}_{e}" for e in self.elements]
        if het:
            self.labels = [f"{self.id}+0", f"{self.id}+1"]

    def begin(self, command):
        """A command that stays; which job it made, the queue says."""
        if self.body == "pty" and self.front == "srun":
            command = [self.counter, "terminal", *command]
        env = self.cluster.env if self.front == "salloc" else {**self.cluster.env, "D": str(self.base), "C": self.counter, "N": "0"}
        with open(self.base / "out", "a") as out, open(self.base / "err", "a") as err:
            self.command = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.base, start_new_session=True)
        found = lambda: re.match(r"\d+", self.cluster.run("squeue", "-h", "-a", "-n", self.name, "-o", "%i").stdout) or self.command.poll() is not None
        got = self.wait_for("its job", READY_S, found)
        if got is True:
            raise Broken(f"{command[0]} left with {self.command.returncode}: {(self.base / 'err').read_text()[-300:]}")
        self.id = got[0]

    # ---- what is seen of it ----

    def log(self, element):
        return [line.split() for line in (self.dir(element) / "log").read_text().splitlines()]

    def wait_for(self, what, seconds, test):
        end = time.time() + seconds * self.cluster.patience
        while not (got := test()):
            if time.time() > end:
                raise Broken(f"{what} did not happen within {seconds} s")
            time.sleep(0.1)
        return got

    def up(self, element, run):
        lines = self.log(element)
        wanted = [["start", who, str(run)] for who in [*self.people, *tasks_of(self), *(["queued"] if later_of(self) else [])]]
        if self.body == "signal":
            wanted += [["sig", who, str(run), "USR1"] for who in tasks_of(self)]
        return all(line in lines for line in wanted)

    def ready(self, run, elements=None):
        for element in self.elements if elements is None else elements:
            self.wait_for(f"run {run} of {element if element is not None else 'the job'}", READY_S, lambda e=element: self.up(e, run))

    def go(self, run, element):
        (self.dir(element) / f"go.{run}").touch()

    def errand(self, who, run, text):
        path = self.dir(self.target) / f"do.{run}.{who}"
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)  # never seen half written

    def over(self):
        self.wait_for("its end", OVER_S, lambda: not self.cluster.state(self.labels))
        if self.command:
            self.wait_for(f"the end of {self.front}", OVER_S, lambda: self.command.poll() is not None)

    def in_state(self, state):
        def test():
            return set(self.cluster.state(self.labels if self.a("het") else [self.ref]).values()) == {state}
        self.wait_for(state, READY_S, test)

    # ---- its life ----

    def live(self):
        c = self.cluster
        self.submit()
        if self.run_at:
            self.ready(0, [self.target] if self.alone else None)
            c.ask("scontrol", "requeue", self.ref)
        self.ready(self.run_at, [self.target] if self.alone or self.run_at else None)
        if self.body == "sattach":
            self.attach()
        getattr(self, "end_" + re.sub("_(usr1|batch|full|step|outside|script|task|a|b|cancel|suspend|own_limit|oom|k)$|(?<=step)_limit$|(?<=preempt)_requeue$", "", self.ending))()
        for element in self.elements:
            if element not in self.hit():
                if self.alone:
                    self.cluster.ask("scontrol", "release", f"{self.id}_{element}")
                if self.alone and later_of(self):  # all of them are queued before the first is over
                    self.ready(0, [element])
                self.go(0, element)
        self.over()

    def again(self):
        """It comes back and ends by itself."""
        self.ready(self.run_at + 1, self.hit())
        for element in self.hit():
            self.go(self.run_at + 1, element)

    def hit(self):
        """The elements that the ending concerns: a node is lost for all of them."""
        return self.elements if self.ending.startswith("node_lost") else [self.target]

    def end_self(self):
        self.go(self.run_at, self.target)

    def end_scancel(self):
        if self.ending == "scancel":
            self.cluster.ask("scancel", self.ref)
            return
        if self.ending == "scancel_step":
            self.cluster.ask("scancel", f"{self.ref}.0")
            return
        (self.refused if self.front and self.ending == "scancel_batch" else self.cluster.ask)(
            "scancel", *{"scancel_batch": ["-b"], "scancel_full": ["-f"]}.get(self.ending, []), "-s", "USR1", self.ref)
        time.sleep(1)
        self.go(self.run_at, self.target)

    def end_stopped(self):
        """Its script and all that it began, by a signal; nobody hears of it."""
        self.cluster.ask("scancel", "-f", "-s", "STOP", self.ref)
        self.in_state("STOPPED")
        self.cluster.ask("scancel", "-f", "-s", "CONT", self.ref)
        self.in_state("RUNNING")
        self.go(self.run_at, self.target)

    def end_suspended(self):
        self.cluster.ask("scontrol", "suspend", self.ref)
        self.in_state("SUSPENDED")
        self.cluster.ask("scontrol", "resume", self.ref)
        self.in_state("RUNNING")
        self.go(self.run_at, self.target)

    def end_time_limit(self):
        self.cluster.ask("scontrol", "update", f"JobId={self.ref}", f"TimeLimit={self.cluster.shortest_limit}")

    def end_requeue(self):
        command = f"{'' if self.front else 'exec '}scontrol requeue {'$SLURM_JOB_ID' if self.target is None else '${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID'}"
        if self.ending == "requeue_outside":
            (self.refused if self.front else self.cluster.ask)("scontrol", "requeue", self.ref)
        else:
            self.errand("helper" if self.ending == "requeue_script" else tasks_of(self)[-1], self.run_at, command)
        if self.front:
            if self.ending != "requeue_outside":
                self.wait_for("the answer", READY_S, lambda: any(line[0] == "did" for line in self.log(self.target)))
            self.end_self()
        else:
            self.again()

    def end_step(self):
        if self.ending == "step_limit":
            ref = self.ref if self.cluster.name == "remuda" else self.cluster.ask("squeue", "-h", "-j", self.ref, "-o", "%A").strip()
            self.cluster.ask("scontrol", "update", f"StepId={ref}.0", f"TimeLimit={self.cluster.shortest_limit}")
        elif self.ending == "step_oom":
            self.wish("eat")
            self.wait_for("the task's hunger", READY_S, lambda: ["eats", tasks_of(self)[-1], str(self.run_at)] in self.log(self.target))
            self.go(self.run_at, self.target)

    def end_task_fails(self):
        self.wish("fail")
        if self.ending == "task_fails":
            self.wait_for("the task's end", READY_S, lambda: ["end", tasks_of(self)[-1], str(self.run_at), "fail"] in self.log(self.target))
            self.go(self.run_at, self.target)

    def wish(self, what):
        """Of the last task."""
        (self.dir(self.target) / f"{what}.{self.run_at}.{tasks_of(self)[-1]}").touch()

    def refused(self, *command):
        done = self.cluster.run(*command)
        if done.returncode == 0:
            raise Broken(f"{' '.join(command)} was not refused")

    def end_preempt(self):
        wrap = f"echo start >> {self.base}/high; until test -e {self.base}/high-go; do sleep 0.1; done"
        more = [f"--reservation={self.cluster.reservation(self)}"] if self.a("reservation") else []
        self.high = self.cluster.ask("sbatch", "--parsable", "-p", "high", "-N2", "-n2", "-w", ",".join(self.pair), "--mem=10", "-t", "30", "-o", "/dev/null", *more, "--wrap", wrap).strip()
        self.wait_for("the other job's start", READY_S, lambda: (self.base / "high").exists())
        if self.ending == "preempt_suspend":
            self.in_state("SUSPENDED")
            (self.base / "high-go").touch()
            self.in_state("RUNNING")
            self.go(self.run_at, self.target)
            return
        (self.base / "high-go").touch()
        if self.ending == "preempt_requeue" and not self.front:
            self.again()

    def end_node_lost(self):
        self.fault()
        if not self.front:
            self.again()

    def end_daemon_killed(self):
        self.end_controller_killed()

    def end_controller_killed(self):
        self.fault()
        self.go(self.run_at, self.target)

    def attach(self):
        self.attached = subprocess.Popen(["sattach", f"{self.ref}.0"], env=self.cluster.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         cwd=self.base)
        time.sleep(0.3)

    def finish(self):
        """Everything of it goes, however it went."""
        if self.attached and self.attached.poll() is None:
            self.attached.kill()
        if getattr(self, "id", None) and self.cluster.state(self.labels):
            self.cluster.run("scancel", *([] if self.front else ["-s", "KILL"]), self.id)
        if self.command and self.command.poll() is None:
            self.command.kill()
        if self.high:
            (self.base / "high-go").touch()
            self.cluster.run("scancel", self.high)
        if self.pair:
            self.cluster.pair_return(self)

    # ---- what became of it ----

    def seen(self):
        return {"" if e is None else str(e): self.seen_of(e) for e in self.elements}

    def seen_of(self, element):
        signals, ends = {}, []
        for what, who, run, *rest in self.log(element):
            if what == "sig" and rest:  # not the beginning of a line whose writer was killed
                key = f"{run}.{who}.{rest[0]}"
                signals[key] = signals.get(key, 0) + 1
            elif what == "did" and rest:
                ends.append(f"{who} did {rest[0]}")
        label = self.id if element is None else f"{self.id}_{element}"
        return {"rows": self.rows(label), "signals": signals, "runs": max((int(l[2]) for l in self.log(element) if l[0] == "start"), default=-1) + 1,
                "output": self.output(element), "did": ends, "files": self.files(element), "status": self.command and self.command.returncode}

    def files(self, element):
        """Of srun -o %A_%a_%s_%t, and the run that wrote it; A is the job's number, or its component's."""
        names = sorted(path.name for path in self.dir(element).iterdir() if re.match(r"[\dN]+_\d+_\d+_\d+\.\d+$", path.name))
        ours = [self.id, str(int(self.id) + 1)] if self.a("het") else [self.id]
        return sorted(re.sub(rf"^({'|'.join(ours)})_", "A_", name) for name in names)

    def output(self, element):
        path = self.dir(element) / "out"
        text = path.read_text(errors="replace") if path.exists() else ""
        return sorted(line for line in text.splitlines() if re.match(r"(task\w+|beside|never) done \d+$", line))

    def rows(self, label):
        """What sacct tells of it, a row a line: of each run the job, then its steps: "job COMPLETED 0:0"."""
        text = self.cluster.ask("sacct", "-n", "-P", "-D", "-j", label, "-o", "JobID,State,ExitCode,Start")
        out = []
        for line in text.splitlines():
            job, state, code, _ = line.split("|")
            name = job[len(label):] if job.startswith(label) else job
            if re.match(r".*\.extern$", name):
                continue
            out.append(f"{name or 'job'} {state.split()[0]} {code}")
        return out
