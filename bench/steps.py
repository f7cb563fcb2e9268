"""Rows of make bench about steps: srun inside and outside an allocation, many tasks on many nodes, throughput of a stream, many steps one after another."""
import statistics
import subprocess
import time

import cpu
from goals import at_least, at_most, ratio_at_most


def median_ms(command, env, n, pause=0):
    took = []
    for _ in range(n):
        time.sleep(pause)
        began = time.monotonic()
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        took.append((time.monotonic() - began) * 1e3)
    return statistics.median(took)


def allocation(cluster, stage, *options):
    """Id of an allocation that stays until it is cancelled."""
    done = subprocess.run([str(stage / "bin/salloc"), "--no-shell", *options], env=cluster.env, capture_output=True, text=True, check=True)
    return next(word for word in done.stderr.split() if word.isdigit())


def measure(Cluster, load, stage, run, row):
    group = cpu.Group()
    group.enter()
    c = Cluster(cpus=4)
    try:
        srun = str(stage / "bin/srun")
        base = median_ms(["/bin/true"], c.env, 50)
        outside = median_ms([srun, "-n1", "true"], c.env, 50)
        row("srun-outside", outside, "ms median", f"{base:.2f} ms /bin/true", f"{outside / base:.1f} x", at_most(12, "ms"))
        job = allocation(c, stage, "-n1")
        inside_env = {**c.env, "SLURM_JOB_ID": job}
        inside = median_ms([srun, "-n1", "true"], inside_env, 50)
        row("srun-inside", inside, "ms median", f"{base:.2f} ms /bin/true", f"{inside / base:.1f} x", at_most(8, "ms"))
        rested = median_ms([srun, "-n1", "true"], inside_env, 15, pause=0.3)
        row("srun-rested", rested, "ms median", f"{inside:.2f} ms without pauses", f"{rested / inside:.3f} x", at_most(8, "ms"))
        n = 1000
        spent = [group.used_us()]
        rate = n / float(run(load, "spawn", n, srun, "-n1", "true", env=inside_env))
        row("steps-one-by-one", rate, "steps/s", "1,000 in one job, srun after srun", "", at_least(240, "/s"))
        time.sleep(cpu.LATE_S)
        spent.append(group.used_us())
        run(load, "spawn", n, "/bin/true")
        spent.append(group.used_us())
        if spent[0] is not None:
            step, spawn = ((spent[i + 1] - spent[i]) / n for i in range(2))
            row("step-cpu", step, "us of CPU", f"{spawn:.0f} us /bin/true", f"{step / spawn:.1f} x")
        size = 2 << 30
        began = time.monotonic()
        with open("/dev/null", "w") as null:
            subprocess.run([srun, "head", "-c", str(size), "/dev/zero"], env=inside_env, check=True, stdout=null)
        speed = size / 1e6 / (time.monotonic() - began)
        began = time.monotonic()
        subprocess.run(f"head -c {size} /dev/zero | cat > /dev/null", shell=True, check=True)
        pipe = size / 1e6 / (time.monotonic() - began)
        row("stdout-stream", speed, "MB/s", f"{pipe:.0f} MB/s through a pipe", f"{speed / pipe:.3f} x", at_least(500, "MB/s"))
    finally:
        c.close()
        group.close()
    wide(Cluster, load, stage, run, row)


def wide(Cluster, load, stage, run, row):
    """512 tasks on 64 virtual nodes of this machine, against 512 processes of posix_spawn."""
    c = Cluster(cpus=8, nodes=64, memory="1G")
    try:
        base = float(run(load, "spawn", 512, "/bin/true"))
        job = allocation(c, stage, "-N64", "--ntasks-per-node=8")
        env = {**c.env, "SLURM_JOB_ID": job}
        took = []
        for _ in range(3):
            began = time.monotonic()
            subprocess.run([str(stage / "bin/srun"), "-N", "64", "-n", "512", "true"], env=env, check=True)
            took.append(time.monotonic() - began)
        figure = statistics.median(took)
        row("srun-512-tasks", figure * 1e3, "ms median", f"{base * 1e3:.0f} ms posix_spawn of 512", f"{figure / base:.3f} x", ratio_at_most(3, figure / base))
    finally:
        c.close()
