"""What tools that read the command line make of each kind of job at each of its ends: they are typed and parsed here as their sources do (../shared/spec/clients.md, section 2). A job is
live, well over or badly over; a tool that sees something else loses it, waits for ever or reports a result that is not there. Prints a line for each that differs, and how many were seen.

Usage: ends.py, beside a cluster with the partitions low (PreemptMode=CANCEL), back (REQUEUE) and high (PriorityTier=9) and nodes n1 to n4 of 4 CPUs."""
import json
import pathlib
import re
import subprocess
import sys
import time

LIVE, WELL, BAD = "live", "well", "bad"
KINDS = ("plain", "element", "het", "requeued")
# What the script does, further options, what is done to it once it runs (or at once), and as what it stands then.
SLEEP = "sleep 600"
ENDS = {
    "runs": (SLEEP, "", "", LIVE),
    "held": (SLEEP, "-H", None, LIVE),
    "never": (SLEEP, "-d afterok:$BAD", None, LIVE),
    "suspended": (SLEEP, "", "scontrol suspend $J", LIVE),
    "stopped": (SLEEP, "", "scancel -f -s STOP $J", LIVE),
    "sent back": (SLEEP, "", "scontrol requeuehold $J", LIVE),
    "special exit": (SLEEP, "", "scontrol requeuehold State=SpecialExit $J", LIVE),
    "preempted, back": (SLEEP, "-p back -w n3", "sbatch -Q -H -o /dev/null -p high -w n3 --exclusive --wrap 'sleep 600'", LIVE),
    "completes": ("true", "", None, WELL),
    "fails": ("exit 3", "", None, BAD),
    "exit 255": ("exit 255", "", None, BAD),
    "killed": ("kill -KILL $$", "", None, BAD),
    "task fails": ("srun -Q sh -c 'exit 7'", "", None, BAD),
    "out of memory": ("srun -Q --mem=20 python3 -c 'x = bytearray(200 << 20); import time; time.sleep(60)'", "--mem=40", None, BAD),
    "time limit": (SLEEP, "-t 0:03", None, BAD),
    "cancelled": (SLEEP, "", "scancel $J", BAD),
    "cancelled while it waits": (SLEEP, "-H", "scancel $J", BAD),
    "preempted": (SLEEP, "-p low -w n4", "sbatch -Q -H -o /dev/null -p high -w n4 --exclusive --wrap 'sleep 600'", BAD),
    "node fails": (SLEEP, "--no-requeue -w n2", "scontrol update nodename=n2 state=down reason=test", BAD),
    "deadline": (SLEEP, "-H -t 1 --deadline=now+63", None, BAD),
}


def said(line, check=True):
    done = subprocess.run(line, shell=True, text=True, capture_output=True, executable="/bin/bash")
    if check and done.stderr.strip():
        raise SystemExit(f"{line}: {done.stderr}")
    return done


# ---- what the tools read: the state of job `j` (as they name it; `raw` is its own number), or None where they see none ----

DONE_NOT = {"READY", "PENDING", "RUNNING", "UNKNOWN", "REQUEUED", "COMPLETING", "PREEMPTED"}


def submitit(j, raw):
    lines = said(f"sacct -o JobID,State,NodeList --parsable2 -j {j}").stdout.splitlines()
    rows = dict(line.split("|")[:2] for line in lines[1:] if "." not in line.split("|")[0])
    seen = {}
    for name, state in rows.items():
        match = re.fullmatch(r"(\d+)_\[(\d+)(?:-(\d+))?(?:%\d+)?\]", name)
        for i in range(int(match[2]), int(match[3] or match[2]) + 1) if match else ():
            seen[f"{match[1]}_{i}"] = state
        seen[name] = state
    state = (seen.get(j) or seen.get(f"{j}+0") or "UNKNOWN").split()[0]
    return LIVE if state in DONE_NOT else WELL if state == "COMPLETED" else BAD


def snakemake(j, raw):
    out = said(f"sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime now-1hour --endtime now -j {j}").stdout
    words = [line.split("|")[1].split()[0] for line in out.splitlines() if line.split("|")[0] == raw]
    fail = ("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "ERROR", "PREEMPTED")
    return BAD if words and words[-1] in fail else WELL if words == ["COMPLETED"] else LIVE if words else None


def snakemake7(j, raw):
    state = re.search(r"JobState=(\w+)", said(f"scontrol show jobid -dd {raw}").stdout)[1]
    fail = ("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "ERROR")
    return BAD if state in fail else WELL if state == "COMPLETED" else LIVE


SHORT = {"PD": LIVE, "R": LIVE, "CF": LIVE, "CG": LIVE, "S": LIVE, "ST": LIVE, "SE": LIVE, "CD": WELL, "CA": BAD, "F": BAD, "TO": BAD, "NF": BAD, "PR": BAD, "BF": BAD, "OOM": BAD, "DL": BAD}


def nextflow(j, raw):
    """An element has the name of its array and its index; of a whole array that waits, the bracket."""
    out = said("squeue --noheader -o '%i %t' -t all -u $(id -un)").stdout
    rows = dict(line.split() for line in out.splitlines())
    assert all(len(line.split()) == 2 for line in out.splitlines())
    array = [state for name, state in rows.items() if "_[" in name and name.split("_")[0] == j.split("_")[0]]
    return SHORT.get(rows.get(j) or rows.get(f"{j}+0") or (array or [None])[0])


def parsl(j, raw):
    rows = [line.split()[:2] for line in said(f"sacct -X --noheader --format=jobid,state%20 --job '{raw}'").stdout.splitlines()]
    word = {"PENDING": LIVE, "CONFIGURING": LIVE, "RUNNING": LIVE, "COMPLETING": LIVE, "SUSPENDED": LIVE, "REQUEUED": LIVE, "COMPLETED": WELL}
    return word.get(rows[0][1], BAD) if rows else None


def ood(j, raw):
    out = said(f"squeue --all --states=all --noconvert -O 'JobID:\x1f,JobArrayID:\x1f,StateCompact:\x1f,Reason:\x1f' -j {j}").stdout
    rows = [line.split("\x1f") for line in out.splitlines()[1:]]
    states = [r[2] for r in rows if r[0] == raw]
    assert all(len(r) == 5 for r in rows)
    return SHORT.get(states[0]) if states else None


def batchspawner(j, raw):
    out = said(f"squeue -h -j {raw} -o '%T %B'", check=False).stdout
    if re.match(r"^(PENDING|CONFIGURING)", out, re.M):
        return LIVE
    return LIVE if re.search(r"^(RUNNING|COMPLETING)", out) and re.search(r"\s+((?:[\w_-]+\.?)+)$", out.strip()) else "gone"


def torchx(j, raw):
    out = said(f"sacct --parsable2 -j {raw}").stdout.splitlines()
    head = out[0].split("|")
    rows = [dict(zip(head, line.split("|"))) for line in out[1:]]
    states = [r["State"].split()[0] for r in rows if "." not in r["JobID"]]
    ok = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED")
    return (LIVE if states[0] in ok else WELL if states[0] == "COMPLETED" else BAD) if states else None


def nemo(j, raw):
    words = said(f"sacct -j {raw} --format=State --noheader --parsable2").stdout.splitlines()
    known = {"BOOT_FAIL": BAD, "CANCELLED": BAD, "COMPLETED": WELL, "DEADLINE": BAD, "FAILED": BAD, "NODE_FAIL": BAD, "OUT_OF_MEMORY": BAD, "PENDING": LIVE, "PREEMPTED": BAD,
             "RUNNING": LIVE, "REQUEUED": LIVE, "RESIZING": LIVE, "REVOKED": BAD, "SUSPENDED": LIVE, "TIMEOUT": BAD}
    return next((state for name, state in known.items() if words[0].startswith(name)), None) if words else None


def reframe(j, raw):
    out = said(f"SLURM_TIME_FORMAT=%s sacct -S $(date +%Y-%m-%d) -P -j {raw} -o jobid,state,exitcode,end,nodelist").stdout
    pattern = r"^(?P<jobid>[\d_+\[\]%,-]+)\|(?P<state>\S+)([^\|]*)\|(?P<exitcode>\d+):(?P<signal>\d+)\|(?P<end>\S+)\|(?P<nodespec>.*)"
    found = [m for m in map(lambda line: re.match(pattern, line), out.splitlines()) if m]
    over = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "CONFIGURING", "COMPLETING", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}
    if not found:
        return None
    state = found[0]["state"]
    assert state not in over or found[0]["end"].isdigit(), out
    return LIVE if state not in over else WELL if state == "COMPLETED" else BAD


def toil(j, raw):
    rows = [line.split("|") for line in said(f"sacct -n -j {raw} --format JobIDRaw,State,ExitCode -P -S 1970-01-01").stdout.splitlines()]
    for own, state, code in rows:
        if own == raw:
            status, signal = map(int, code.split(":"))
            if state.split()[0] in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "RESIZING", "SUSPENDED", "REQUEUED"):
                return LIVE
            return WELL if state == "COMPLETED" and not status and not signal else BAD
    return None


def aiida(j, raw):
    out = said(f"SLURM_TIME_FORMAT=standard squeue --noheader -o '%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V' --jobs={raw},{raw}").stdout
    rows = [line.split("^^^") for line in out.splitlines()]
    assert all(len(r) == 14 for r in rows), out
    return SHORT.get(rows[0][1]) if rows else "gone"


def psij(j, raw):
    rows = [line.split() for line in said("squeue -O JobArrayID,StateCompact,Reason -t all --me").stdout.splitlines()[1:]]
    assert all(len(r) >= 3 for r in rows), rows
    mine = [r[1] for r in rows if r[0] in (j, f"{j}+0")] or [r[1] for r in rows if "_[" in r[0] and r[0].split("_")[0] == j.split("_")[0]]
    return SHORT.get(mine[0]) if mine else None


def json_of(j, raw):
    jobs = [x for x in json.loads(said(f"squeue --json -t all -j {raw}").stdout)["jobs"] if str(x["job_id"]) == raw]
    words = {"PENDING": LIVE, "RUNNING": LIVE, "SUSPENDED": LIVE, "COMPLETING": LIVE, "SPECIAL_EXIT": LIVE, "COMPLETED": WELL}
    return words.get(jobs[0]["job_state"][0], BAD) if jobs else None


TOOLS = (submitit, snakemake, snakemake7, nextflow, parsl, ood, batchspawner, torchx, nemo, reframe, toil, aiida, psij, json_of)
# What a tool makes of a state by its own doing, beside Slurm, too.
OWN = {("submitit", "preempted"): LIVE, ("submitit", "suspended"): BAD, ("batchspawner", "suspended"): "gone", ("batchspawner", "stopped"): "gone", ("batchspawner", "special exit"): "gone"}


def submit(kind, end, bad):
    script, options, _, _ = ENDS[end]
    body = script if kind != "requeued" else f'[ -n "$SLURM_RESTART_COUNT" ] || sleep 600\n{script}'
    pathlib.Path("job.sh").write_text(f"#!/bin/sh\n{body}\n")
    shape = {"element": "-a 0-1", "het": "-n1 : -n1"}.get(kind, "-n1")
    options = options.replace("$BAD", bad)
    if kind == "het":
        node = re.findall(r"-[wp] \S+", options)
        shape = f"-n1 : -n1 --mem=10 {' '.join(node)}"
    back = "" if "--no-requeue" in options and kind != "requeued" else "--requeue"
    mem = "" if "--mem" in options else "--mem=10"
    return said(f"sbatch --parsable -o /dev/null {options} {back} {mem} {shape} job.sh").stdout.strip()


def until(true, what):
    for _ in range(300):
        if true():
            return
        time.sleep(0.2)
    raise SystemExit(f"never: {what}\n{said('squeue -t all').stdout}")


def state(j):
    return said(f"squeue -h -t all -j {j} -o %T", check=False).stdout.split("\n")[0]


def settled(j, expected):
    word = state(j)
    over = word in ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL")
    return over == (expected != LIVE) and word not in ("COMPLETING", "REQUEUED")


def product(kind, end, bad):
    _, options, act, expected = ENDS[end]
    job = submit(kind, end, bad)
    j = f"{job}_0" if kind == "element" else job  # the last one has the number of the array
    if kind == "requeued" and "-H" not in options and "-d" not in options:
        until(lambda: state(j) == "RUNNING", f"{kind} {end} runs at first")
        said(f"scontrol requeue {j}")
    if act is not None and "-H" not in options:
        until(lambda: state(j) == "RUNNING" and (kind != "requeued" or "Restarts=1" in said(f"scontrol show job {j}").stdout), f"{kind} {end} runs")
    if act:
        high = said(act.replace("$J", j)).stdout
        if "high" in act:
            said("scontrol release $(squeue -h -p high -t PD -o %i)")
    until(lambda: settled(j, expected), f"{kind} {end}: {expected}")
    raw = said(f"squeue -h -t all -j {j} -o %A").stdout.split("\n")[0]
    differ = []
    for tool in TOOLS:
        want = OWN.get((tool.__name__, end), expected)
        seen = tool(j, raw)
        if seen != want and not (seen == "gone" and want != LIVE):
            differ.append(f"{kind}, {end}: {tool.__name__} sees {seen}, it is {want}")
    said(f"scancel {job}")
    if "high" in (act or ""):
        said("scancel -p high -u $(id -un)")
    if end == "node fails":
        said("scontrol update nodename=n2 state=resume")
    until(lambda: not said("squeue -h").stdout, "nothing is left")
    return differ


def main():
    bad = said("sbatch --parsable -o /dev/null --wrap false").stdout.strip()
    until(lambda: state(bad) == "FAILED", "the first fails")
    seen, differ = 0, []
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    for end in ENDS:
        for kind in KINDS:
            if kind == "requeued" and end in ("held", "never", "deadline", "cancelled while it waits", "node fails"):
                continue
            if kind == "element" and end == "cancelled while it waits":  # it has a row in sacct alone
                continue
            if only not in f"{kind}, {end}":
                continue
            differ += product(kind, end, bad)
            seen += len(TOOLS)
    print("\n".join(differ + [f"seen {seen}, differ {len(differ)}"]))


if __name__ == "__main__":
    main()
