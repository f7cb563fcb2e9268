"""The cluster on which the products run: Remuda's own daemons with virtual nodes, or a real Slurm that somebody started (SLURM_CONF in the environment)."""
import glob
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time

PAIRS = 14  # of nodes with one CPU, on which one job preempts another
SPARE = 2  # nodes behind the pairs and lighter: what a job on a pair gives back

CONF = f"""\
ClusterName=products
KillWait=2
SlurmdTimeout=30
MinJobAge=3000
AttachGrace=5
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
SchedulerTimeSlice=30
NodeName=n[1-5] CPUs=200 RealMemory=64000 Virtual=YES
NodeName=a[1-2],b[1-2] CPUs=500 RealMemory=64000 Virtual=YES
NodeName=a[3-4],b[3-4] CPUs=500 RealMemory=64000 Weight=9 Virtual=YES
NodeName=x[1-{2 * PAIRS}] CPUs=1 RealMemory=8000 Weight=9 Virtual=YES
NodeName=z[1-{SPARE}] CPUs=200 RealMemory=64000 Virtual=YES
PartitionName=main Nodes=n[1-5] Default=YES
PartitionName=lost_a Nodes=a[1-4]
PartitionName=lost_b Nodes=b[1-4]
PartitionName=low_cancel Nodes=ALL PreemptMode=CANCEL
PartitionName=low_requeue Nodes=ALL PreemptMode=REQUEUE
PartitionName=low_suspend Nodes=ALL PreemptMode=SUSPEND
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF
"""


class Cluster:
    """What both have: commands, the queue as one poll a moment for all products, pairs of nodes lent out."""

    def __init__(self, work, env, pairs):
        self.work, self.env = pathlib.Path(work), env
        self.pairs = queue.Queue()
        for pair in pairs:
            self.pairs.put(pair)
        self.queue, self.polls = {}, 0
        self.polled = threading.Condition()
        self.stopped = False
        self.lock, self.reservations = threading.Lock(), set()

    def run(self, *command, timeout=60, **more):
        return subprocess.run(command, env=self.env, text=True, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, cwd=self.work, **more)

    def ask(self, *command):
        """The output of a command that has to succeed; tried again while the controller is away."""
        for _ in range(20):
            done = self.run(*command)
            if done.returncode == 0:
                return done.stdout
            time.sleep(0.5)
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")

    def poll_for_ever(self):
        while not self.stopped:
            done = self.run("squeue", "-h", "-a", "-r", "-o", "%i %T")
            if done.returncode == 0:
                with self.polled:
                    self.queue = dict(line.split(None, 1) for line in done.stdout.splitlines() if line.strip())
                    self.polls += 1
                    self.polled.notify_all()
            time.sleep(0.25)

    def state(self, labels):
        """States of those that are in the queue, as of a poll that began after this call."""
        with self.polled:
            want = self.polls + 2
            while self.polls < want and not self.stopped:
                self.polled.wait(5)
            return {label: self.queue[label] for label in labels if label in self.queue}

    @staticmethod
    def reservation_name(product):
        return "_".join(["res", *(product.pair or [product.partition()])])

    def pair_return(self, product):
        """A pair goes to the next product without the reservation that was made on it."""
        name = self.reservation_name(product)
        with self.lock:
            reserved = name in self.reservations
            self.reservations.discard(name)
        if reserved:
            self.ask("scontrol", "delete", f"reservationname={name}")  # refused until its jobs are gone
        self.pairs.put(product.pair)

    def reservation(self, product):
        """One for all that need nothing else; on the nodes of a pair one of their own."""
        name = self.reservation_name(product)
        where = [f"nodes={','.join(product.pair)}"] if product.pair else [f"partitionname={product.partition()}", "nodes=" + {"main": "n[4-5]", "lost_a": "a[1-4]", "lost_b": "b[1-4]"}[product.partition()]]
        if not product.pair and product.partition() != "main":
            where.append("corecnt=100,100,100,100")
        with self.lock:
            if name not in self.reservations:
                self.ask("scontrol", "create", "reservation", f"reservationname={name}", "users=root", "starttime=now", "duration=60", "flags=ignore_jobs", *where)
                self.reservations.add(name)
        return name

    def marked(self, mark):
        """Processes whose environment says that they belong to the work folder `mark`."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                env = open(path, "rb").read()
                command = open(path.replace("environ", "cmdline"), "rb").read().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if mark.encode() in env:
                found.append((int(path.split("/")[2]), command, env))
        return found

    def node_processes_kill(self, node):
        for pid, _, env in self.marked(f"D={self.work}/"):
            if f"\0SLURMD_NODENAME={node}\0".encode() in b"\0" + env:
                kill(pid)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


class Remuda(Cluster):
    name = "remuda"
    lost, lost_pair = {"a": "a1", "b": "b2"}, {"a": ("a1", "a2"), "b": ("b1", "b2")}
    patience = 1
    signal_option = "--signal=USR1@1797"  # of a limit of 30 minutes
    shortest_limit, own_limit = "0:01", "0:30"

    def __init__(self, work):
        state = pathlib.Path(work) / "cluster"
        state.mkdir(parents=True)
        (state / "remuda.conf").write_text(CONF)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_"))}
        env["REMUDA_STATE"] = str(state)
        super().__init__(work, env, [(f"x{i}", f"x{i + 1}") for i in range(1, 2 * PAIRS, 2)])
        self.state_dir = state

    def start(self):
        self.run("remuda", "up", "-q")
        for _ in range(100):
            if "idle" in self.run("sinfo", "-h", "-p", "main", "-t", "idle", "-N").stdout and \
                    len(self.run("sinfo", "-h", "-N", "-t", "idle", "-p", "high").stdout.splitlines()) == 13 + 2 * PAIRS + SPARE:
                return
            time.sleep(0.2)
        raise RuntimeError("the nodes do not come up: " + self.run("sinfo").stdout)

    def stop(self):
        self.run("scancel", "-u", str(os.getuid()))
        time.sleep(0.5)
        self.run("remuda", "down")

    def pid(self, role):
        return int(self.run("remuda", "status", "--pid", role).stdout.strip() or 0)

    def controller_kill(self):
        kill(self.pid("controller"))
        time.sleep(0.3)
        self.run("remuda", "up", "-q")

    def daemons_kill(self):
        """Of the nodes on which anything may run; the shepherds of their steps go on."""
        for node in self.run("sinfo", "-h", "-N", "-p", "high", "-o", "%N").stdout.split():
            kill(self.pid(f"node[{node}]"))
        time.sleep(0.3)
        self.run("remuda", "up", "-q")

    def node_lose(self, node):
        kill(self.pid(f"node[{node}]"))
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                command = open(path, "rb").read().split(b"\0")
            except OSError:
                continue
            if b"remuda-shepherd" in command[0] and f"{self.state_dir}/nodes/{node}".encode() in command:
                kill(int(path.split("/")[2]))
        self.node_processes_kill(node)
        self.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")

    def node_find(self, node):
        self.run("remuda", "up", "-q")
        self.ask("scontrol", "update", f"nodename={node}", "state=resume")

    def left_behind(self):
        """Folders of steps that outlived everything."""
        return glob.glob(f"{self.state_dir}/nodes/*/steps/[0-9]*")


class Slurm(Cluster):
    """Rules are true where Slurm keeps them too. Nodes: n[1-2] for all, x[1-4] in pairs; partitions as in CONF (slurm.conf beside this file is the fragment)."""

    name = "slurm"
    lost, lost_pair = {"a": "n1", "b": "n2"}, {"a": ("n1", "n2"), "b": ("n1", "n2")}
    patience = 3
    signal_option = "--signal=USR1@1795"  # up to a minute early
    shortest_limit, own_limit = "1", "1"

    def __init__(self, work):
        env = dict(os.environ)
        super().__init__(work, env, [("n5", "n6"), ("n7", "n8")])

    def start(self):
        pass

    def stop(self):
        self.run("scancel", "-u", "root")

    def controller_kill(self):
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                ours = f"SLURM_CONF={self.env['SLURM_CONF']}".encode() in open(path, "rb").read()
                name = open(path.replace("environ", "comm")).read().strip()
            except OSError:
                continue
            if ours and name == "slurmctld":
                kill(int(path.split("/")[2]))
        time.sleep(0.5)
        subprocess.Popen(["slurmctld", "-D"], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def node_lose(self, node):
        self.node_processes_kill(node)
        self.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")

    def node_find(self, node):
        self.run("scontrol", "update", f"nodename={node}", "state=resume")

    def left_behind(self):
        return []
