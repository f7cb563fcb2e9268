"""Rows of make bench about many nodes: simulated node daemons (remuda-peers) with a connection each, the controller's CPU while they are idle and while a step is launched on all of them."""
import pathlib
import shutil
import subprocess
import tempfile
import time

from goals import at_most, ratio_at_most

NODES = 2000
WIDE = 1000
WIDER = 3000
HEARTBEAT_S = 20


def cpu_s(pid):
    """CPU time of all threads, from the scheduler's own count of nanoseconds."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


class Peers:
    """A controller with so many simulated nodes; their heartbeats are spread over spread_ms."""

    def __init__(self, build, count, spread_ms):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
        (self.dir / "remuda.conf").write_text(
            f"ClusterName=bench\nHeartbeatInterval={HEARTBEAT_S}\nNodeName=sim[1-{count}] CPUs=8 RealMemory=8000 Virtual=YES\n"
            "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n")
        self.controller = subprocess.Popen([build / "src/controller/remudad", "controller", "--state", self.dir, "--foreground"], stderr=subprocess.DEVNULL)
        while not (self.dir / "controller.sock").exists():
            time.sleep(0.05)
        self.peers = subprocess.Popen([build / "bench/remuda-peers", self.dir, str(count), str(spread_ms)], stdout=subprocess.PIPE)
        self.peers.stdout.readline()

    def cpu(self):
        return cpu_s(self.controller.pid), cpu_s(self.peers.pid)

    def close(self):
        for process in (self.peers, self.controller):
            process.terminate()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def measure(build, load, run, row):
    c = Peers(build, NODES, HEARTBEAT_S * 1000)
    try:
        before = c.cpu()
        time.sleep(HEARTBEAT_S)
        share, theirs = ((b - a) / HEARTBEAT_S * 100 for a, b in zip(before, c.cpu()))
        row("idle-2000-nodes", share, "% of a core", f"{theirs:.2f} % the {NODES} peers", f"{share / theirs:.3f} x", at_most(3, "%"))
    finally:
        c.close()
    narrow, theirs, each = step_cpu(build, load, run, WIDE, 20)
    row("step-1000-nodes", narrow, "ms CPU", f"{theirs:.1f} ms the {WIDE} peers", f"{each:.0f} ms each", at_most(40, "ms"))
    wide, theirs, each = step_cpu(build, load, run, WIDER, 5)
    growth = (wide / WIDER) / (narrow / WIDE)
    row("step-3000-nodes", wide, "ms CPU", f"{theirs:.1f} ms the {WIDER} peers", f"{growth:.2f} x a node of {WIDE}", ratio_at_most(1.5, growth))


def step_cpu(build, load, run, nodes, steps):
    """CPU of the controller and of the peers for one step on so many nodes, in ms, and how long it took."""
    c = Peers(build, nodes, 200)
    try:
        before = c.cpu()
        took = float(run(load, "steps", steps, nodes, env={"REMUDA_STATE": str(c.dir)}))
        mine, theirs = ((b - a) / steps * 1e3 for a, b in zip(before, c.cpu()))
        return mine, theirs, took / steps * 1e3
    finally:
        c.close()
