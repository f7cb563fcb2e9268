#!/usr/bin/env python3
"""Two faults at once. Usage: pairs.py [--stage DIR] [--only A,B] [--gaps SECONDS,…] [--keep]

A cluster of two nodes with jobs of all kinds that run until they are told to go on (plain ones, --no-requeue, steps over both nodes, an array, one that
waits). Each fault of the table happens, and with it, or a moment later, each other; then all is made whole, jobs are told to go on, and the books are read:

  each acknowledged job stands in the accounting once (after an older backup: each that the backup has); its state is one that the two faults explain
  no start happened twice, no run beside a later one; what COMPLETED came to its end
  no process of a job is left, no step's directory, the store is whole, and a new job runs

Needs root, a small file system to be mounted, and faketime's library for steps of the clock. Prints TAP, a line a pair.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SETTLE_S = 90
SILENT_S = 8
FAKETIME = [p for p in pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")]
TICKS = """echo "start $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $(cut -d' ' -f1 /proc/uptime)" >> "$WORK/said"
until [ -e "$WORK/go" ]; do echo "tick $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $(cut -d' ' -f1 /proc/uptime)" >> "$WORK/said"; sleep 0.3; done
echo "end $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} 0" >> "$WORK/said"
"""
STEPS = """echo "start $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $(cut -d' ' -f1 /proc/uptime)" >> "$WORK/said"
srun -Q -N2 -n2 --mem=10 sh -c 'until [ -e "$WORK/go" ]; do sleep 0.3; done' && echo "end $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} 0" >> "$WORK/said"
"""


class Cluster:
    def __init__(self, stage, base, clocked):
        self.base, self.disk, self.work = base, base / "disk", base / "work"
        self.state = self.disk / "state"
        self.disk.mkdir(parents=True)
        self.work.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(self.disk)], check=True)
        self.state.mkdir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "REMUDA_"))}
        if stage:
            self.env["PATH"] = f"{stage}/bin:{stage}:{self.env['PATH']}"
        self.env.update(REMUDA_STATE=str(self.state), WORK=str(self.work), PAIRS=str(base))
        self.clocked = clocked
        if clocked:
            self.env.update(LD_PRELOAD=str(FAKETIME[0]), FAKETIME_TIMESTAMP_FILE=str(base / "offset"), FAKETIME_NO_CACHE="1", NO_FAKE_STAT="1",
                            FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")
        self.clock(0)
        (self.work / "ticks.sh").write_text("#!/bin/bash\n" + TICKS)
        (self.work / "steps.sh").write_text("#!/bin/bash\n" + STEPS)
        (self.state / "remuda.conf").write_text(
            f"ClusterName=pairs\nSlurmdTimeout={SILENT_S}\nHeartbeatInterval=2\nReturnToService=1\nMinJobAge=3600\n"
            "NodeName=p[1-2] CPUs=16 RealMemory=4000 Virtual=YES\nPartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n")
        self.stopped = []

    def clock(self, hours):
        (self.base / "offset.new").write_text(f"{hours:+d}h\n" if hours else "+0\n")
        (self.base / "offset.new").rename(self.base / "offset")

    def run(self, *command, timeout=60):
        try:
            return subprocess.run(command, env=self.env, cwd=self.work, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "no answer in time")

    def out(self, *command):
        return self.run(*command).stdout

    def submit(self, *words):
        for _ in range(50):
            done = self.run("sbatch", "--parsable", "--mem=10", "-n1", "-o", "/dev/null", *words)
            if done.returncode == 0:
                return done.stdout.strip()
            time.sleep(0.3)
        raise RuntimeError(done.stderr)

    def processes(self, word):
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"PAIRS={self.base}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if word in line:
                        yield int(entry.name)
            except OSError:
                pass

    def not_over(self):
        told = [self.out("squeue", "-h", "-o", "%i %T %r"), self.out("squeue", "-h", "-s"), self.out("sinfo", "-h", "-N", "-o", "%N %T %E")]
        told += [self.run("ps", "-o", "pid,ppid,stat,wchan:20,args", "-p", ",".join(str(pid) for pid in self.processes(""))).stdout]
        return [line for text in ["not over:", *told] for line in text.splitlines()]

    def kill(self, word, how=signal.SIGKILL):
        pids = list(self.processes(word))
        for pid in pids:
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                pass
        return pids


def backup_restore(c):
    c.run("remuda", "down")
    c.run("remuda", "restore", str(c.base / "backup"))
    c.run("remuda", "up", "-q")


def node_dir_lost(c):
    c.kill("remudad node --state " + str(c.state) + " --name p1")
    shutil.rmtree(c.state / "nodes/p1", ignore_errors=True)


# name: what happens
FAULTS = {
    "controller": lambda c: c.kill("remudad controller"),
    "node": lambda c: c.kill(f"remudad node --state {c.state} --name p1"),
    "shepherds": lambda c: c.kill(f"remuda-shepherd {c.state}/nodes/p1"),
    "disk": lambda c: subprocess.run(f"cat /dev/zero > {c.disk}/fill", shell=True, stderr=subprocess.DEVNULL),
    "cut": lambda c: c.stopped.extend(c.kill(f"remudad node --state {c.state} --name p1", signal.SIGSTOP)),
    "ahead": lambda c: c.clock(1),
    "behind": lambda c: c.clock(-1),
    "directory": node_dir_lost,
    "backup": backup_restore,
}
LOSES = {"shepherds", "directory", "cut"}  # what ran on p1 may be lost


def whole(c):
    """All is mended; whether the cluster is up again."""
    (c.disk / "fill").unlink(missing_ok=True)
    for pid in c.stopped:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    for _ in range(20):
        if c.run("remuda", "up", "-q").returncode == 0:
            return True
        time.sleep(0.5)
    return False


def books(c, jobs, faults, late):
    rows, states = collections.Counter(), {}
    for line in c.out("sacct", "-X", "-n", "-P", "-a", "-S", "1970-01-01", "-E", "now+2days", "-o", "JobID,State,JobIDRaw").splitlines():
        shown, state, raw = line.split("|")
        rows[shown] += 1
        states[shown] = state.split()[0]
        c.raw[raw] = shown
    hurt = LOSES & set(faults)
    for name, shown in jobs.items():
        if rows[shown] != 1 and not (shown in late and "backup" in faults and rows[shown] == 0):
            yield f"{name} ({shown}) stands {rows[shown]} times in the accounting"
        state = states.get(shown)
        allowed = {"COMPLETED"} | ({"NODE_FAIL"} if hurt and name in ("once", "steps") else set()) | ({"FAILED", "CANCELLED"} if hurt and name == "steps" else set())
        if "backup" in faults and state is None and shown in late:
            continue
        if state not in allowed:
            yield f"{name} ({shown}) is {state}: " + c.out("sacct", "-n", "-P", "-j", shown, "-o", "JobID,State,ExitCode,Comment").strip().replace("\n", " / ")
    said = [line.split() for line in (c.work / "said").read_text().splitlines() if len(line.split()) == 4]
    starts, last, ends = collections.Counter(), {}, set()
    first = {}
    for what, job, run, at in said:
        if what == "start":
            starts[(job, run)] += 1
            first[(job, int(run))] = float(at)
        elif what == "tick":
            last[(job, int(run))] = float(at)
        else:
            ends.add(job)
    for (job, run), n in starts.items():
        if n > 1:
            yield f"{job} started {n} times as run {run}"
    for (job, run), at in last.items():
        later = [t for (j, r), t in first.items() if j == job and r > run and "cut" not in faults]  # what goes on beyond a cut nobody can end
        if later and at > min(later):
            yield f"run {run} of {job} went on beside a later one"
    for raw, shown in c.raw.items():
        if shown in jobs.values() and states.get(shown) == "COMPLETED" and raw not in ends:
            yield f"{shown} is COMPLETED and did not come to its end"


def play(stage, base, first, second, gap):
    c = Cluster(stage, base, bool({"ahead", "behind"} & {first, second}))
    c.raw = {}
    try:
        if c.run("remuda", "up", "-q").returncode:
            return ["the cluster does not start"]
        jobs = {"plain": c.submit("-w", "p1", "ticks.sh"), "once": c.submit("-w", "p1", "--no-requeue", "ticks.sh"), "other": c.submit("-w", "p2", "ticks.sh")}
        jobs["steps"] = c.submit("-N2", "-n2", "steps.sh")
        array = c.submit("--array=0-1", "ticks.sh")
        jobs |= {f"element {i}": f"{array}_{i}" for i in range(2)}
        until(lambda: len(c.out("squeue", "-h", "-t", "R", "-o", "%i").split()) == len(jobs) and (c.work / "said").read_text().count("start") == len(jobs))
        c.run("remuda", "backup", str(c.base / "backup"))
        jobs["late"] = c.submit("-w", "p1", "ticks.sh")
        jobs["waits"] = c.submit("-d", f"afterany:{jobs['plain']}", "ticks.sh")
        late = {jobs["late"], jobs["waits"]}
        FAULTS[first](c)
        time.sleep(gap)
        FAULTS[second](c)
        time.sleep(1 if "cut" not in (first, second) else SILENT_S + 3)
        if not whole(c):
            return ["it does not come up again: " + c.run("remuda", "up", "-q").stderr.strip()]
        jobs["after"] = c.submit("ticks.sh")
        (c.work / "go").touch()
        held = lambda: c.out("squeue", "-h", "-o", "%A %r").splitlines()
        nodes = lambda: c.run("scontrol", "update", "NodeName=ALL", "State=RESUME")
        nodes()

        def over():
            for line in held():
                if "backup" in (first, second) or "JobHeld" in line:
                    c.run("scontrol", "release", line.split()[0])
            return not held()
        found = [] if until(over) else c.not_over()
        found += books(c, jobs, (first, second), late)
        c.run("remuda", "down")
        time.sleep(0.5)
        found += [f"left: {pid} {word}" for word in ("ticks.sh", "slurm_script", "remuda-shepherd", "remudad") for pid in c.processes(word)]
        found += [f"left: {p}" for p in (c.state / "nodes").glob("*/steps/[!.]*")]
        db = sqlite3.connect(c.state / "remuda.db")
        found += [f"store: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        db.close()
        return found
    finally:
        c.kill("")
        shutil.copytree(c.state, c.base / "kept", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock", "steps"))
        subprocess.run(["umount", "-l", str(c.disk)])
        if c.clocked:
            faketime_tidy()


def faketime_tidy():
    """What killed processes left of faketime's: the next of that number would end at once."""
    for left in pathlib.Path("/dev/shm").glob("*faketime*"):
        pid = re.search(r"\d+$", left.name)
        if pid and not pathlib.Path(f"/proc/{pid.group()}").exists():
            left.unlink(missing_ok=True)


def until(true, seconds=SETTLE_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if true():
                return True
        except OSError:
            pass
        time.sleep(0.3)
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stage")
    p.add_argument("--only", help="FAULT,FAULT")
    p.add_argument("--gaps", default="0,0.5")
    p.add_argument("--keep", action="store_true")
    o = p.parse_args()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return
    faketime_tidy()
    names = [n for n in FAULTS if FAKETIME or n not in ("ahead", "behind")]
    pairs = [(a, b) for a in names for b in names if a != b]
    if o.only:
        one, two = o.only.split(",")
        pairs = [(a, b) for a, b in pairs if one in ("any", a) and two in ("any", b)]
    failed = n = 0
    gaps = [float(g) for g in o.gaps.split(",")]
    print(f"1..{len(pairs)}", flush=True)
    for a, b in pairs:
        n += 1
        base = pathlib.Path(tempfile.mkdtemp(prefix="remuda-pairs-"))
        gap = gaps[n % len(gaps)]
        found = play(o.stage, base, a, b, gap)
        print(f"{'not ok' if found else 'ok'} {n} - {a}, then {b} after {gap} s", flush=True)
        for one in found:
            print(f"#   {one}", flush=True)
        if found:
            failed += 1
            print(f"#   kept: {base}", flush=True)
        elif not o.keep:
            shutil.rmtree(base, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
