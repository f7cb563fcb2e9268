"""What becomes of each product, from rules that are written once. They are Slurm's own: `run.py --slurm` compares them with a real one; where the two differ on purpose it is
said in DIFFERENT.

A job has runs, one after another. Each run is over in one way: it ended by itself, all of it was told to end (SIGTERM once to the script, to what the script runs beside, and to
each task), or a node of it was lost. What ends the job says which runs it has and how accounting names them."""
import fnmatch
import shutil

from product import later_of, tasks_of

# how the last runs are over, after one that was requeued by hand if the kind says so: (state of the job in accounting, in which way)
RUNS = {
    "self": [("COMPLETED", "itself")],
    "scancel": [("CANCELLED", "told")],
    "scancel_usr1": [("COMPLETED", "itself")],
    "time_limit": [("TIMEOUT", "told")],
    "requeue_outside": [("REQUEUED", "told"), ("COMPLETED", "itself")],
    "requeue_script": [("REQUEUED", "told"), ("COMPLETED", "itself")],
    "requeue_task": [("REQUEUED", "told"), ("COMPLETED", "itself")],
    "preempt_cancel": [("PREEMPTED", "told")],
    "preempt_requeue": [("PREEMPTED", "told"), ("COMPLETED", "itself")],
    "preempt_suspend": [("COMPLETED", "itself")],
    "node_lost_a": [("NODE_FAIL", "lost_a"), ("COMPLETED", "itself")],
    "node_lost_b": [("NODE_FAIL", "lost_b"), ("COMPLETED", "itself")],
    "controller_killed": [("COMPLETED", "itself")],
    "stopped": [("COMPLETED", "itself")],
    "suspended": [("COMPLETED", "itself")],
    "scancel_batch": [("COMPLETED", "itself")],
    "scancel_full": [("COMPLETED", "itself")],
    "scancel_step": [("FAILED", "step")],
    "step_limit": [("COMPLETED", "limit")],
    "step_own_limit": [("COMPLETED", "limit")],
    "step_oom": [("FAILED", "oom")],
    "task_fails": [("FAILED", "fails")],
    "task_fails_k": [("FAILED", "bad")],
    "daemon_killed": [("COMPLETED", "itself")],
}

# Where a command stays with its job that is not sent back to the queue: it is refused, or the job ends.
FRONT_RUNS = {
    "requeue_outside": [("COMPLETED", "itself")],
    "requeue_script": [("COMPLETED", "itself")],
    "requeue_task": [("COMPLETED", "itself")],
    "preempt_requeue": [("PREEMPTED", "told")],
    "node_lost_a": [("NODE_FAIL", "lost_a")],
    "node_lost_b": [("NODE_FAIL", "lost_b")],
}

# Ways in which the step alone is over: how accounting has it, and with what its srun, and so the script, ends.
STEP_WAYS = {"step": ("CANCELLED 0:9", 137), "limit": ("TIMEOUT 0:0", 0), "oom": ("OUT_OF_MEMORY 0:125", 253), "fails": ("FAILED 5:0", 5), "bad": ("FAILED 5:0", 5)}
STEP_ENDINGS = ("scancel_step", "step_limit", "step_own_limit", "step_oom", "task_fails", "task_fails_k")
STEP_BODIES = ("srun", "signal", "sattach", "pty", "multi")

DIFFERENT = {
    "slurm": ["a step that is told to end gets SIGTERM twice where its srun hears of it as well (time limit, preemption): once in Remuda",
              "scancel --full of a job without a script reaches nobody", "salloc whose command ends with 128 and a signal: the job's exit code is that signal's number",
              "StepId= takes no element's name, only the number of its record", "--pty shows the first task of each component"],
    "remuda": ["what sbcast copies with is a step of its own in accounting", "srun A : B in an ordinary job makes two steps, .0 and .1; Slurm one in two parts"],
}


def possible(kind, body, ending):
    """A batch job without steps has no task that could ask, nor a step to cancel. A lost node ends all elements of an array, of which one alone was requeued before."""
    if kind.startswith("array") and "requeued" in kind and ending.startswith("node_lost"):
        return False
    if "direct" in kind and (body not in (("srun", "signal") if "het" in kind else STEP_BODIES) or ending == "requeue_script"):
        return False
    if ending in STEP_ENDINGS and (body not in STEP_BODIES or ("het" in kind and ending in ("scancel_step", "step_limit", "step_oom"))):
        return False
    if ("salloc" in kind or "direct" in kind) and (ending == "stopped" or body == "batch"):  # of salloc without steps nothing is in the job
        return False
    if "salloc" in kind and "het" in kind and body == "mpirun":  # no component's nodes are in SLURM_NODELIST then, in Slurm neither: it starts on salloc's own machine
        return False
    if ending == "scancel_full" and body in ("srun_tee", "mpirun"):  # tee and mpirun's daemons die of it
        return False
    return not (body == "batch" and ending == "requeue_task")


def missing(p):
    if p.body == "mpirun" and not shutil.which("mpirun.openmpi"):
        return "mpirun.openmpi is not installed"
    return None


def runs_of(p, element):
    if element not in p.hit():
        return [("COMPLETED", "itself")]
    if p.front == "srun" and p.ending == "step_own_limit":  # it is the job's
        return [("TIMEOUT", "told")]
    if p.front and p.ending == "step_oom":  # 128 and the number that stands for it
        return [("OUT_OF_MEMORY", "oom")]
    before = [("REQUEUED", "told")] if p.a("requeued") else []
    return before + (p.front and FRONT_RUNS.get(p.ending) or RUNS[p.ending])


# ---- accounting ----

def steps_of(p, way):
    if p.body == "batch":
        return []
    if p.body in ("many", "async"):
        count = 2 if p.body == "many" else 4  # those that srun --async has queued have numbers
        return [str(n) for n in range(count + 2 * (way == "itself"))]
    if p.body == "overlap":
        return ["0", "1"]
    if p.body == "colon" and not p.a("het"):
        return ["0+0", "0+1"] if p.cluster.name == "slurm" else ["0", "1"]
    two = p.body == "srun_twice" or (p.body == "sbcast" and p.cluster.name == "remuda")
    return ["0", "1"] if two else ["0"]


def never(p, way):
    """Numbers of the steps that were queued and never began."""
    if p.body != "async":
        return []
    numbers = ["+0.2", "+0.3"] if p.a("het") else [".2", ".3"]
    return numbers[1:] if way == "itself" else numbers


def row(name, state, way, p):
    """A script or a step that leaves by itself is COMPLETED, whatever is to become of its job. mpirun ends with what its daemons made of it, a lost node is nobody's witness."""
    if name in never(p, way):
        return f"{name} CANCELLED 0:0"
    if way in STEP_WAYS:
        step, code = STEP_WAYS[way]
        if way in ("fails", "bad") and name[:2] == "+0":  # the task that fails is of the second component
            step = "COMPLETED 0:0"
        return f"{name} {step}" if not name.endswith("batch") else f"{name} FAILED {code}:0" if code else f"{name} COMPLETED 0:0"
    if way == "told" and name.endswith("batch") and p.body in ("many", "async"):
        return f"{name} FAILED *"  # of the srun that waited: 1, or 143 if it had hardly begun
    if (way == "itself" and not (p.body == "mpirun" and name[-1] == "0")) or (way == "told" and p.body != "mpirun"):
        return f"{name} COMPLETED 0:0"
    return f"{name} * *"


def in_order(lines):
    """Of the components of a heterogeneous job one after another."""
    return sorted(lines, key=lambda line: line[:2] if line[0] == "+" else "")


def job_code(p, way):
    code = STEP_WAYS[way][1] if way in STEP_WAYS else 0
    if p.front and code > 128:
        return "*:*" if p.cluster.name == "slurm" else f"0:{code - 128}"
    return f"{code}:0"


def rows(p, element):
    out = []
    for state, way in runs_of(p, element):
        code = job_code(p, way)
        script = lambda name: [] if p.front else [row(name, state, way, p)]
        if p.a("resized"):  # what it was before has a row of its own, and the script began then
            out += ["job RESIZING 0:0", *script(".batch"), f"job {state} {code}", *(row(f".{s}", state, way, p) for s in steps_of(p, way))]
            continue
        if not p.a("het"):
            out += [f"job {state} {code}", *script(".batch"), *(row(f".{s}", state, way, p) for s in steps_of(p, way))]
            continue
        first, second = het_steps(p, way)
        out += [f"+0 {state} {code}", *script("+0.batch"), *(row(f"+0.{s}", state, way, p) for s in first)]
        out += [f"+1 {state} {code}", *(row(f"+1.{s}", state, way, p) for s in second)]
    return out


def status(p, element):
    """Of salloc or srun; None: it is no promise."""
    state, way = runs_of(p, element)[-1]
    if way in STEP_WAYS:
        return STEP_WAYS[way][1]
    return 0 if way == "itself" or (way == "told" and p.body not in ("many", "async", "mpirun")) else None


def het_steps(p, way):
    """Each component has the steps that were launched in it; numbers are the whole job's."""
    if p.body == "overlap":
        return ["0", "1"], ["0"]
    if p.body == "async":
        return ["0", "2", "3"] + ["5"] * (way == "itself"), ["1"] + ["4"] * (way == "itself")
    if p.body == "many" and p.cluster.name == "slurm":
        return ["0", "2"][:1 + (way == "itself")], ["1", "3"][:1 + (way == "itself")]
    if p.body == "many":  # two sruns at a time, of which either may be the first
        return [["[01]", "[23]"][:1 + (way == "itself")]] * 2
    if p.body == "srun_twice":
        return ["[01]"], ["[01]"]
    if p.body == "sbcast" and p.cluster.name == "remuda":
        return ["0", "1"], ["1"]
    return steps_of(p, way), [] if p.body == "mpirun" else steps_of(p, way)


# ---- signals ----

def told_of(p, way):
    """Who of a run hears SIGTERM: all; of a lost node nobody who was there."""
    tasks = tasks_of(p)
    if p.front:  # its command and the script are beside the job
        return [who for who in told_in_job(p, way, tasks) if who in tasks]
    return told_in_job(p, way, tasks)


def told_in_job(p, way, tasks):
    if way in ("limit", "bad"):
        return tasks if way == "limit" else tasks[:-1]
    if way == "told":
        return ["script", "helper", *tasks]
    if p.body in ("mpirun", "srun_twice", "many", "async", "overlap", "colon") and way.startswith("lost"):  # which of them was there is nobody's promise
        return (["script", "helper"] if way == "lost_b" else []) + tasks
    if way == "lost_a":
        return tasks[1:]
    return ["script", "helper", tasks[0]] if way == "lost_b" else []


def signals(p, element):
    """run.who.SIGNAL → (least, most) times."""
    out = {}
    unheard = p.front and p.ending == "scancel_full" and p.cluster.name == "slurm"
    for n, (_, way) in enumerate(runs_of(p, element)):
        for who in told_of(p, way):
            out[f"{n}.{who}.TERM"] = often(p, who, way)
        usr1 = (p.body == "signal" and not (p.alone and element != p.target)) + (p.ending in ("scancel_usr1", "scancel_full") and not unheard and element == p.target and n == p.run_at)
        told = element == p.target and n == p.run_at
        for who in ["script", "helper"] * (not p.front) + (["task0"] if p.body == "batch" else []):
            if told and (p.ending == "scancel_full" or (p.ending == "scancel_batch" and who == "script")):
                out[f"{n}.{who}.USR1"] = (1, 1)
        if p.body == "pty" and way.startswith("lost"):  # the terminal goes with its node
            for who in tasks_of(p) if p.a("het") else tasks_of(p)[:1]:  # of each component
                out[f"{n}.{who}.HUP"] = (0, 1)
        for who in tasks_of(p):
            if usr1 and p.body != "batch":
                out[f"{n}.{who}.USR1"] = (1, 9) if p.body == "mpirun" else (usr1, usr1)
    return out


def often(p, who, way):
    if who == "script" and p.body == "mpirun":
        return (0, 1)  # bash heeds its trap when mpirun has left, which may take it longer than KillWait
    if way.startswith("lost"):
        return (1, 1) if who in ("script", "helper") else (0, 9) if p.body == "mpirun" else (0, 1)
    if who.startswith("task") and p.body == "mpirun":
        return (1, 9)  # of mpirun, its daemons and the step
    if p.cluster.name == "slurm" and who.startswith("task") and p.body != "batch":
        return (1, 2)
    return (1, 1)


# ---- output ----

def output(p, element):
    """A terminal has that of the first task alone, in Slurm of the first of each component."""
    said = {"itself": tasks_of(p) + later_of(p), "fails": tasks_of(p)[:-1], "oom": tasks_of(p)[:-1]}
    return sorted(f"{who} done {n}" for n, (_, way) in enumerate(runs_of(p, element)) for who in said.get(way, []) if p.body != "pty" or who == "task0" or (p.a("het") and p.cluster.name == "slurm"))


def files(p, element):
    """A job that is no array has Slurm's number for none."""
    if p.body != "multi" or p.front == "srun":
        return []
    index = 4294967294 if element is None else element
    return sorted(f"A_{index}_0_{task}.{n}" for n in range(len(runs_of(p, element))) for task in (0, 1))


def did(p, element):
    if element != p.target or p.ending not in ("requeue_script", "requeue_task"):
        return []
    return [f"{'helper' if p.ending == 'requeue_script' else tasks_of(p)[-1]} did {256 if p.front else 0}"]


# ---- comparison ----

def compare(p, seen):
    out = []
    for element in p.elements:
        name = "" if element is None else f"element {element}: "
        got = seen["" if element is None else str(element)]
        want, have = in_order(rows(p, element)), in_order(got["rows"])
        if len(want) != len(have) or not all(fnmatch.fnmatchcase(h, w) for h, w in zip(have, want)):
            out.append(f"{name}accounting: {'; '.join(have)}: not {'; '.join(want)}")
        out += [f"{name}{line}" for line in signals_compare(got["signals"], signals(p, element))]
        for what, wanted in (("runs", len(runs_of(p, element))), ("output", output(p, element)), ("did", did(p, element)),
                             ("files", files(p, element)), ("status", p.front and status(p, element))):
            if got[what] != wanted and not (what == "status" and wanted is None):
                out.append(f"{name}{what}: {got[what]}: not {wanted}")
    return out


def signals_compare(got, want):
    for key in sorted(set(got) | set(want)):
        least, most = want.get(key, (0, 0))
        if not least <= got.get(key, 0) <= most:
            run, who, signal = key.split(".")
            yield f"{who} got SIG{signal} {got.get(key, 0)} times in run {run}, not {least if least == most else f'{least} to {most}'}"
