#!/usr/bin/env python3
"""Clients of LSF: `dialect_lsf.py CLIENT`, in a directory to work in, beside a cluster."""
import json
import os
import re

from dialect_clients import main, read, run, same, until, write

ME = os.popen("id -un").read().strip()


# ---- nextflow: the script on standard input with its options in it, bjobs -w for the state of all, bkill ----
def nextflow():
    def submit(more, body):
        write(".command.run", f"#!/bin/bash\n{more}\n{body}\n")
        return re.search(r"Job <(\d+)> is submitted", run("bsub", stdin=read(".command.run"))).group(1)

    def queue():
        lines = run("bjobs -w -q hpc").splitlines()
        if not lines:
            return {}
        words = lines[0].split()
        jobid, stat, name = words.index("JOBID"), words.index("STAT"), words.index("JOB_NAME")
        found = {}
        for line in lines[1:]:
            cells = line.split()
            index = re.search(r"\[\d+\]$", cells[name])
            found[cells[jobid] + (index.group(0) if index else "")] = cells[stat]
        return found

    def state(job):
        return queue().get(job)

    one = submit(f"#BSUB -o {os.getcwd()}/.command.log\n#BSUB -q hpc\n#BSUB -n 2\n#BSUB -R \"span[hosts=1]\"\n#BSUB -W 01:30\n#BSUB -M 512MB\n"
                 "#BSUB -R \"select[mem>=1024MB] rusage[mem=1024MB]\"\n#BSUB -J nf-hello_(1)", "sleep 600")
    until(state, "RUN", one)
    same(run(f"squeue -h -j {one} -o '%C %l %D'").split(), ["2", "1:30:00", "1"])
    many = submit("#BSUB -o /dev/null\n#BSUB -q hpc\n#BSUB -J \"nf-many[1-3]\"", "[ $LSB_JOBINDEX = 2 ] && sleep 600; exit 0")
    until(state, None, many + "[1]")
    until(state, "RUN", many + "[2]")
    run(f"bkill -d {one} '{many}[2]'")
    until(state, None, one)
    until(state, None, many + "[2]")


# ---- snakemake: the profile looks at the state word, and at the report where there is none ----
def snakemake():
    def submit(script):
        name = f"job-{script.split()[0]}.sh"
        write(name, f"#!/bin/sh\n{script}\n")
        os.chmod(name, 0o755)
        out = run("bsub -M 1000 -n 2 -R 'select[mem>1000] rusage[mem=1000] span[hosts=1]' -o sm_%J.out -e sm_%J.err -J rule.sample=1 -q hpc -P proj ./" + name)
        return re.search(r"Job <(\d+)> is submitted", out).group(1)

    def state(job):
        return run(f"bjobs -o 'stat' -noheader {job}").strip()

    def from_report(job):
        lines = read(f"sm_{job}.out").splitlines() if os.path.exists(f"sm_{job}.out") else []
        at = [i for i, line in enumerate(lines) if line == "Resource usage summary:"]
        said = lines[at[-1] - 2] if at else ""
        return "success" if said == "Successfully completed." else "failed" if said.startswith("Exited with exit code") else "none"

    good, bad, long = submit("echo out"), submit("exit 4"), submit("sleep 600")
    until(state, "DONE", good)
    until(state, "EXIT", bad)
    until(from_report, "success", good)
    until(from_report, "failed", bad)
    until(state, "RUN", long)
    run(f"bkill {long}")
    until(state, "EXIT", long)
    run(f"bkill -r {long}", fails=True)


# ---- snakemake-executor-plugin-lsf: settings first, then all its jobs by a name with stars ----
def snakemake_plugin():
    settings = dict(line.strip().split(" = ") for line in run("badmin showconf mbd").strip().split("\n")[1:])
    assert settings["LSF_UNIT_FOR_LIMITS"] == "KB" and os.path.isdir(settings["LSB_SHAREDIR"])
    cluster = run("lsclusters -w").split("\n")[1].split()[0]
    same(cluster, "clients")
    assert os.path.isfile(f"{settings['LSF_CONFDIR']}/lsbatch/{cluster}/configdir/lsb.params")
    tag = "5f0c-uuid"

    def submit(command):
        out = run(f"bsub -J 'Snakemake_rule___({tag})' -o {os.getcwd()}/sp.log -e {os.getcwd()}/sp.log -env all -P proj -q hpc -W 10 -n 1 -R rusage[mem=100] "
                  f"-R span[hosts=1] -cwd {os.getcwd()} \"{command}\"")
        return re.search(r"Job <(\d+)>", out).group(1)

    def states():
        return dict(line.split() for line in run(f"bjobs -noheader -o 'jobid stat' -aJ '*{tag}*'").splitlines())

    def state(job):
        return states().get(job)

    assert "Project <proj>" in (submit("true") and run("bhist -l -a -UF"))
    good, bad, long = submit("true"), submit("exit 3"), submit("sleep 600")
    until(state, "DONE", good)
    until(state, "EXIT", bad)
    until(state, "RUN", long)
    run(f"bkill {long}")
    until(state, "EXIT", long)


# ---- parsl: word 2 of the line that begins with "job", then pairs of id and state; what is missing has ended ----
def parsl():
    def submit(body):
        write("parsl.submit", f"#!/bin/bash\n#BSUB -W 10\n#BSUB -J parsl.block-0\n#BSUB -o parsl.%J.out\n#BSUB -e parsl.%J.err\n#BSUB -q hpc\n#BSUB -P proj\n"
                              f"#BSUB -n 2\n#BSUB -R \"span[ptile=2]\"\n{body}\n")
        for line in run("bsub < parsl.submit").splitlines():
            if line.lower().startswith("job") and "is submitted to" in line:
                return line.split()[1].strip("<>")

    def state(*jobs):
        lines = run(f"bjobs -noheader -o 'jobid stat' {' '.join(jobs)}").splitlines()
        seen = dict(line.split() for line in lines)
        return tuple(seen.get(job, "COMPLETED") for job in jobs)

    one, two = submit("sleep 600"), submit("true")
    until(state, {("RUN", "DONE")}, one, two)
    same(state("987654"), ("COMPLETED",))
    run(f"bkill {one}")
    until(state, {("EXIT",)}, one)


# ---- dask-jobqueue: the first digits of what bsub prints; the script is gone at once ----
def dask():
    os.makedirs("logs", exist_ok=True)
    write("dask.sh", "#!/usr/bin/env bash\n\n#BSUB -J dask-worker\n#BSUB -e logs/dask-worker-%J.err\n#BSUB -o logs/dask-worker-%J.out\n#BSUB -q hpc\n#BSUB -P \"proj\"\n"
                     "#BSUB -n 2\n#BSUB -R \"span[hosts=1]\"\n#BSUB -M 1000000\n#BSUB -W 00:30\nJOB_ID=${LSB_JOBID%.*}\n\necho $JOB_ID; sleep 600\n")
    job = re.search(r"\d+", run("bsub< dask.sh 2> /dev/null")).group(0)
    os.remove("dask.sh")

    def begun():
        return os.path.exists(f"logs/dask-worker-{job}.out") and read(f"logs/dask-worker-{job}.out").startswith(job)

    until(begun, True)
    run(f"bkill {job}")


# ---- Open OnDemand: the script on standard input, 15 headings of which JOB_NAME may hold blanks, stop and resume ----
def ondemand():
    headings = ["JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME", "SUBMIT_TIME", "PROJ_NAME", "CPU_USED", "MEM", "SWAP", "PIDS",
                "START_TIME", "FINISH_TIME"]

    def jobs(line):
        lines = run(line).splitlines()
        if not lines:
            return {}
        same(lines[0].split(), headings)
        found = {}
        for line in lines[1:]:
            cells = line.split()
            cells[6:len(cells) - 8] = [" ".join(cells[6:len(cells) - 8])]
            same(len(cells), 15)
            found[cells[0]] = dict(zip(headings, cells))
        return found

    def state(job):
        return jobs(f"bjobs -a -w -W {job}").get(job, {}).get("STAT")

    options = f"-P proj -cwd {os.getcwd()} -J 'a name' -q hpc -W 30 -L /bin/bash -n 2 -env all,COLOUR -o ood.out -e ood.err -B -N -u {ME} -sp 50 -rn"
    out = run(f"bsub {options}", stdin="#!/bin/bash\necho $COLOUR\nsleep 600\n", env={"COLOUR": "green"})
    job = re.search(r"Job <(.*)> ", out).group(1)
    until(state, "RUN", job)
    seen = jobs(f"bjobs -u {ME} -a -w -W")[job]
    same((seen["JOB_NAME"], seen["PROJ_NAME"], seen["EXEC_HOST"]), ("a name", "proj", "2*n1"))
    assert re.fullmatch(r"\d\d/\d\d-\d\d:\d\d:\d\d", seen["SUBMIT_TIME"]) and re.fullmatch(r"\d{3}:\d\d:\d\d\.\d\d", seen["CPU_USED"])
    until(lambda: os.path.exists("ood.out") and read("ood.out").startswith("green"), True)
    held = re.search(r"Job <(.*)> ", run("bsub -H -o /dev/null -J held", stdin="true\n")).group(1)
    same(state(held), "PSUSP")
    run(f"bresume {held}")
    until(state, "DONE", held)
    array = re.search(r"Job <(.*)> ", run("bsub -J 'arr[1-2]' -o /dev/null", stdin="sleep 600\n")).group(1)
    until(state, "RUN", array)
    run(f"bkill {array}")
    run(f"bkill {job}")
    until(state, "EXIT", job)


# ---- psij: JSON by id, all ids of a user, words of bkill's refusals ----
def psij():
    write("psij.job", "#!/bin/bash\n#BSUB -J job\n#BSUB -n 2\n#BSUB -gpu num=1/task\n#BSUB -M 200000KB\n#BSUB -W 10\n#BSUB -q hpc\n#BSUB -P proj\n#BSUB -env NAME=value\n"
                      "#BSUB -o /dev/null\nsleep 600\n")
    job = re.search(r"Job <([0-9]+)>", run("bsub psij.job", env={"LSB_BSUB_PARSE_SCRIPT": "Y"})).group(1)

    def record(*jobs):
        text = run(f'bjobs -o "JOBID STAT EXIT_REASON KILL_REASON SUSPEND_REASON" -json {" ".join(jobs)}')
        return {r["JOBID"]: r for r in json.loads(text)["RECORDS"]}

    def state():
        return record(job)[job].get("STAT")

    until(state, "RUN")
    assert "ERROR" in record(job, "987654")["987654"]
    assert job in run(f"bjobs -a -noheader -o jobid -u {ME}").split()
    run(f"bkill {job}")
    until(state, "EXIT")
    assert "TERM_OWNER" in record(job)[job]["EXIT_REASON"]
    run(f"bkill {job}", fails=True)
    assert "Job has already finished" in run.error
    run("bkill 987654", fails=True)
    assert "No matching job found" in run.error


# ---- ReFrame: a format of its own width, state and queue by position ----
def reframe():
    write("rfm.sh", "#!/bin/bash\n#BSUB -J \"rfm_hello\"\n#BSUB -o rfm.out\n#BSUB -e rfm.err\n#BSUB -nnodes 1\n#BSUB -R \"affinity[core(2)]\"\n#BSUB -n 2\n#BSUB -W 10\necho ran\n")
    job = re.search(r"^Job <(\S+)> is submitted", run("bsub < rfm.sh")).group(1)

    def state():
        words = run(f'bjobs -o "jobid: user:10 stat: queue:" -noheader {job}').split()
        same((words[0], words[3]), (job, "hpc"))
        return words[2]

    until(state, "DONE")
    until(lambda: os.path.exists("rfm.out") and os.path.exists("rfm.err") and "ran" in read("rfm.out"), True)
    same(run(f"squeue -h -t all -j {job} -o %c").strip() != "", True)


# ---- batchspawner: remarks behind options; word 2 of bsub, then state and host ----
def batchspawner():
    script = "#!/bin/sh\n#BSUB -R \"rusage[mem=500]\"  # memory\n#BSUB -q hpc          # queue\n#BSUB -J spawner       # name\n#BSUB -o sp.%J.log\nsleep 600\n"
    job = run("bsub", stdin=script).split()[1].strip("<>")

    def state():
        words = run(f'bjobs -a -noheader -o "STAT EXEC_HOST" {job}').split()
        return (words[0], words[1].split(":")[0])

    until(state, {("RUN", "n1")})
    run(f"bkill {job}")
    until(lambda: state()[0], "EXIT")


# ---- aiida: columns by name with a delimiter, dates, ids or a user's ----
def aiida():
    write("_aiidasubmit.sh", "#!/bin/bash\n#BSUB -rn\n#BSUB -J aiida-1\n#BSUB -o _scheduler-stdout.txt\n#BSUB -e _scheduler-stderr.txt\n#BSUB -q hpc\n#BSUB -n 2\n#BSUB -W 00:30\n"
                             "#BSUB -M 900000\nsleep 600\n")
    job = re.search(r"Job <(\d+)>", run("bsub < _aiidasubmit.sh")).group(1)
    fields = "id stat exit_reason exec_host user slots max_req_proc exec_host queue finish_time start_time %complete submit_time name"

    def rows(which):
        return {cells[0]: cells for cells in (line.split("|") for line in run(f"bjobs -noheader -o '{fields} delimiter=\"|\"' {which}").splitlines())}

    def state():
        return rows(job)[job][1]

    until(state, "RUN")
    cells = rows(f"-u{ME}")[job]
    same((len(cells), cells[3], cells[4], cells[5], cells[8], cells[13]), (14, "2*n1", ME, "2", "hpc", "aiida-1"))
    for date in (cells[9], cells[10], cells[12]):
        assert re.fullmatch(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d( [LEX])?", date), date
    run(f"bkill {job}")
    until(state, "EXIT")


# ---- torchx: hosts that others wait for, GPUs of hosts, exit code 130 of what was cancelled ----
def torchx():
    first = re.search(r"Job <(\d+)>", run('bsub -P app -J head -o /dev/null -q hpc -n 1 -R "span[hosts=1] rusage[mem=1GB]" -gpu "num=1" << EOF\nsleep 600\nEOF')).group(1)
    second = re.search(r"Job <(\d+)>", run(f'bsub -P app -J tail -w "started(\\"head\\")" -R "select[hname!=\'n1\']" -cwd {os.getcwd()} -outdir {os.getcwd()} -oo tx.out -eo tx.err '
                                           '-q hpc -n 1 -R "span[hosts=1] rusage[mem=1GB]" -gpu "num=1" << EOF\nsleep 600\nEOF')).group(1)
    hosts = dict((line.split()[0], line.split()[2]) for line in run('bhosts -noheader -o "hname max ng"').splitlines())
    same(hosts, {"n1": "2", "n2": "2"})

    def rows():
        return {line.split()[1]: line.split() for line in run('bjobs -noheader -a -P app -o "proj name stat exit_code first_host"').splitlines()}

    until(lambda: rows()["tail"][2], "RUN")
    same(rows()["tail"][4], "n2")
    run(f"bkill {first} {second}")
    until(lambda: rows()["head"][2:4], ["EXIT", "130"])


# ---- what all of them meet: ids that are not there, jobs killed while they wait, elements that end differently ----
def ends():
    def submit(options, body="sleep 600"):
        return re.search(r"Job <(\d+)>", run(f"bsub -o /dev/null {options}", stdin=body + "\n")).group(1)

    # parsl and Open OnDemand take any status but 0 for a cluster that does not answer; PSI/J looks at the record
    for line in ("bjobs -noheader -o 'jobid stat' 987654", "bjobs -a -w -W 987654", "bjobs -o 'stat' -noheader 987654", "bjobs -noheader -o 'jobid stat' -aJ '*none*'",
                 "bjobs -w -q hpc", f"bjobs -a -noheader -o jobid -u {ME} -J nobody"):
        same((run(line), run.status), ("", 0))
        assert re.search(r"is not found|No .*job found", run.error), run.error
    same(json.loads(run("bjobs -o 'JOBID STAT' -json 987654"))["RECORDS"][0]["ERROR"], "Job <987654> is not found")
    run("bsub -q nosuch -o /dev/null true", fails=True)
    same((run.status, run.error.splitlines()[0]), (255, "nosuch: No such queue. Job not submitted."))

    waits = submit("-H -J waits")
    same(run(f'bjobs -a -noheader -o "STAT EXEC_HOST" {waits}').split(), ["PSUSP", "-"])  # batchspawner
    same(json.loads(run(f"bjobs -o 'STAT EXIT_REASON' -json {waits}"))["RECORDS"][0], {"STAT": "PSUSP", "EXIT_REASON": ""})
    run(f"bkill {waits}")
    until(lambda: run(f"bjobs -o 'stat exit_code' -noheader {waits}").split(), ["EXIT", "130"])
    assert "TERM_OWNER" in json.loads(run(f'bjobs -o "EXIT_REASON" -json {waits}'))["RECORDS"][0]["EXIT_REASON"]
    same(run(f"bjobs -w {waits}").split()[8:12:2], [waits, "EXIT"])  # by its number what has ended shows without -a

    many = submit("-J 'm[1-3]'", 'case $LSB_JOBINDEX in 1) exit 0;; 2) exit 7;; 3) sleep 600;; esac')
    states = lambda: {int(i): (s, c) for i, s, c in (line.split() for line in run(f"bjobs -a -noheader -o 'jobindex stat exit_code' {many}").splitlines())}
    until(states, {1: ("DONE", "-"), 2: ("EXIT", "7"), 3: ("RUN", "-")})
    same(run(f"bjobs -noheader -o stat '{many}[2]'").strip(), "EXIT")
    run(f"bkill '{many}[3]'")
    until(states, {1: ("DONE", "-"), 2: ("EXIT", "7"), 3: ("EXIT", "130")})
    run(f"bkill {many}", fails=True)
    assert "Job has already finished" in run.error, run.error


if __name__ == "__main__":
    main(globals())
