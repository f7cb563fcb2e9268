#!/usr/bin/env python3
"""Rounds of real kill -9 under mixed load, then the books. Usage: kills.py [--stage DIR] [--keep] [--seed N] [ROUNDS]

Of a cluster of its own it kills, round by round, the controller, node daemons, the shepherds' parents, shepherds and commands (srun), and starts again
what `remuda up` starts, while jobs of all kinds come: plain ones, with steps, arrays, het jobs, srun from outside, ones that are requeued or cancelled. Jobs
write down each start and each end. When all is over:

  each acknowledged job (element, component) stands in the accounting once, and its state can be explained
  no start happened twice; who ended ran no more, unless what was done to it says so; whoever COMPLETED did end, in its last run
  each step of a COMPLETED job that nobody touched ran once and is in the accounting
  no process, no control group, no step's directory is left; the store is whole

ROUNDS: 1,000 unless given, or REMUDA_KILLS. --stage: where the programs are (else they are looked for in PATH). Prints TAP.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import signal
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

NODES = 3
WAITING_MAX = 40  # jobs in the queue: beyond, submitters rest
SETTLE_S = 300
DOWN_MAX = 5      # so often in a row it may not start again: then no more rounds
GRACE = "AttachGrace=2"  # an allocation whose srun was killed ends after that, unless the controller is killed sooner: then it begins again
REST_EVERY, REST_S = 25, 5   # so now and then it is not

JOB = """#!/bin/bash
run=${SLURM_RESTART_COUNT:-0}
echo "$SLURM_JOB_ID $run $SLURM_PROCID" >> "$WORK/started"
%s
echo "$SLURM_JOB_ID $run" >> "$WORK/ended"
"""
PLAIN = "sleep 0.$((RANDOM % 8))"
STEPS = """for step in 0 1; do
    srun -Q -n2 --mem=10 sh -c 'echo "$SLURM_JOB_ID '$run' $SLURM_STEP_ID $SLURM_PROCID" >> "$WORK/steps"; sleep 0.1'
done"""
LONG = "sleep 2"


class Cluster:
    def __init__(self, stage, base):
        self.base = base
        self.state, self.work = base / "state", base / "work"
        self.work.mkdir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "REMUDA_"))}
        if stage:
            self.env["PATH"] = f"{stage}/bin:{stage}:{self.env['PATH']}"
        self.env.update(REMUDA_STATE=str(self.state), WORK=str(self.work), REMUDA_KILLS=str(base))
        for name, body in {"plain": PLAIN, "steps": STEPS, "long": LONG}.items():
            (self.work / f"{name}.sh").write_text(JOB % body)
        self.trouble = []

    def run(self, *command, timeout=120):
        try:
            return subprocess.run(command, env=self.env, cwd=self.work, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout)
        except BlockingIOError:  # the machine has no process left: others' tests run beside
            time.sleep(1)
            return self.run(*command, timeout=timeout)
        except subprocess.TimeoutExpired as late:
            self.trouble.append(f"{' '.join(command)}: no answer within {timeout} s")
            return subprocess.CompletedProcess(command, 124, str(late.stdout or ""), str(late.stderr or ""))

    def lines(self, *command):
        return self.run(*command).stdout.splitlines()

    def up(self, *more):
        """Whether it went."""
        done = self.run("remuda", "up", "-q", *more)
        if done.returncode:
            self.trouble.append(f"remuda up: {done.stdout}{done.stderr}".strip())
        return done.returncode == 0

    def processes(self):
        """(pid, name, command line, parent) of all that belongs to this cluster: daemons, shepherds, commands, jobs."""
        mark = f"REMUDA_KILLS={self.base}".encode()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                mine = str(self.state) in line or mark in (entry / "environ").read_bytes().split(b"\0")
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
            if mine and rest[0] not in "ZX":
                yield int(entry.name), name, line, int(rest[1])


def kill(pid, how=signal.SIGKILL):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


class Load:
    """Who submits, and what is known of each acknowledged job."""

    def __init__(self, cluster, seed):
        self.cluster, self.seed = cluster, seed
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.ids = {}  # acknowledged: id -> kind
        self.touched = collections.defaultdict(set)  # id -> what was done to it
        self.refused = collections.Counter()
        self.sruns = collections.Counter()
        self.threads = [threading.Thread(target=self.submit, args=(i,)) for i in range(2)]
        self.threads += [threading.Thread(target=self.interact), threading.Thread(target=self.meddle)]
        for t in self.threads:
            t.start()

    def touch(self, job, what):
        with self.lock:
            self.touched[str(job)].add(what)

    def queue(self):
        return self.cluster.lines("squeue", "-h", "-o", "%A %T %j")

    def submit(self, which):
        rng = random.Random(self.seed * 10 + which)
        common = ["sbatch", "--parsable", "--mem=10", "-o", "/dev/null"]
        kinds = {
            "plain": ["plain.sh"],
            "once": ["--no-requeue", "plain.sh"],
            "steps": ["-n2", "steps.sh"],
            "array": ["--array=0-2", "plain.sh"],
            "het": ["-n1", ":", "-n1", "--mem=10", "plain.sh"],
            "long": ["long.sh"],
        }
        while not self.stop.is_set():
            if len(self.queue()) > WAITING_MAX:
                time.sleep(0.3)
                continue
            kind = rng.choice(list(kinds))
            done = self.cluster.run(*common, "-J", kind, *kinds[kind])
            with self.lock:
                if done.returncode == 0 and done.stdout.strip().isdigit():
                    self.ids[int(done.stdout)] = kind
                else:
                    self.refused[(done.stdout + done.stderr).strip()] += 1
            time.sleep(rng.random() * 0.1)

    def interact(self):
        """srun from outside: the command may be the one that is killed."""
        while not self.stop.is_set():
            done = self.cluster.run("srun", "-Q", "-n1", "--mem=10", "-J", "outside", "sleep", "0.3")
            self.sruns[done.returncode] += 1

    def meddle(self):
        """Requeues and cancels."""
        rng = random.Random(self.seed * 10 + 9)
        while not self.stop.is_set():
            time.sleep(rng.random() * 2)
            with self.lock:
                young = sorted(self.ids)[-20:]
            if not young:
                continue
            job, what = rng.choice(young), rng.choice(["requeue", "requeue", "cancel"])
            self.touch(job, what)
            self.cluster.run(*(["scancel", str(job)] if what == "cancel" else ["scontrol", "requeue", str(job)]))

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()


def victims(cluster, load, rng, what):
    """Kills what the round is for; returns how many."""
    found = list(cluster.processes())
    daemons = {"controller": "remudad controller", "node": "remudad node"}
    parents = {pid for pid, name, line, _ in found if name.startswith("remuda-shepher")}
    shepherds = [(pid, name) for pid, name, _, parent in found if re.match(r"rm-\d+$", name)]
    sruns = [pid for pid, name, line, _ in found if name == "srun" and "outside" in line]
    inside = [(pid, line) for pid, name, line, _ in found if name == "srun" and "outside" not in line]
    n = 0
    for one in what:
        if one in daemons:
            pids = [pid for pid, _, line, _ in found if daemons[one] in line]
            pids = pids if one == "controller" else rng.sample(pids, rng.randint(1, len(pids))) if pids else []
        elif one == "parent":
            pids = rng.sample(sorted(parents), 1) if parents else []
        elif one == "shepherd":
            pids = [pid for pid, _ in rng.sample(shepherds, min(2, len(shepherds)))]
        elif one == "srun":
            pids = rng.sample(sruns, 1) if sruns else []
            for pid, _ in rng.sample(inside, 1) if inside else []:
                job = job_of(pid)
                if job:
                    load.touch(job, "srun")
                    pids.append(pid)
        for pid in pids:
            if one in ("parent", "shepherd"):  # whose it is shows when it stands still: it may have had no name yet, or have another job since
                kill(pid, signal.SIGSTOP)
                its = re.fullmatch(r"rm-(\d+)", name_of(pid))
                if its:
                    load.touch(its.group(1), "shepherd")
            kill(pid)
        n += len(pids)
    return n


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def job_of(pid):
    try:
        for one in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if one.startswith(b"SLURM_JOB_ID="):
                return one[13:].decode()
    except OSError:
        pass
    return None


ROUNDS = [
    ["controller"], ["node"], ["shepherd"], ["parent"], ["srun"], ["controller", "node"], ["node", "shepherd"], ["node", "parent"],
    ["controller", "shepherd"], ["controller", "node", "parent", "srun"], ["controller", "node", "parent", "shepherd"],
]


def rows_of(path, fields):
    try:
        return [tuple(line.split()) for line in path.read_text().splitlines() if len(line.split()) >= fields]
    except FileNotFoundError:
        return []


class Books:
    def __init__(self, cluster, load):
        self.cluster, self.load = cluster, load
        self.rows = collections.defaultdict(list)  # raw id -> (state, shown id)
        for line in cluster.lines("sacct", "-X", "-n", "-P", "-a", "-S", "1970-01-01", "-o", "JobIDRaw,State,JobID"):
            raw, state, shown = line.split("|")
            self.rows[raw].append((state.split()[0], shown))
        self.runs = collections.defaultdict(list)  # raw id -> states of all its runs
        for line in cluster.lines("sacct", "-D", "-X", "-n", "-P", "-a", "-S", "1970-01-01", "-o", "JobIDRaw,State"):
            raw, state = line.split("|")
            self.runs[raw].append(state.split()[0])
        self.steps = collections.defaultdict(list)
        for line in cluster.lines("sacct", "-n", "-P", "-a", "-S", "1970-01-01", "-o", "JobIDRaw,State"):
            raw, state = line.split("|")
            if re.fullmatch(r"\d+\.\d+", raw):
                self.steps[raw].append(state.split()[0])
        self.of = collections.defaultdict(list)  # acknowledged id -> raw ids of the rows that belong to it
        for raw, rows in self.rows.items():
            for shown in {re.match(r"\d+", shown).group() for _, shown in rows}:
                self.of[shown].append(raw)
        self.started = rows_of(cluster.work / "started", 2)
        self.ended = rows_of(cluster.work / "ended", 2)
        self.ran = rows_of(cluster.work / "steps", 4)
        log = (cluster.state / "log" / "controller.log").read_text(errors="replace")
        # whose shepherd was not there yet when the process that makes shepherds was killed: nothing of it ran, and its srun was told so
        self.unborn = set(re.findall(r"step (\d+\.\d+) on \S+: its shepherd ended before it could start it", log))
        # the same of jobs: they are sent back, or are NODE_FAIL where they may not be (--no-requeue), as in Slurm
        self.unborn_jobs = set(re.findall(r"job (\d+) could not be launched on \S+: its shepherd ended before it could start it", log))

    def members(self, job):
        return self.of[str(job)]

    def touched(self, raw):
        """What was done to the job, or to the array or het job that it is of."""
        shown = re.match(r"\d+", self.rows[raw][0][1]).group() if raw in self.rows else raw
        return self.load.touched.get(raw, set()) | self.load.touched.get(shown, set())

    def once_in_the_books(self):
        want = {"array": 3, "het": 2}
        for job, kind in self.load.ids.items():
            members = self.members(job)
            if len(members) != want.get(kind, 1) and "cancel" not in self.touched(str(job)):
                yield f"{job} ({kind}) has {len(members)} rows in the accounting"
            for raw in members:
                if len(self.rows[raw]) != 1:
                    yield f"{raw} ({kind}) stands {len(self.rows[raw])} times in the accounting"

    def states_explained(self):
        for job, kind in self.load.ids.items():
            for raw in self.members(job):
                state, done = self.rows[raw][0][0], self.touched(raw)
                # what a shepherd's death may do: the same to the other components of a het job
                allowed = {"COMPLETED"} | ({"CANCELLED"} if "cancel" in done else set())
                hurt = done & {"shepherd", "srun"} or any(self.touched(m) & {"shepherd"} for m in self.members(job))
                allowed |= {"FAILED", "NODE_FAIL", "CANCELLED"} if hurt else set()
                allowed |= {"NODE_FAIL"} if kind == "once" and raw in self.unborn_jobs else set()
                if state not in allowed:
                    yield f"{raw} ({kind}) ended {state}, and was only {sorted(done) or 'left alone'}"

    def no_start_twice(self):
        for (job, run), n in collections.Counter((r[0], r[1]) for r in self.started).items():
            if n > 1:
                yield f"{job} started {n} times as run {run}"
        for (job, run), n in collections.Counter((r[0], r[1]) for r in self.ended).items():
            if n > 1:
                yield f"{job} ended {n} times as run {run}"

    def no_run_too_many(self):
        last = {}
        for job, run, *_ in self.started:
            last[job] = max(int(run), last.get(job, 0))
        ended = {(job, int(run)) for job, run, *_ in self.ended}
        for job, run in last.items():
            restarts = len(self.runs[job]) - 1
            # cancelled while it waited, and sent back then: a restart without a run before it
            if job in self.rows and run > restarts and not {"cancel", "requeue"} <= self.touched(job):
                yield f"{job} ran as run {run}; the accounting knows {restarts} restarts"
            for early in range(run):
                if (job, early) in ended and not self.touched(job) & {"requeue", "shepherd"}:
                    yield f"{job} had ended as run {early} and ran again"

    def completed_did_end(self):
        """A het job's script runs in its first component alone."""
        ended = {job for job, *_ in self.ended}
        for job, kind in self.load.ids.items():
            for raw in self.members(job):
                first = "+" not in self.rows[raw][0][1] or self.rows[raw][0][1].endswith("+0")
                if self.rows[raw][0][0] == "COMPLETED" and first and raw not in ended:
                    yield f"{raw} ({kind}) is COMPLETED and never came to its end"

    def steps_once(self):
        ran = collections.Counter(self.ran)
        tasks = collections.Counter(row[0] for row in ran)
        for row, n in ran.items():
            if n > 1:
                yield f"task {row[3]} of step {row[0]}.{row[2]} ran {n} times in run {row[1]}"
        for job, kind in self.load.ids.items():
            raw = str(job)
            if kind != "steps" or self.touched(raw) or self.rows[raw][0][0] != "COMPLETED":
                continue
            missed = 0  # tasks whose node's shepherd was not there yet; on the step's other node its task may have run
            for step in ("0", "1"):
                states, ran_of_it = self.steps[f"{raw}.{step}"], [row for row in ran if row[0] == raw and row[2] == step]
                if f"{raw}.{step}" in self.unborn and states == ["FAILED"] and len(ran_of_it) < 2:
                    missed += 2 - len(ran_of_it)
                elif states != ["COMPLETED"]:
                    yield f"step {raw}.{step} is {states or 'nowhere'} in the accounting"
            if len(self.runs[raw]) == 1 and tasks[raw] != 4 - missed:
                yield f"{raw}: {tasks[raw]} tasks of its 2 steps ran instead of {4 - missed}"


def settle(cluster):
    deadline = time.time() + SETTLE_S
    while time.time() < deadline:
        if not cluster.lines("squeue", "-h"):
            return []
        time.sleep(0.5)
    return cluster.lines("squeue", "-h", "-o", "%A %T %r %N")


def directories_left(cluster):
    for _ in range(100):
        left = [str(p) for p in (cluster.state / "nodes").glob("*/steps/*") if not p.name.startswith(".s")]
        if not left:
            return []
        time.sleep(0.2)
    return left


def groups_left(nodes):
    """Control groups of these nodes, after the cluster is down."""
    return [os.path.join(at, name) for at, names, _ in os.walk("/sys/fs/cgroup")  # what others take away meanwhile is passed over
            for name in names if name.startswith("remuda.") and any(str(n) in name for n in nodes)]


def left_after_down(cluster):
    for _ in range(50):
        left = [f"{pid} {name} {line}"[:200] for pid, name, line, _ in cluster.processes()]
        if not left:
            return []
        time.sleep(0.2)
    return left


def store_faults(cluster):
    db = sqlite3.connect(f"file:{cluster.state}/remuda.db?mode=ro", uri=True)
    said = [row[0] for row in db.execute("PRAGMA integrity_check")]
    db.close()
    return [] if said == ["ok"] else said


def log_faults(cluster):
    for path in (cluster.state / "log").iterdir():
        for line in path.read_text(errors="replace").splitlines():
            if re.search(r"check failed|assert|out of memory|violat|cannot happen", line, re.I):
                yield f"{path.name}: {line}"


class Report:
    def __init__(self):
        self.n = self.failed = 0

    def check(self, what, faults):
        faults = list(faults)
        self.n += 1
        self.failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {self.n} - {what}", flush=True)
        for one in faults[:20]:
            print(f"#   {one}")
        if len(faults) > 20:
            print(f"#   and {len(faults) - 20} more")


def stop(report, cluster, what):
    """Nothing can be learnt from rounds without a cluster: the reason, and the end."""
    report.check(what, cluster.trouble[-1:])
    for pid, *_ in list(cluster.processes()):
        kill(pid)
    print(f"# kept: {cluster.base}")
    sys.exit(1)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stage")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    p.add_argument("rounds", nargs="?", type=int, default=int(os.environ.get("REMUDA_KILLS", 1000)))
    o = p.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix="remuda-kills-"))
    names = [f"k{os.getpid()}x{i}" for i in range(1, NODES + 1)]
    cluster, rng, report = Cluster(o.stage, base), random.Random(o.seed), Report()
    began = time.time()
    cluster.state.mkdir(mode=0o755)
    (cluster.state / "remuda.conf").write_text(
        f"ClusterName=kills\n{GRACE}\n" + "".join(f"NodeName={n} CPUs=8 RealMemory=4000 Virtual=YES State=UNKNOWN\n" for n in names) +
        "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n")
    if not cluster.up():
        stop(report, cluster, "the cluster does not start")
    load = Load(cluster, o.seed)
    killed, down = collections.Counter(), 0
    try:
        for i in range(o.rounds):
            time.sleep(0.1 + rng.random() * 0.6)
            what = ROUNDS[i % len(ROUNDS)]
            killed[" + ".join(what)] += victims(cluster, load, rng, what)
            down = 0 if cluster.up() else down + 1
            if down == DOWN_MAX:
                break
            if (i + 1) % REST_EVERY == 0:
                time.sleep(REST_S)
            if (i + 1) % 50 == 0:
                print(f"# round {i + 1} of {o.rounds}, {len(load.ids)} jobs acknowledged, {time.time() - began:.0f} s", flush=True)
    finally:
        load.end()
    if down == DOWN_MAX and not cluster.up():
        stop(report, cluster, f"after round {i + 1} the cluster does not start again (seed {o.seed})")
    cluster.up()
    print(f"# seed {o.seed}, {o.rounds} rounds in {time.time() - began:.0f} s, {len(load.ids)} jobs acknowledged: {dict(collections.Counter(load.ids.values()))}")
    print(f"# killed: {dict(killed)}")
    print(f"# srun from outside, by exit code: {dict(load.sruns)}; not acknowledged: {dict(load.refused)}")
    report.check(f"after {o.rounds} rounds of kill -9 every job ends", settle(cluster))
    books = Books(cluster, load)
    report.check(f"{len(load.ids)} acknowledged jobs stand in the accounting, each once", books.once_in_the_books())
    report.check("what each ended as is explained by what was done to it", books.states_explained())
    report.check(f"{len(books.started)} starts and {len(books.ended)} ends: none twice", books.no_start_twice())
    report.check("no job ran again that had ended, and none more often than its restarts say", books.no_run_too_many())
    report.check("what is COMPLETED came to its end", books.completed_did_end())
    report.check(f"{len(books.ran)} tasks of steps, each once, and their steps in the accounting", books.steps_once())
    report.check("no step's directory is left", directories_left(cluster))
    report.check("every command was answered and `remuda up` always went", cluster.trouble)
    cluster.run("remuda", "down")
    report.check("no process is left", left_after_down(cluster))
    report.check("no control group is left", groups_left(names))
    report.check("the store is whole", store_faults(cluster))
    report.check("no daemon complained of itself", log_faults(cluster))
    for pid, *_ in list(cluster.processes()):
        kill(pid)
    if report.failed or o.keep:
        print(f"# kept: {base}")
    else:
        shutil.rmtree(base, ignore_errors=True)
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
