"""BENCH_SLURM=1: Debian's slurm-wlm, installed and started on this machine, tuned for throughput, measured the way bench.py measures Remuda.

Needs root (slurmd does). Everything runs in a temporary directory on loopback ports and is stopped afterwards.
"""
import importlib.util
import os
import pathlib
import random
import re
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "compare" / "slurm.py"
SPEC = importlib.util.spec_from_file_location("compare_slurm", SOURCE)
compare = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(compare)

SETTINGS = """\
ClusterName=bench
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_min_interval=1000,defer,max_rpc_cnt=0,batch_sched_delay=0,default_queue_depth=1000
MaxJobCount=200000
MinJobAge=300
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
"""
NODES = f"NodeName=n1 CPUs={os.cpu_count()} State=UNKNOWN\n"
PARTITIONS = "PartitionName=main Nodes=n1 Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n"

# The planner's row: a thousand nodes that are only said to be there, and backfill as Slurm has it by default.
CLOUD_NODES = "NodeName=c[1-1000] Sockets=2 CoresPerSocket=32 RealMemory=512000 State=CLOUD\n"
CLOUD_PARTITION = "PartitionName=cloud Nodes=c[1-1000] Default=NO MaxTime=INFINITE State=UP\n"
CLOUD = """\
SchedulerType=sched/backfill
SchedulerParameters=
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=3600
ResumeTimeout=3600
ResumeRate=0
TreeWidth=65533
"""


def started(cloud=False):
    if cloud:
        settings = "".join(line + "\n" for line in compare.merge(SETTINGS, CLOUD).splitlines() if line != "SchedulerParameters=")
        return compare.Slurm(settings, NODES + CLOUD_NODES, PARTITIONS + CLOUD_PARTITION, accounting=False)
    return compare.Slurm(SETTINGS, NODES, PARTITIONS, accounting=False)


def measure(load, row):
    slurm = started()
    try:
        script = slurm.dir / "job.sh"
        script.write_text("#!/bin/bash\ntrue\n")
        spawn = lambda n, *command: float(subprocess.run([str(load), "spawn", str(n), *map(str, command)], env=slurm.env, check=True,
                                                         capture_output=True, text=True).stdout)
        n = 200
        base = spawn(n, "/bin/true")
        took = spawn(n, "/usr/bin/sbatch", "--hold", "-o", "/dev/null", script)
        row("slurm-sbatch", took / n * 1e3, "ms", f"{base / n * 1e3:.2f} ms /bin/true", f"{took / base:.3f} x")
        subprocess.run(["/usr/bin/scancel", "-u", "root"], env=slurm.env, check=True)
        n = 300
        began = time.monotonic()
        spawn(n, "/usr/bin/sbatch", "-o", slurm.dir / "out-%j", script)
        while subprocess.run(["/usr/bin/squeue", "-h"], env=slurm.env, capture_output=True, text=True).stdout.strip():
            time.sleep(0.1)
        rate = n / (time.monotonic() - began)
        row("slurm-life", rate, "jobs/s", "", "")
    finally:
        slurm.close()


def backfill(env):
    """What sdiag says of the backfill scheduler: cycles, jobs looked at in the last one, seconds it took, jobs looked at in all."""
    out = subprocess.run(["/usr/bin/sdiag"], env=env, capture_output=True, text=True, check=True).stdout
    out = out[out.index("Backfilling stats"):]
    number = lambda words: int((re.search(re.escape(words) + r":\s*(\d+)", out) or [0, 0])[1])
    cycles = number("Total cycles")
    return cycles, number("Last depth cycle"), number("Last cycle") / 1e6, cycles * number("Depth Mean")


def measure_planner(row, seconds=105):
    """sched-5k on Slurm: 1,000 nodes, busy with what was submitted first; 5,000 jobs of different shapes; what has been considered and planned after
    so many seconds."""
    slurm = started(cloud=True)
    try:
        r = random.Random(42)
        sbatch = ["/usr/bin/sbatch", "-Q", "-p", "cloud", "-o", "/dev/null", "--wrap", "true"]
        for _ in range(6000):
            subprocess.run([*sbatch, f"-N{r.randint(1, 64)}", "--ntasks-per-node=1", f"-c{r.randint(1, 64)}", f"--mem={r.randint(1, 400)}000",
                            f"-t{r.choice([1, 2, 4, 8, 24])}:00:00"], env=slurm.env, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["/usr/bin/sdiag", "-r"], env=slurm.env, check=True, stdout=subprocess.DEVNULL)
        time.sleep(seconds)
        cycles, depth, took, considered = backfill(slurm.env)
        waiting = subprocess.run(["/usr/bin/squeue", "-h", "-t", "PD", "-o", "%S"], env=slurm.env, capture_output=True, text=True).stdout.split()
        planned = sum(w != "N/A" for w in waiting)
        row("slurm-sched-5k", took * 1e3, "ms a cycle", f"{depth} of {len(waiting)} jobs looked at in it", f"{cycles} in {seconds} s")
        row("slurm-planned", planned, "jobs", f"of {len(waiting)} waiting; {considered} looks in {seconds} s", "")
    finally:
        slurm.close()
