"""What sampling costs: a node of 8 GPUs (the fake of NVML) with 4 jobs, sampled every second, so that there is something to measure in half a minute; figures are for the 2 s that are usual.
The fake reads its file anew at each question, which a library does not: the process that watches the GPUs is told apart and has no goal."""
import csv
import io
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import time

JOBS, SECONDS, GAP_S = 4, 70, 1
USUAL_S = 2
ROOT = pathlib.Path(__file__).resolve().parent.parent
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """Of one process, in seconds; 0 if it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK_S


def children(pid):
    try:
        return [int(c) for t in pathlib.Path(f"/proc/{pid}/task").iterdir() for c in (t / "children").read_text().split()]
    except OSError:
        return []


def below(pid):
    found = []
    for child in children(pid):
        found += [child, *below(child)]
    return found


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def measure(stage, row, at_most):
    work = pathlib.Path(tempfile.mkdtemp(prefix="remuda-bench-"))
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", work / "nvml.so", *sorted((ROOT / "tests/fake").glob("nvml*.c"))], check=True)
    lines = ["machine a100x8"]
    for gpu in range(8):
        lines += [f"rate {gpu} {40 + gpu}", f"mw {gpu} {200000 + 777 * gpu}", f"celsius {gpu} 60", f"smclock {gpu} 1410", f"pcie {gpu} 123456 7654321"]
    (work / "gpus").write_text(lines[0] + "\n")  # a GPU that is busy before a job has it is not given to one
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
    env.update(REMUDA_STATE=str(work / "state"), PATH=f"{stage}/bin:{os.environ['PATH']}", REMUDA_NVML=str(work / "nvml.so"), REMUDA_FAKE_GPUS=str(work / "gpus"))

    def run(*command):
        return subprocess.run([str(c) for c in command], env=env, check=True, capture_output=True, text=True, cwd=work).stdout.strip()

    try:
        (work / "state").mkdir()
        node = run("hostname", "-s")
        (work / "state/remuda.conf").write_text(f"JobAcctGatherFrequency={GAP_S}\nNodeName={node} CPUs={os.cpu_count()} RealMemory=4000 Gres=gpu:8\nPartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:4\n")
        run("remuda", "up", "-q")
        jobs = [run("sbatch", "--parsable", "-c1", "--mem=100", f"--gres=gpu:{8 // JOBS}", "--wrap", f"sleep {SECONDS + 60}") for _ in range(JOBS)]
        until = time.monotonic() + 60
        while len(run("squeue", "-h", "-t", "R").splitlines()) < JOBS and time.monotonic() < until:
            time.sleep(0.2)
        (work / "gpus").write_text("\n".join(lines) + "\n")
        time.sleep(3)
        daemon = int((work / "state/nodes" / node / "node.pid").read_text())
        of = {pid: name_of(pid) for pid in [daemon, *below(daemon)]}
        of = {pid: name for pid, name in of.items() if name.startswith("remuda")}
        before = {pid: cpu_s(pid) for pid in of}
        time.sleep(SECONDS)
        watch = sum(cpu_s(pid) - before[pid] for pid, name in of.items() if name == "remudad-gpus")
        rest = sum(cpu_s(pid) - before[pid] for pid, name in of.items() if name != "remudad-gpus")
        percent = 100 * GAP_S / USUAL_S / SECONDS
        row("series-node", rest * percent, "% of a core", f"{JOBS} jobs, 8 GPUs, each {USUAL_S} s", f"+{watch * percent:.2f} in the fake", at_most(0.5))
        run("scancel", "-u", run("id", "-un"))
        time.sleep(5)
        values = 0
        first = min(int(j) for j in jobs)
        for record in csv.DictReader(io.StringIO(run("remuda", "plot", first, "--csv")), skipinitialspace=True):
            values += sum(1 for title, cell in record.items() if title not in ("timestamp", "node", "index", "name") and cell != "[N/A]")
        size = 0
        for path in (work / "state/series").glob("*.db"):
            with sqlite3.connect(path) as db:
                size += db.execute("SELECT total(length(data)) FROM block WHERE job_id=? AND device>=0", (first,)).fetchone()[0]
        row("series-bytes", size / max(values, 1), "bytes/value", f"{values} values of a job", "", at_most(1.5))
    finally:
        subprocess.run(["remuda", "down"], env=env, capture_output=True)
        shutil.rmtree(work, ignore_errors=True)
