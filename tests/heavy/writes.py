#!/usr/bin/env python3
"""What a daemon writes fails, call by call. Usage: writes.py [--stage DIR] [--role NAME] [--modes LIST] [--lives N] [--at N] [--jobs N] [--seed N] [--keep]

A short life of a cluster (jobs of several kinds, steps, accounts, reservations, triggers, a table of scrontab, requeue, suspend, more time, a backup, an
archive of old jobs), again and again; in each, one call of the controller (or of another role: node, the daemon; remuda-shepherd, each of its calls of
that number) that changes a file of its state directory goes wrong (writes_fail.c):

  kill    it is killed before it          torn    half of it is done, then it is killed       power   killed, and what was not synced is as it was
  eio     EIO, once                       away    EIO, a dozen times                          full    ENOSPC, a dozen times          short   half is written

Whatever ends it, it is started again, with nothing that fails. Then the books: whatever was acknowledged is there, each job once, run once, ended; ids do not
repeat; old jobs are in the store or in an archive, and are all there when that is loaded; the store is whole; nothing is left. Prints TAP, one line a mode.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
MODES = {"kill": ("kill", 1), "torn": ("torn", 1), "power": ("power", 1), "eio": ("eio", 1), "away": ("eio", 12), "full": ("enospc", 12), "short": ("short", 1)}
SETTLE_S = 60
# what is written beside a file and then put in its place; used again by whoever writes it next
REPLACES = {f"{name}.new" for name in ("running", "down", "cgroups", "login_path", "protocol", "devices", "joined.conf", "remuda.conf")}
OLD_JOBS = 12
MANY = 60  # accounts that are loaded from one file
JOB = """#!/bin/bash
echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >> "$WORK/started"
%s
echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >> "$WORK/ended"
"""


class Cluster:
    def __init__(self, base, stage):
        self.base, self.state, self.work = base, base / "state", base / "work"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "REMUDA_", "WRITES_"))}
        if stage:
            self.env["PATH"] = f"{stage}/bin:{stage}:{self.env['PATH']}"
        self.env.update(REMUDA_STATE=str(self.state), WORK=str(self.work), TZ="UTC", SLURM_TIME_FORMAT="%s")

    def run(self, *command, timeout=90, prefix=(), stdin=None, **env):
        try:
            return subprocess.run([*prefix, *command], env=self.env | env, cwd=self.work, text=True, capture_output=True, timeout=timeout,
                                  input=stdin if stdin is not None else "")
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "no answer in time")

    def out(self, *command, **more):
        return self.run(*command, **more).stdout

    def up(self, **more):
        return self.run("remuda", "up", "-q", **more)


def seeded(base, stage):
    """A cluster that is down, with jobs of long ago."""
    c = Cluster(base, stage)
    c.state.mkdir(parents=True)
    c.work.mkdir()
    (c.state / "remuda.conf").write_text("ClusterName=writes\nMinJobAge=2\nAccountingStorageEnforce=associations\nNodeName=n[1-2] CPUs=8 RealMemory=4000 Virtual=YES\n"
                                         "PartitionName=main Nodes=ALL Default=YES MaxTime=7-0 DefaultTime=60 State=UP\n")
    long_ago = ("faketime", "--exclude-monotonic", "-f", "@2024-02-29 22:59:50")  # of one boot two monotonic clocks would be news
    for name, body in {"plain": "sleep 0.1", "long": "sleep 2", "steps": "srun -Q -n2 --mem=10 true\nsrun -Q -n1 --mem=10 true", "across": "srun -Q -N2 -n2 --mem=10 sleep 0.3\nsleep 1"}.items():
        (c.work / f"{name}.sh").write_text(JOB % body)
    (c.work / "fired").write_text('#!/bin/sh\necho "$1" >> "$WORK/told"\n')
    (c.work / "fired").chmod(0o755)
    (c.work / "people").write_text("Cluster - 'writes':QOS='normal'\nParent - 'root'\n" + "".join(f"Account - 'many{i}':Description='x'\n" for i in range(MANY)))
    c.up(prefix=long_ago)
    c.run("sacctmgr", "-i", "add", "account", "base")
    c.run("sacctmgr", "-i", "add", "user", os.environ.get("USER") or "root", "account=base")
    c.run("sbatch", "-W", f"--array=1-{OLD_JOBS}", "-n1", "--mem=10", "-o", "/dev/null", "--wrap", "true", prefix=long_ago)
    c.run("remuda", "down")
    for named in c.state.glob("nodes/*/life"):  # so that each life begins with writing it, too
        named.unlink()
    return c


class Life:
    """Commands, and what must be so afterwards for each that was acknowledged."""

    def __init__(self, cluster, role):
        self.fails = {"remuda-shepherd": {"FAILED", "NODE_FAIL"}}.get(role, set())  # what a job may end as where its own shepherd cannot write
        self.c, self.checks, self.ids, self.touched = cluster, [], [], collections.defaultdict(set)
        self.unsure, self.said = set(), []

    def ask(self, *command, **more):
        done = self.c.run(*command, **more)
        if done.returncode != 0:
            self.said.append(f"{' '.join(command[:3])}: {(done.stderr or done.stdout).strip()[:200]}")
        return done

    def submit(self, *options, kind="plain"):
        done = self.ask("sbatch", "--parsable", "--mem=10", "-o", "/dev/null", *options, f"{kind}.sh")
        if done.returncode == 0 and done.stdout.strip().isdigit():
            self.ids.append(int(done.stdout))
            return done.stdout.strip()
        return None

    def must(self, what, command, show, want, **more):
        """Once it is acknowledged, `show` has `want`."""
        if self.ask(*command, **more).returncode == 0:
            self.checks.append((what, show, want))

    def live(self):
        archive = self.c.state / "archive"
        archive.mkdir(exist_ok=True)
        first = self.submit("-n1")
        long = self.submit("-n1", kind="long")
        self.submit("-n1", "--array=0-1")
        held = self.submit("-n1", "-H", "-J", "held")
        gone = self.submit("-n1", "-H", "-J", "gone")
        self.must("account", ["sacctmgr", "-i", "add", "account", "new"], ["sacctmgr", "-nP", "show", "account", "format=account"], r"^new$")
        self.must("limit", ["sacctmgr", "-i", "modify", "account", "base", "set", "GrpJobs=77"],
                  ["sacctmgr", "-nP", "show", "assoc", "account=base", "format=grpjobs"], r"^77$")
        self.submit("-n2", kind="steps")
        across = self.submit("-N2", "-n2", "-J", "across", kind="across")
        self.must("accounts of a file", ["sacctmgr", "-i", "load", f"file={self.c.work}/people"], ["sh", "-c", "sacctmgr -nP show account format=account | grep -c many"],
                  f"^{MANY}$")
        for name in ("r1", "r2"):
            self.must(f"reservation {name}", ["scontrol", "create", "reservation", f"ReservationName={name}", "StartTime=now+10hours", "Duration=10", "Nodes=n1",
                                              "Users=root", "Flags=OVERLAP"], ["scontrol", "show", "reservation", "r2"], "ReservationName=r2" if name == "r2" else "")
        if held:
            self.must("comment", ["scontrol", "update", f"JobId={held}", "Comment=told"], ["sacct", "-XnP", "-S", "1970-01-01", "-j", held, "-o", "comment"], "^told$")
        cancelled = self.ask("scancel", gone) if gone else None
        if cancelled and cancelled.returncode != 0:
            self.touched[gone].add("maybe cancel")
        elif cancelled:
            self.touched[gone].add("cancel")
            self.checks.append(("cancel", ["sacct", "-XnP", "-S", "1970-01-01", "-j", gone, "-o", "state"], "^CANCELLED"))
        self.must("scrontab", ["scrontab", "-"], ["scrontab", "-l"], "^0 0 1 1 . true$", stdin="0 0 1 1 * true\n")
        self.must("trigger", ["strigger", "--set", "--node", "--down", "--program=/bin/true"], ["strigger", "--get", "-n"], "/bin/true")
        if long:
            self.must("more time", ["remuda", "extend", long, "+1h"], ["sacct", "-XnP", "-S", "1970-01-01", "-j", long, "-o", "timelimitraw"], "^120$")
            self.ask("scontrol", "suspend", long)
            self.ask("scontrol", "resume", long)
            self.touched[long].add("requeue")
            self.ask("scontrol", "requeue", long)
            self.ask("scontrol", "release", long)
            self.ask("strigger", "--set", f"--jobid={long}", "--fini", f"--program={self.c.work}/fired")
        if across:
            self.must("a resize", ["scontrol", "update", f"JobId={across}", "NumNodes=1"], ["sacct", "-DXnP", "-j", across, "-o", "nnodes"], "^1$")  # of that run: one that goes back asks for what it did
            self.touched[across].add("resize")
        self.ask("scontrol", "create", "reservation", "ReservationName=soon", "StartTime=now+1seconds", "Duration=1", "Nodes=n2", "Users=root", "Flags=IGNORE_JOBS")
        self.must("a reservation's end", ["scontrol", "delete", "ReservationName=r1"], ["sh", "-c", "scontrol show reservation r1 2>&1"], "not found|Invalid")
        saved = self.c.state / "saved"
        if self.ask("remuda", "backup", str(saved)).returncode == 0:
            self.checks.append(("backup", ["sqlite3", str(saved), "pragma integrity_check; select count(*) > 0 from file"], r"^ok\n1$"))
        self.ask("sacctmgr", "archive", "dump", "Jobs", "PurgeJobAfter=12months", f"Directory={archive}")
        for file in sorted(archive.glob("*_archive_*")):
            self.ask("sacctmgr", "-i", "archive", "load", f"file={file}")
        self.submit("-n1", ":", "-n1", "--mem=10")
        if first:
            self.ask("sacct", "-j", first)
        if held and self.ask("scontrol", "release", held).returncode == 0:
            self.touched[held].add("released")
        self.settle(10)

    def settle(self, seconds):
        deadline = time.time() + seconds
        while time.time() < deadline:
            left = self.c.run("squeue", "-h", "-o", "%A %T %r %j")
            if left.returncode == 0 and not [line for line in left.stdout.splitlines() if not re.search("held|cron|true$", line)]:
                return
            time.sleep(0.1)

    # ---- afterwards ----

    def faults(self):
        c = self.c
        if self.fails:  # a node on which no launch succeeds is drained
            c.run("scontrol", "update", "NodeName=n[1-2]", "State=RESUME")
        for line in c.out("squeue", "-h", "-o", "%A %T %r %j").splitlines():
            number, state, reason, name = line.split(None, 3)
            if (name in ("plain.sh", "held", "long.sh", "gone") and "Held" in reason) or reason == "JobHoldMaxRequeue":  # whose shepherd never came to life
                c.run("scontrol", "release", number)
        deadline = time.time() + SETTLE_S
        while time.time() < deadline and (left := [x for x in c.out("squeue", "-h", "-o", "%A %T %r %j").splitlines() if not x.endswith(" true")]):
            time.sleep(0.1)
        if left:
            yield f"never ends: {left}"
        for what, show, want in self.checks:
            got = c.run(*show)
            if not re.search(want, got.stdout.strip(), re.M):
                yield f"{what} was acknowledged and is not there: {got.stdout.strip()[:200]} {got.stderr.strip()[:200]}"
        rows = collections.defaultdict(list)
        for line in c.out("sacct", "-XnPa", "-j", ",".join(map(str, self.ids)), "-o", "jobidraw,state,jobid").splitlines():
            raw, state, shown = line.split("|")
            if state != "RESIZING":  # what it was before: a row of its own
                rows[re.match(r"\d+", shown).group()].append((raw, state))
        for job in self.ids:
            mine, done = rows[str(job)], self.touched[str(job)]
            raws = [raw for raw, _ in mine]
            if not mine or len(set(raws)) != len(raws):
                yield f"job {job} was acknowledged and stands in the accounting as {mine}"
            allowed = {"CANCELLED"} if "cancel" in done else {"COMPLETED"} | self.fails | ({"CANCELLED"} if done else set())
            yield from (f"job {raw} ended {state} ({sorted(done)})" for raw, state in mine if state.split()[0] not in allowed)
        if len(set(self.ids)) != len(self.ids):
            yield f"ids repeat: {self.ids}"
        yield from self.ran_once()
        yield from self.sums()
        yield from self.old_jobs()
        newest = c.out("sbatch", "--parsable", "-H", "--wrap", "true").strip()
        if not newest.isdigit() or any(int(newest) <= job for job in self.ids):
            yield f"the next id is {newest} after {self.ids}"

    def ran_once(self):
        for name in ("started", "ended", "told"):
            path = self.c.work / name
            lines = path.read_text().split("\n")[:-1] if path.exists() else []
            yield from (f"{name} {n} times: job and run {line}" for line, n in collections.Counter(lines).items() if n > 1)

    def sums(self):
        """What sreport adds up in hours, days and months is what the rows say, to the second of each run."""
        runs = [line.split("|") for line in self.c.out("sacct", "-D", "-XnPa", "-S", "1970-01-01", "-o", "elapsedraw,alloccpus").splitlines()]
        told = self.c.out("sreport", "-t", "seconds", "-nP", "cluster", "AccountUtilizationByUser", "start=2024-01-01", "end=2040-01-01", "accounts=root",
                          "format=account,login,used").splitlines()
        want = sum(int(seconds) * int(cpus) for seconds, cpus in runs)
        got = sum(int(line.split("|")[2]) for line in told if line.startswith("root|root|"))
        if abs(want - got) > sum(int(cpus) for _, cpus in runs):
            yield f"sreport says {got} s where the rows say {want} s: {told}"

    def old_jobs(self):
        """In the store, or in a file that is whole."""
        c = self.c
        for file in sorted((c.state / "archive").glob("*_archive_*")):
            done = c.run("sacctmgr", "-i", "archive", "load", f"file={file}")
            if done.returncode != 0:
                yield f"{file.name} cannot be loaded: {(done.stdout + done.stderr).strip()[:300]}"
        old = c.out("sacct", "-XnPa", "-S", "2024-01-01", "-E", "2024-06-01", "-o", "jobid,state").split()
        if sorted(old) != sorted(f"1_{i}|COMPLETED" for i in range(1, OLD_JOBS + 1)):
            yield f"old jobs: {len(old)} of {OLD_JOBS} are there: {old}"


def stage_of(stage, role, base):
    """A stage whose shepherd heeds LD_PRELOAD, where the role is its: the one that people run is static. `base` gets it."""
    if role != "remuda-shepherd":
        return stage
    stage = pathlib.Path(stage or pathlib.Path(shutil.which("remudad")).resolve().parent)
    shared = stage / "remuda-shepherd-shared"
    if not shared.exists():
        sys.exit(f"{shared} is not there: a build with -Dtests=true has it, and tools/stage puts it there")
    subprocess.run(["cp", "-a", f"{stage}/.", base / "stage"], check=True)
    shutil.copy2(shared, base / "stage" / "remuda-shepherd")
    return str(base / "stage")


def keep_up(cluster, over, process, daemon):
    """Starts the daemon again when it has ended."""
    while not over.wait(0.05):
        if cluster.run("remuda", "status", "--pid", daemon, timeout=10).returncode != 0:
            began = time.time()
            done = cluster.up()
            if done.returncode != 0 and not over.is_set():
                process.append(f"{time.time() - began:.1f} s: " + (done.stdout + done.stderr).strip()[:300])


def after_down(cluster):
    for _ in range(50):
        left = [p for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and str(cluster.state) in cmdline(p)]
        if not left:
            break
        time.sleep(0.1)
    yield from (f"left: {p.name} {cmdline(p)[:200]}" for p in left)
    yield from (f"left: {p}" for p in (cluster.state / "nodes").glob("*/steps/*") if not p.name.startswith(".s"))
    # what was begun and not ended
    yield from (f"left: {p}" for p in cluster.state.rglob("*.new") if p.is_file() and p.name not in REPLACES)
    db = sqlite3.connect(f"file:{cluster.state}/remuda.db?mode=ro", uri=True)
    said = [row[0] for row in db.execute("PRAGMA integrity_check")]
    db.close()
    if said != ["ok"]:
        yield f"the store: {said[:3]}"
    for path in (cluster.state / "log").iterdir():
        yield from (f"{path.name}: {line}" for line in path.read_text(errors="replace").splitlines()
                    if re.search(r"check failed|assert|violat|cannot happen|is ended by SIG", line, re.I))


def cmdline(process):
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def life(options, seed_dir, mode, at):
    """One life; returns its faults, the calls that were counted, and what commands said that went wrong."""
    base = pathlib.Path(tempfile.mkdtemp(prefix=f"{mode}-{at}-", dir=options.base))
    subprocess.run(["cp", "-a", f"{seed_dir}/.", base], check=True)
    cluster = Cluster(base, options.stage)
    (base / "saved").mkdir()
    word, times = MODES.get(mode, ("none", 1))
    log = base / "calls"
    fails = dict(LD_PRELOAD=str(options.library), WRITES_ROLE=options.role, WRITES_UNDER=str(cluster.state), WRITES_LOG=str(log), WRITES_AT=str(at),
                 WRITES_FOR=str(times), WRITES_MODE=word, WRITES_SAVED=str(base / "saved"))
    of_controller = options.role == "controller"
    cluster.run("remudad", "controller", "--state", str(cluster.state), **(fails if of_controller else {}))
    over, ups, mine = threading.Event(), [], Life(cluster, options.role)
    cluster.up(**({} if of_controller else fails))
    watch = threading.Thread(target=keep_up, args=(cluster, over, ups, "controller" if of_controller else "node[n1]"))
    watch.start()
    try:
        mine.live()
        over.set()
        watch.join()
        cluster.run("remuda", "down")
        again = cluster.up()
        faults = [f"up: {again.stderr.strip()[:300]}"] if again.returncode else []
        faults += [f"up: {said}" for said in ups]
        faults += list(mine.faults())
    finally:
        over.set()
        watch.join()
        cluster.run("scancel", "-u", "root")
        cluster.run("remuda", "down")
    faults += list(after_down(cluster))
    calls = log.read_text().splitlines() if log.exists() else []
    if not faults and not options.keep:
        shutil.rmtree(base, ignore_errors=True)
    elif faults:
        faults.append(f"kept: {base}; refused: {mine.said}; the call: {[x for x in calls if x.startswith(f'{at} ')]}")
    return faults, calls, mine.said


def worth(calls):
    """Numbers of calls at which it makes a difference: of a row of writes to the store's log the first and the last; nothing of its shared memory, nor of the log for people."""
    kept, kinds = [], [re.sub(r"^\d+ ", "", call) for call in calls]
    for i, kind in enumerate(kinds):
        if "-shm" in kind or kind.endswith(".log"):
            continue
        if kind.startswith("pwrite") and 0 < i < len(kinds) - 1 and kinds[i - 1] == kind == kinds[i + 1]:
            continue
        kept.append(i + 1)
    return kept


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stage")
    p.add_argument("--role", default="controller", help="whose calls: controller, node, remuda-shepherd")
    p.add_argument("--modes", default=",".join(MODES))
    p.add_argument("--lives", type=int, default=int(os.environ.get("REMUDA_WRITES", 20)), help="of each mode, spread over all calls; 0 = at every call")
    p.add_argument("--at", type=int, help="at this call alone")
    p.add_argument("--jobs", type=int, default=2, help="lives at a time")
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    p.add_argument("--keep", action="store_true")
    o = p.parse_args()
    o.base = pathlib.Path(tempfile.mkdtemp(prefix="remuda-writes-"))
    o.library = o.base / "writes_fail.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", o.library, HERE / "writes_fail.c"], check=True)
    o.stage = stage_of(o.stage, o.role, o.base)
    seeded(o.base / "seed", o.stage)
    rng, bad, n = random.Random(o.seed), 0, 0
    faults, calls, said = life(o, o.base / "seed", "none", 0)
    points = worth(calls)
    print(f"# {len(calls)} calls, {len(points)} of them worth a life; seed {o.seed}", flush=True)
    n, bad = report(n, bad, "a life in which nothing fails", faults + said + ([] if calls else ["it made no call that could fail"]))
    for mode in o.modes.split(","):
        began = time.time()
        if o.at:
            chosen = [o.at]
        elif o.lives == 0 or o.lives >= len(points):
            chosen = points
        else:
            step = len(points) / o.lives
            chosen = sorted({points[int((i + rng.random()) * step)] for i in range(o.lives)})
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            done = list(pool.map(lambda at: (at, life(o, o.base / "seed", mode, at)[0]), chosen))
        faults = [f"at {at}: {one}" for at, found in done for one in found]
        n, bad = report(n, bad, f"{mode}: {len(chosen)} lives, {time.time() - began:.0f} s", faults)
    print(f"1..{n}")
    if bad:
        print(f"# kept: {o.base}")
    elif not o.keep:
        shutil.rmtree(o.base, ignore_errors=True)
    sys.exit(1 if bad else 0)


def report(n, bad, what, faults):
    print(f"{'not ok' if faults else 'ok'} {n + 1} - {what}", flush=True)
    for one in faults[:40]:
        print(f"#   {one}", flush=True)
    return n + 1, bad + bool(faults)


if __name__ == "__main__":
    main()
