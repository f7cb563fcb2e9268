#!/usr/bin/env python3
"""A real Slurm (Debian's slurm-wlm) on this machine, in one directory and on loopback ports, to compare Remuda with.

Needs root (slurmd does). `tests/compare/slurm.py COMMAND…` runs a command (bash, say) beside one and stops it afterwards; tests/compare/run
and bench/slurm.py use the class. Accounting (slurmdbd on a MariaDB of its own) is there where its packages are.
"""
import ctypes
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SLURM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

BASE = """\
ClusterName=cluster
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctl}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=1
SlurmdParameters=config_overrides
"""

ACCOUNTING = """\
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={dir}/munge.socket
AccountingStorageTRES=gres/gpu
"""

DBD = """\
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
DbdHost=localhost
DbdPort={dbd}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={my}
StorageUser=root
StorageLoc=slurm
LogFile={dir}/slurmdbd.log
PidFile={dir}/slurmdbd.pid
"""

# What the tables of tests/compare run on, here and in Remuda.
SETTINGS = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,bf_window=2880
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightPartition=1000
PriorityWeightJobSize=0
GresTypes=gpu
KillWait=2
MinJobAge=300
FirstJobId=70001
"""
NODES = """\
NodeName=n[1-2] Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 Weight=1 Feature=common,old Gres=gpu:p100:4
NodeName=n3 Sockets=2 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=8000 Weight=2 Feature=common,new
NodeName=n4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 Weight=2 Feature=common,new
"""
PARTITIONS = """\
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=short Nodes=n[1-2] MaxTime=30 DefaultTime=10
"""


class Unavailable(Exception):
    """There is no Slurm to be had here; the text says why."""


def merge(base, more):
    """Lines of settings: those of more replace those of base with the same first key."""
    key = lambda line: line.split("=")[0].strip().lower()
    replaced = {key(line) for line in more.splitlines() if "=" in line}
    return "".join(line + "\n" for line in [*(l for l in base.splitlines() if key(l) not in replaced), *more.splitlines()])


def has(*programs):
    return all(shutil.which(p, path=SLURM_PATH) for p in programs)


def install(packages, programs):
    """Installs what is missing; false where that cannot be."""
    if not has(*programs):
        subprocess.run(["apt-get", "install", "-y", "-qq", *packages], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return has(*programs)


def free_ports(n):
    """n free ports in a row."""
    for _ in range(100):
        first = random.randrange(20000, 30000)
        try:
            for i in range(n):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            pass
    raise Unavailable("no free ports")


def until(true, seconds):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Slurm:
    """settings: lines of slurm.conf; nodes: NodeName lines (each gets a port of its own) with gres of files that are made."""

    def __init__(self, settings=SETTINGS, nodes=NODES, partitions=PARTITIONS, accounting=True):
        if os.getuid() != 0:
            raise Unavailable("slurmd needs root")
        if not install(["slurm-wlm", "munge"], ["slurmctld", "slurmd", "munged", "squeue"]):
            raise Unavailable("slurm-wlm cannot be installed here")
        self.accounting = accounting and install(["slurmdbd", "mariadb-server"], ["slurmdbd", "mariadbd", "mysql_install_db"])
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="slurm-", dir="/var/tmp"))
        self.daemons = []
        self.env = {k: v for k, v in os.environ.items() if not re.match("SLURM|SBATCH|SQUEUE|SINFO|SACCT|SPRIO|REMUDA", k)}
        self.env.update(SLURM_CONF=str(self.dir / "slurm.conf"), PATH=SLURM_PATH)
        try:
            self._configure(settings, nodes, partitions)
            self._start()
        except BaseException:
            self.close()
            raise

    def _configure(self, settings, nodes, partitions):
        (self.dir / "state").mkdir()
        self.dir.chmod(0o755)
        lines = nodes.splitlines()
        self.first_port = free_ports(32)
        names = [re.match(r"NodeName=(\S+)", line)[1] for line in lines if "State=CLOUD" not in line]
        self.values = dict(host=socket.gethostname().split(".")[0], dir=self.dir, ctl=self.first_port, dbd=self.first_port + 1,
                           my=self.first_port + 2)
        base = BASE + (ACCOUNTING if self.accounting else "AccountingStorageType=accounting_storage/none\n")
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(merge(base.format(**self.values), settings))
        hosts = lambda text: subprocess.run(["/usr/bin/scontrol", "show", "hostnames", text], env=self.env, capture_output=True,
                                            text=True).stdout.split()
        self.names, port = [], self.first_port + 3
        for i, line in enumerate(lines):
            name = re.match(r"NodeName=(\S+)", line)[1]
            if name not in names:
                continue
            own = hosts(name)
            ports = f"{port}" if len(own) == 1 else f"[{port}-{port + len(own) - 1}]"
            lines[i] += f" NodeHostname={self.values['host']} NodeAddr=127.0.0.1 Port={ports}"
            self.names += own
            port += len(own)
        with self.conf.open("a") as f:
            f.write("\n".join(lines) + "\n" + partitions)
        self._devices(lines)

    def _devices(self, lines):
        text = ""
        for line in lines:
            m = re.match(r"NodeName=(\S+).*\bGres=gpu:(\w+):(\d+)", line)
            if m:
                for i in range(int(m[3])):
                    (self.dir / f"gpu{i}").touch()
                text += f"NodeName={m[1]} Name=gpu Type={m[2]} File={self.dir}/gpu[0-{int(m[3]) - 1}]\n"
        (self.dir / "gres.conf").write_text(text)

    def _run(self, *command):
        out = open(self.dir / "out.log", "a")
        self.daemons.append(subprocess.Popen([str(c) for c in command], env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                             stderr=subprocess.STDOUT, preexec_fn=die_with_parent))

    def _start(self):
        d = self.dir
        key = d / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self._run("munged", "-F", "--force", "--key-file", key, "--socket", d / "munge.socket", "--pid-file", d / "munge.pid",
                  "--log-file", d / "munge.log", "--seed-file", d / "munge.seed")
        if self.accounting:
            self._start_database()
        until((d / "munge.socket").exists, 10)
        self._run("slurmctld", "-D")
        for name in self.names:
            self._run("slurmd", "-D", "-N", name)
        if not until(self._idle, 30):
            raise Unavailable(f"Slurm did not start: {(d / 'out.log').read_text()[-600:]}")

    def _start_database(self):
        d, my = self.dir, self.values["my"]
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["mysql_install_db", "--no-defaults", f"--datadir={d}/db", "--auth-root-authentication-method=normal", "--user=root",
                        "--skip-test-db"], **quiet)
        self._run("mariadbd", "--no-defaults", f"--datadir={d}/db", f"--socket={d}/my.sock", f"--port={my}", "--bind-address=127.0.0.1",
                  "--user=root", f"--pid-file={d}/my.pid", "--skip-grant-tables", "--innodb-buffer-pool-size=64M",
                  "--innodb-lock-wait-timeout=900")
        conf = d / "slurmdbd.conf"
        conf.write_text(DBD.format(**self.values))
        conf.chmod(0o600)
        until((d / "my.sock").exists, 20)
        self._run("slurmdbd", "-D")
        until(lambda: answers(self.values["dbd"]), 20)
        subprocess.run(["/usr/bin/sacctmgr", "-i", "add", "cluster", "cluster"], env=self.env, **quiet)

    def _idle(self):
        out = subprocess.run(["/usr/bin/sinfo", "-h", "-N", "-o", "%N %T"], env=self.env, capture_output=True, text=True).stdout
        idle = {line.split()[0] for line in out.splitlines() if line.endswith(" idle")}
        return idle.issuperset(self.names)

    def _jobs_end(self):
        """Jobs outlive their daemons: they are ended first."""
        quiet = dict(env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
        waiting = lambda: subprocess.run(["/usr/bin/squeue", "-h", "-o", "%u"], env=self.env, capture_output=True, text=True, timeout=20).stdout.split()
        users = sorted(set(waiting()))
        for user in users:
            subprocess.run(["/usr/bin/scancel", "-u", user], **quiet)
        if users:
            until(lambda: not waiting(), 10)

    def close(self):
        try:
            if any(d.args[0] == "slurmctld" for d in self.daemons):
                self._jobs_end()
        except subprocess.TimeoutExpired:
            pass
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


if __name__ == "__main__":
    slurm = Slurm()
    try:
        status = subprocess.run(sys.argv[1:] or ["bash"], env=slurm.env).returncode
    finally:
        slurm.close()
    sys.exit(status)
