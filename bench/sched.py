"""Rows of make bench about the planner and the simulator. They are CPU time: both only compute, and what else the machine does is not their time."""
import gzip
import math
import os
import pathlib
import random
import resource
import subprocess
import tempfile

import goals
from goals import at_most

PLANNER = "remuda-sched-bench"
TRACE = "philly-2017-sep-oct.swf.gz"
YEAR_JOBS = 100000


def planner_rows(build, name):
    """As goals.printed: each line that a row of sched_bench.c prints."""
    return goals.printed(subprocess.run([str(build / "bench" / PLANNER), name], capture_output=True, text=True, check=True).stdout)


def measure_planner(build, row, name):
    for what, figure, last, unit, goal in planner_rows(build, name):
        row(what, figure, unit, "", "", goal, last=last)


def measure_growth(build, row):
    """What ten times as much costs; the exponent is that of time ~ size^x, 1 = in proportion."""
    (_, base, coarse, _, _), *grown = planner_rows(build, "growth")
    row("growth-base", base, "ms", "300 nodes, 2,000 jobs, 40 shapes", "", last=coarse)
    for what, ratio, last, _, _ in grown:
        row(f"growth {what}", base * ratio, "ms", f"{ratio:.2f} x the base", f"x^{math.log10(max(ratio, 1e-9)):.2f}", last=base * last + ratio * coarse)


def trace_jobs(path):
    with gzip.open(path, "rt") as f:
        for line in f:
            if line.strip() and not line.startswith(";"):
                yield line.split()


def twice(path, out):
    """The two months of Philly, and the same two months after them: 105,698 jobs. There is no longer file of a machine that learns."""
    jobs = list(trace_jobs(path))
    span = int(jobs[-1][1]) - int(jobs[0][1]) + 3600
    procs = max(int(j[7]) for j in jobs)
    with gzip.open(path, "rt") as f:
        header = [line for line in f if line.startswith(";") and "MaxJobs" not in line and "MaxRecords" not in line]
    out.writelines(header)
    for copy in range(2):
        for j in jobs:
            out.write(" ".join([str(int(j[0]) + copy * len(jobs)), str(int(j[1]) + copy * span), *j[2:]]) + "\n")
    return len(jobs) * 2, f"{path.name} twice, {procs} the widest"


def made(out):
    """Where the traces are not: jobs of Philly's shape. Three quarters have one GPU, run times from seconds to weeks, arrivals in bursts by day."""
    r = random.Random(2017)
    procs, submit = 640, 0
    out.write(f"; MaxProcs: {procs}\n; MaxNodes: {procs}\n")
    for number in range(1, YEAR_JOBS + 1):
        day = 0.5 + 0.5 * math.sin(submit % 86400 / 86400 * 2 * math.pi)
        submit += int(r.expovariate(0.25 + day * 0.5) * 90)
        width = r.choices([1, 2, 4, 8, 16, 32], [74, 8, 8, 8, 1.5, 0.5])[0]
        run = max(1, min(int(r.lognormvariate(7.5, 2.4)), 2000000))
        limit = int(run * r.uniform(1, 3)) + 60
        out.write(f"{number} {submit} -1 {run} {width} -1 -1 {width} {limit} -1 1 {r.randrange(300)} 1 1 1 1 -1 -1\n")
    return YEAR_JOBS, "a generated trace of Philly's shape (shared/traces is not here)"


def measure_year(root, build, row):
    """The simulator over 100,000 jobs and more."""
    trace = pathlib.Path(os.environ.get("REMUDA_TRACES") or root.parent / "shared" / "traces") / TRACE
    with tempfile.TemporaryDirectory(prefix="remuda-year-") as folder:
        path = pathlib.Path(folder) / "year.swf"
        with path.open("w") as out:
            jobs, what = twice(trace, out) if trace.exists() else made(out)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([str(build / "src" / "sim" / "remuda-sim"), "run", "--policy", "default", str(path)], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row("sim-year", took, "s", f"{jobs:,} jobs: {what}", f"{took / jobs * 1e6:.0f} us a job", at_most(20, "s"))
