"""Rows of make bench about streams between hosts: the output of one step on another machine, encrypted, against the same without. The other machine is a network namespace (needs root)."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from goals import at_least

SIZE = 2 << 30


class Hosts:
    """Two machines with a cable between them: a cluster on one, the other joined to it."""

    def __init__(self, stage):
        self.stage = stage
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
        self.ns = [f"rmb{os.getpid()}{end}" for end in "ab"]
        for ns in self.ns:
            self.ip("netns", "add", ns)
        self.ip("link", "add", self.ns[0], "netns", self.ns[0], "type", "veth", "peer", "name", self.ns[1], "netns", self.ns[1])
        for i, ns in enumerate(self.ns):
            self.ip("-n", ns, "addr", "add", f"10.98.0.{i + 1}/24", "dev", ns)
            for device in ("lo", ns):
                self.ip("-n", ns, "link", "set", device, "up")
        self.on(0, "remuda", "up", "-q", "--nodes", "1", "--cpus", "2", "--mem", "1G")
        token = self.on(0, "remuda", "token", "--host", "trusted")
        self.on(1, "remuda", "join", "10.98.0.1", stdin=token)
        for _ in range(100):
            if self.on(0, "sinfo", "-h", "-n", "far", "-o", "%t").strip() == "idle":
                break
            time.sleep(0.1)

    @staticmethod
    def ip(*words, check=True):
        subprocess.run(["ip", *words], check=check, capture_output=True)

    def on(self, host, *command, stdin=None):
        """What the command, given `stdin`, says on the head (0) or on the other machine (1)."""
        name = ("head", "far")[host]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        env.update(REMUDA_STATE=str(self.dir / name), PATH=f"{self.stage}/bin:{self.stage}:{os.environ['PATH']}")
        script = 'hostname "$0"; exec "$@"'
        done = subprocess.run(["ip", "netns", "exec", self.ns[host], "unshare", "--uts", "sh", "-c", script, name, *command], env=env, input=stdin, capture_output=True, text=True, cwd=self.dir, check=True)
        return done.stdout

    def setting(self, line):
        with open(self.dir / "head/remuda.conf", "a") as conf:
            conf.write(line + "\n")
        self.on(0, "scontrol", "reconfigure")

    def stream(self):
        """MB/s of the output of one task."""
        began = time.monotonic()
        self.on(0, "sh", "-c", f"srun -n1 -w far head -c {SIZE} /dev/zero >/dev/null")
        return SIZE / 1e6 / (time.monotonic() - began)

    def close(self):
        for host in (1, 0):
            self.on(host, "remuda", "down")
        for ns in self.ns:
            self.ip("netns", "del", ns, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def measure(stage, row):
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("stream-sealed: skipped, it needs root and iproute2 for a second machine")
        return
    h = Hosts(stage)
    try:
        sealed = max(h.stream() for _ in range(2))
        h.setting("StreamTLS=NO")
        plain = max(h.stream() for _ in range(2))
        row("stream-sealed", sealed, "MB/s", f"{plain:.0f} MB/s not encrypted", f"{sealed / plain:.3f} x", at_least(400, "MB/s"))
    finally:
        h.close()
