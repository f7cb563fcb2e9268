"""BENCH_SLURM=1: Debian's slurm-wlm, installed and started on this machine, tuned for throughput, measured the way bench.py measures Remuda.

Needs root (slurmd does). Everything runs in a temporary directory on loopback ports and is stopped afterwards.
"""
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time

CONF = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_min_interval=1000,defer,max_rpc_cnt=0,batch_sched_delay=0,default_queue_depth=1000
MaxJobCount=200000
MinJobAge=300
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""

# The planner's row: a thousand nodes that are only said to be there, and backfill as Slurm has it by default.
CLOUD = """\
NodeName=c[1-1000] Sockets=2 CoresPerSocket=32 RealMemory=512000 State=CLOUD
PartitionName=cloud Nodes=c[1-1000] Default=NO MaxTime=INFINITE State=UP
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=3600
ResumeTimeout=3600
ResumeRate=0
TreeWidth=65533
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    def __init__(self, cloud=False):
        subprocess.run(["apt-get", "install", "-y", "-qq", "slurm-wlm", "munge"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="slurm-bench-", dir="/var/tmp"))
        self.daemons = []
        for name in ("state", "spool"):
            (self.dir / name).mkdir()
        self.dir.chmod(0o755)
        key = self.dir / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        host = socket.gethostname().split(".")[0]
        conf = self.dir / "slurm.conf"
        text = CONF.format(host=host, dir=self.dir, port=free_port(), node_port=free_port(), cpus=os.cpu_count())
        if cloud:
            text = re.sub("^Scheduler(Type|Parameters)=.*\n", "", text, flags=re.M) + "SchedulerType=sched/backfill\n" + CLOUD
        conf.write_text(text)
        self.env = {**os.environ, "SLURM_CONF": str(conf)}
        self.start("munged", "-F", "--force", "--key-file", key, "--socket", self.dir / "munge.socket", "--pid-file", self.dir / "munge.pid",
                   "--log-file", self.dir / "munge.log", "--seed-file", self.dir / "munge.seed")
        time.sleep(1)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", host)
        for _ in range(100):
            out = subprocess.run(["/usr/bin/sinfo", "-h", "-o", "%T"], env=self.env, capture_output=True, text=True).stdout
            if "idle" in out:
                return
            time.sleep(0.2)
        raise SystemExit(f"Slurm did not start; see {self.dir}")

    def start(self, *command):
        self.daemons.append(subprocess.Popen([str(c) for c in command], env=getattr(self, "env", None), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def measure(load, row):
    slurm = Slurm()
    try:
        script = slurm.dir / "job.sh"
        script.write_text("#!/bin/bash\ntrue\n")
        spawn = lambda n, *command: float(subprocess.run([str(load), "spawn", str(n), *map(str, command)], env=slurm.env, check=True,
                                                         capture_output=True, text=True).stdout)
        n = 200
        base = spawn(n, "/bin/true")
        took = spawn(n, "/usr/bin/sbatch", "--hold", "-o", "/dev/null", script)
        row("slurm-sbatch", took / n * 1e3, "ms", f"{base / n * 1e3:.2f} ms /bin/true", f"{took / base:.2f} x", "(real Slurm, same run)", True)
        subprocess.run(["/usr/bin/scancel", "-u", "root"], env=slurm.env, check=True)
        n = 300
        began = time.monotonic()
        spawn(n, "/usr/bin/sbatch", "-o", slurm.dir / "out-%j", script)
        while subprocess.run(["/usr/bin/squeue", "-h"], env=slurm.env, capture_output=True, text=True).stdout.strip():
            time.sleep(0.1)
        rate = n / (time.monotonic() - began)
        row("slurm-life", rate, "jobs/s", "", "", "(real Slurm, same run)", True)
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
    slurm = Slurm(cloud=True)
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
        row("slurm-sched-5k", took * 1e3, "ms a cycle", f"{depth} of {len(waiting)} jobs looked at in it", f"{cycles} in {seconds} s",
            "(real Slurm, same run)", True)
        row("slurm-planned", planned, "jobs", f"of {len(waiting)} waiting; {considered} looks in {seconds} s", "", "(real Slurm, same run)", True)
    finally:
        slurm.close()
