#!/usr/bin/env python3
"""make bench: each figure beside a baseline measured in the same run, because timings on these machines are noisy and ratios are not.

Usage: bench.py BUILD STAGE   (BENCH=name: one row; BENCH_SLURM=1: the same on Debian's slurm-wlm, installed and started here)
Prints `name | figure unit | baseline | ratio | goal` and writes BUILD/bench.json. The last line says how many rows miss their goal, and which; the exit status is 1 then.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import accounts  # noqa: E402
import cpu  # noqa: E402
import floods  # noqa: E402
import goals  # noqa: E402
import hosts  # noqa: E402
import sched  # noqa: E402
import series  # noqa: E402
import steps  # noqa: E402
import streams  # noqa: E402
from goals import at_least, at_most, ratio_at_least, ratio_at_most  # noqa: E402

BUILD, STAGE = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parent.parent
LOAD = BUILD / "bench" / "remuda-load"
ROWS = []
YARDSTICK = goals.Yardstick(BUILD)


def run(*command, env=None, check=True):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env)
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr or done.stdout}")
    return done.stdout.strip()


class Cluster:
    """A cluster of its own in a temporary directory, of virtual nodes."""

    def __init__(self, cpus=2, nodes=1, memory="8G"):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        self.env.update(REMUDA_STATE=str(self.dir / "state"), PATH=f"{STAGE}/bin:{os.environ['PATH']}", BENCH_DIR=str(self.dir))
        run(STAGE / "remuda", "up", "-q", "--nodes", nodes, "--cpus", cpus, "--mem", memory, env=self.env)

    def load(self, *args):
        return float(run(LOAD, *args, env=self.env))

    def pid(self, who="controller"):
        return int(run(STAGE / "remuda", "status", "--pid", who, env=self.env))

    def rss(self, who="controller"):
        for line in open(f"/proc/{self.pid(who)}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024

    def time(self, *command, **more):
        began = time.monotonic()
        subprocess.run([str(c) for c in command], env=self.env, check=True, stdout=subprocess.DEVNULL, **more)
        return time.monotonic() - began

    def close(self):
        run(STAGE / "remuda", "down", env=self.env, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def row(name, figure, unit, baseline, ratio, goal=None, last=0.0):
    """goal: of goals.py; None = the row only tells. last: what the last digit of a figure that was printed is worth (goals.py), or what it is counted in; 0 = it is not rounded."""
    met = goal is None or goal.met(figure, YARDSTICK)
    said = goal.said(YARDSTICK) if goal else ""
    ROWS.append(dict(name=name, figure=figure, last=last, unit=unit, baseline=baseline, ratio=ratio, goal=said, met=met, yardstick_ms=YARDSTICK.taken[-1]))
    mark = "" if goal is None else "ok" if met else "MISS"
    print(f"{name:<18} | {figure:>12.{2 if abs(figure) >= 1 else 4}f} {unit:<12} | {baseline:<34} | {ratio:<16} | {said:<32} {mark}", flush=True)


def rows_of(baseline, program, *args):
    """The rows that a program of this folder prints."""
    for name, figure, last, unit, goal in goals.printed(run(BUILD / "bench" / program, *args)):
        row(name, figure, unit, baseline, "", goal, last=last)


def bench_sbatch():
    """sbatch as a whole process, one after another, against /bin/true from the same loop."""
    c = Cluster()
    try:
        script = c.dir / "job.sh"
        script.write_text("#!/bin/bash\ntrue\n")
        n = 300
        base = float(run(LOAD, "spawn", n, "/bin/true"))
        took = float(run(LOAD, "spawn", n, STAGE / "bin/sbatch", "--hold", "-o", "/dev/null", script, env=c.env))
        ratio = took / base
        row("sbatch", took / n * 1e3, "ms", f"{base / n * 1e3:.2f} ms /bin/true", f"{ratio:.3f} x", ratio_at_most(3, ratio))
    finally:
        c.close()


def fsync_seconds(directory, n=200):
    """What one durable write costs here: the floor of any durable submission."""
    fd = os.open(directory / "fsync", os.O_CREAT | os.O_WRONLY)
    began = time.monotonic()
    for _ in range(n):
        os.write(fd, b"x" * 4096)
        os.fsync(fd)
    os.close(fd)
    return (time.monotonic() - began) / n


def children_us(n, *command, env=None):
    """CPU time of each of n runs of a command, one after another, without what daemons do for it."""
    def used():
        taken = resource.getrusage(resource.RUSAGE_CHILDREN)
        return taken.ru_utime + taken.ru_stime
    before = used()
    run(LOAD, "spawn", n, *command, env=env)
    return (used() - before) / n * 1e6


def bench_commands():
    """CPU time of a command that is typed: most of it is the program's start."""
    c = Cluster()
    try:
        n = 100
        for name, *args in (("squeue",), ("sinfo",), ("sbatch", "--hold", "-o", "/dev/null", "--wrap", "true")):
            rounds = [(children_us(n, "/bin/true"), children_us(n, STAGE / "bin" / name, *args, env=c.env)) for _ in range(5)]
            base, took = sorted(rounds, key=lambda r: r[1] / r[0])[2]
            row(f"{name}-cpu", took, "us of CPU", f"{base:.0f} us /bin/true", f"{took / base:.3f} x", ratio_at_most(2.2, took / base))
    finally:
        c.close()


def bench_submit():
    """Submissions over one connection, durable."""
    c = Cluster()
    try:
        n = 20000
        took = c.load("submit", n, "distinct")
        row("submit", n / took, "jobs/s", f"{fsync_seconds(c.dir) * 1e6:.0f} us an fsync", "", at_least(10000, "/s"))
    finally:
        c.close()


def bench_life():
    """Whole life of short batch jobs, durable, output files written, against posix_spawn of the same script: as a rate, and as CPU time."""
    group = cpu.Group()
    group.enter()
    c = Cluster(cpus=8)
    out = cpu.memory_dir()
    try:
        c.env["BENCH_DIR"] = str(out)
        script = out / "job.sh"
        script.write_text("#!/bin/bash\ntrue\n")
        script.chmod(0o755)
        n = 2000
        spent = [group.used_us()]
        base = n / float(run(LOAD, "spawn-parallel", n, 2, script))
        spent.append(group.used_us())
        began = time.monotonic()
        c.load("submit", n, "short")
        c.load("wait")
        rate = n / (time.monotonic() - began)
        row("life", rate, "jobs/s", f"{base:.0f}/s posix_spawn", f"{rate / base:.3f} x", ratio_at_least(0.6, rate / base))
        time.sleep(cpu.LATE_S)
        spent.append(group.used_us())
        if spent[0] is not None:
            spawn, life = ((spent[i + 1] - spent[i]) / n for i in range(2))
            row("life-cpu", life, "us of CPU", f"{spawn:.0f} us posix_spawn", f"{life / spawn:.3f} x", ratio_at_most(1.67, life / spawn))
    finally:
        c.close()
        shutil.rmtree(out, ignore_errors=True)
        group.close()


def bench_array():
    """An array of a million elements."""
    c = Cluster()
    try:
        before = c.rss()
        took = c.load("array", 1000000)
        grown = max(0, c.rss() - before)
        row("array-submit", took * 1e3, "ms", "1,000,000 elements", "", at_most(50, "ms"))
        row("array-memory", grown / 1e6, "MB", "controller, while pending", "", at_most(10, "MB", scaled=False), last=2 * resource.getpagesize() / 1e6)
    finally:
        c.close()


def bench_pending():
    """100,000 different pending jobs: memory, squeue, restart."""
    c = Cluster()
    try:
        n = 100000
        before = c.rss()
        c.load("submit", n, "distinct")
        each = (c.rss() - before) / n
        row("pending-memory", each, "bytes/job", "controller", "", at_most(1500, scaled=False))
        took = c.time(STAGE / "bin/squeue")
        row("squeue-100k", took, "s", "100,000 jobs", "", at_most(0.7, "s"))
        run(STAGE / "remuda", "down", env=c.env)
        took = c.time(STAGE / "remuda", "up", "-q")
        row("restart-100k", took, "s", "remuda up, all of it", "", at_most(3, "s"))
    finally:
        c.close()


def switches(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total


def bench_idle():
    """An idle cluster: wake-ups in ten seconds, and memory."""
    c = Cluster()
    try:
        time.sleep(3)
        for who in ("controller", "node[node1]"):
            pid = c.pid(who)
            before = switches(pid)
            time.sleep(10)
            woken = switches(pid) - before
            row(f"idle-{who.split('[')[0]}", woken, "wake-ups/10s", "heartbeat every 20 s", "", at_most(4, scaled=False), last=1)
            row(f"rss-{who.split('[')[0]}", c.rss(who) / 1e6, "MB", "", "", at_most(15, "MB", scaled=False))
    finally:
        c.close()


def bench_steps():
    """srun: see steps.py."""
    steps.measure(Cluster, LOAD, STAGE, run, row)


def bench_accounts():
    """Many accounts, and what limits cost: see accounts.py."""
    accounts.measure(Cluster, run, row, STAGE, LOAD)


def bench_hosts():
    """Many node daemons: see hosts.py."""
    hosts.measure(BUILD, LOAD, run, row)


def bench_streams():
    """Output of a step on another machine: see streams.py."""
    streams.measure(STAGE, row)


def bench_floods():
    """What one user's flood of requests costs another: see floods.py."""
    floods.measure(Cluster, row, at_most, ratio_at_most)


def bench_series():
    """What it costs to sample jobs, and how much their samples take: see series.py."""
    series.measure(STAGE, row, at_most)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
    try:
        rows_of("8 GPUs and 4 steps each, every 2 s", "remuda-series-bench", directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def planner(name):
    return lambda: sched.measure_planner(BUILD, row, name)


def bench_history():
    """Jobs that are over: what is asked of very many of them. BENCH_HISTORY=10000000: so many, which takes ten minutes and 9 GB."""
    jobs = os.environ.get("BENCH_HISTORY", "1000000")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
    try:
        rows_of(f"{int(jobs):,} jobs, CPU time", "remuda-history", directory / "history.db", jobs)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def bench_metrics():
    """A page of /metrics of 10,000 nodes and 100,000 jobs, and how long its longest slice holds the controller's loop."""
    rows_of("10,000 nodes, 100,000 jobs", "remuda-metrics-bench")


def bench_requests():
    """The worst that an ordinary user may ask, each request, and how long it holds the controller's loop (10,000 nodes, 60,000 jobs, 40,000 associations)."""
    rows_of("10,000 nodes, 60,000 jobs, 40,000 associations", "remuda-requests-bench")


BENCHES = {"sbatch": bench_sbatch, "commands": bench_commands, "submit": bench_submit, "life": bench_life, "array": bench_array, "pending": bench_pending, "idle": bench_idle, "steps": bench_steps, "hosts": bench_hosts, "streams": bench_streams, "floods": bench_floods, "series": bench_series, "history": bench_history, "accounts": bench_accounts, "metrics": bench_metrics, "requests": bench_requests,
           **{name: planner(name) for name in ("sched-5k", "sched-limits", "sched-users", "sched-promises", "sched-100k", "sched-event", "sched-why")},
           "growth": lambda: sched.measure_growth(BUILD, row), "sim-year": lambda: sched.measure_year(ROOT, BUILD, row)}


def main():
    wanted = os.environ.get("BENCH", "").split() or list(BENCHES)
    unknown = [w for w in wanted if w not in BENCHES]
    if unknown:
        sys.exit(f"no row {unknown[0]}; there are {', '.join(BENCHES)}")
    print(f"{'name':<18} | {'figure':>12} {'unit':<12} | {'baseline':<34} | {'ratio':<16} | goal")
    for name in wanted:
        YARDSTICK.measure()
        BENCHES[name]()
    if os.environ.get("BENCH_SLURM") == "1":
        import slurm
        slurm.measure(LOAD, row)
        slurm.measure_planner(row)
    (BUILD / "bench.json").write_text(json.dumps(ROWS, indent=1))
    missed = [r["name"] for r in ROWS if not r["met"]]
    print(YARDSTICK.said())
    print(f"bench: {len(ROWS)} rows, " + (f"{len(missed)} miss{'es its' if len(missed) == 1 else ' their'} goal: {', '.join(missed)}" if missed else "each meets its goal"))
    sys.exit(1 if missed else 0)


main()
