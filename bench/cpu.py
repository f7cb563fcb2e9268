"""CPU time of a cluster with all that runs in it: of a control group that it was started in. On a busy machine that changes far less than rates do.

Run as a program, it compares commits: cpu.py ROUNDS life|steps TREE... (trees built with tools/build, measured in turn; the first is what the others are compared with).
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path("/sys/fs/cgroup/cpuacct")  # version 2 has no group that keeps jobs below it where systemd is
AT_ONCE = {"life": 300, "steps": 100}
LATE_S = 0.3  # shepherds and daemons finish what nobody waits for


def memory_dir():
    """For what jobs write: how long ext4 looks for a free inode depends on how many others deleted in the last minutes (without a journal it reads each of those)."""
    return pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


class Group:
    """None of its methods do anything where there is no version 1 cpuacct, or it is not ours to write."""

    def __init__(self):
        self.dir = ROOT / f"remuda-bench-{os.getpid()}-{time.monotonic_ns()}"
        try:
            self.dir.mkdir()
        except OSError:
            self.dir = None

    def enter(self):
        if self.dir:
            (self.dir / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self):
        if self.dir:
            (ROOT / "cgroup.procs").write_text(str(os.getpid()))

    def used_us(self):
        """None: not to be had."""
        return int((self.dir / "cpuacct.usage").read_text()) / 1000 if self.dir else None

    def close(self):
        self.leave()
        for _ in range(50):
            try:
                self.dir and self.dir.rmdir()
                return
            except OSError:
                time.sleep(0.1)


class Tree:
    """A cluster of a built tree, of one node."""

    def __init__(self, path, mode):
        self.path, self.mode, self.group = path, mode, Group()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
        self.out = memory_dir()
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        self.env.update(REMUDA_STATE=str(self.dir / "state"), PATH=f"{path}/bin:{os.environ['PATH']}", BENCH_DIR=str(self.out))
        self.script = self.out / "job.sh"
        self.script.write_text("#!/bin/bash\ntrue\n")
        self.script.chmod(0o755)
        self.run(path / "remuda", "up", "-q", "--nodes", 1, "--cpus", 8, "--mem", "8G")
        if mode == "steps":
            said = self.run(path / "bin/salloc", "--no-shell", "-n1").stderr
            self.env["SLURM_JOB_ID"] = next(word for word in said.split() if word.isdigit())

    def run(self, *command):
        return subprocess.run([str(c) for c in command], env=self.env, check=True, capture_output=True, text=True, preexec_fn=self.group.enter)

    def load(self, *args):
        self.run(self.path / "build/bench/remuda-load", *args)

    def spent(self, n, *loads):
        before = self.group.used_us()
        for load in loads:
            self.load(*load)
        time.sleep(LATE_S)
        return (self.group.used_us() - before) / n

    def work(self, n):
        if self.mode == "life":
            return self.spent(n, ("submit", n, "short"), ("wait",))
        return self.spent(n, ("spawn", n, self.path / "bin/srun", "-n1", "true"))

    def spawn(self, n):
        if self.mode == "life":
            return self.spent(n, ("spawn-parallel", n, 2, self.script))
        return self.spent(n, ("spawn", n, "/bin/true"))

    def close(self):
        subprocess.run([str(self.path / "remuda"), "down"], env=self.env, capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)
        self.group.close()


def compare(rounds, mode, paths):
    n, trees, spawn = AT_ONCE[mode], [], []
    try:
        for path in paths:
            trees.append(Tree(path, mode))
        if trees[0].group.used_us() is None:
            sys.exit(f"{ROOT} cannot be written: as root of a machine with version 1 groups")
        took = [[] for _ in trees]
        for tree in trees:
            tree.work(n // 5)
        for i in range(rounds):
            spawn.append(trees[0].spawn(n))
            for k in range(len(trees)) if i % 2 == 0 else reversed(range(len(trees))):
                took[k].append(trees[k].work(n))
    finally:
        for tree in trees:
            tree.close()
    print(f"posix_spawn {statistics.median(spawn):.0f} us")
    for tree, own in zip(trees, took):
        of_first = statistics.median(a / b for a, b in zip(own, took[0]))
        of_spawn = statistics.median(a / b for a, b in zip(spawn, own))
        print(f"{tree.path}: {statistics.median(own):.0f} us (least {min(own):.0f}), {of_first:.3f} of the first, {of_spawn:.2f} of the spawn rate")


if __name__ == "__main__":
    compare(int(sys.argv[1]), sys.argv[2], [pathlib.Path(p).resolve() for p in sys.argv[3:]])
