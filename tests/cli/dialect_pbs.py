#!/usr/bin/env python3
"""Clients of PBS Pro and Torque: `dialect_pbs.py CLIENT`, in a directory to work in, beside a cluster."""
import json
import os
import re
import xml.etree.ElementTree

from dialect_clients import main, read, run, same, until, write

ME = os.popen("id -un").read().strip()


def records(text):
    """As PBS' own users read qstat -f: lines that begin with a tab belong to the one before; a blank line ends a job."""
    jobs, job = {}, None
    for line in text.replace("\n\t", "").splitlines():
        if line.startswith("Job Id:"):
            job = jobs[line.split(":", 1)[1].strip()] = {}
        elif " = " in line:
            name, value = line.strip().split(" = ", 1)
            job[name] = value
    return jobs


# ---- nextflow: one line from qsub, `qstat -f -1`; of PBS Pro for the server that qstat -B names ----
def nextflow_pro():
    def submit(more, options, body):
        write(".command.run", f"#!/bin/bash\n{more}\n{body}\n")
        out = run(f"qsub -N nf-hello {options} .command.run")
        same(out.count("\n"), 1)
        return out.strip()

    def state(job):
        text = run("bash -c \"set -o pipefail; qstat -f $( qstat -B -f | awk '/Server: / { print $2 }' | sed 's/^/@/' )\"")
        found, at = {}, None
        for line in text.splitlines():
            if line.startswith("Job Id:"):
                at = line.split(":", 1)[1].strip()
            elif re.match(r"\s*job_state =", line):
                found[at] = line.split("=")[1].strip()
        return found.get(job)

    one = submit(f"#PBS -o {os.getcwd()}/.command.log\n#PBS -j oe\n#PBS -q workq\n#PBS -l select=1:ncpus=2:mem=512mb\n#PBS -l walltime=01:30:00\n#PBS -P proj", "",
                 "cd $PBS_O_WORKDIR; sleep 600")
    until(state, "R", one)
    same(run(f"squeue -h -j {one.split('.')[0]} -o '%C %l'").split(), ["2", "1:30:00"])
    many = submit("#PBS -o /dev/null\n#PBS -j oe\n#PBS -J 0-2", "", "[ $PBS_ARRAY_INDEX = 1 ] && sleep 600; exit 0")
    assert re.fullmatch(r"\d+\[\]\.clients", many)
    until(state, "B", many)
    run(f"qdel {one} {many.replace('[]', '[1]')}")
    until(state, None, one)
    until(state, None, many)


# ---- snakemake's plug-ins and PSI/J of PBS Pro: JSON with history ----
def psij_pro():
    write("psij.pbs", "#!/bin/bash\n#PBS -N=\"test\"\n#PBS -l select=2:ncpus=1:mpiprocs=1\n#PBS -l walltime=0:10:00\n#PBS -q workq\n#PBS -e /dev/null\n#PBS -o /dev/null\n"
                      "#PBS -v A=1\nexec sleep 600\n")
    job = run("qsub psij.pbs").strip().split()[-1]

    def report(*jobs):
        return json.loads(run(f"qstat -f -F json -x {' '.join(jobs)}"))["Jobs"]

    def state():
        return report(job)[job]["job_state"]

    until(state, "R")
    same(report(job)[job]["Job_Name"], "test")
    assert job in [line.split()[0] for line in run(f"qstat -u {ME}").splitlines()[3:] if line.split()]
    run(f"qdel {job}")
    until(state, "F")
    assert report(job)[job]["Exit_status"] in (265, 271)
    run("qstat -f -F json -x 987654", fails=True)
    run(f"qdel {job}", fails=True)
    assert "Job has finished" in run.error


# ---- parsl: qsub's line as it is; JSON with history, what is missing has ended ----
def parsl_pro():
    write("parsl.submit", f"#!/bin/bash\n\n#PBS -S /bin/bash\n#PBS -N parsl.block-0\n#PBS -m n\n#PBS -l walltime=00:10:00\n#PBS -l select=1:ncpus=2\n#PBS -o {os.getcwd()}/p.out\n"
                          f"#PBS -e {os.getcwd()}/p.err\nsleep 600\n")
    job = [line.strip() for line in run("qsub -q workq -A proj parsl.submit").split("\n") if line.strip()][0]

    def state():
        found = json.loads(run(f"qstat -x -f -F json {job}"))["Jobs"]
        return {key: value["job_state"] for key, value in found.items()}.get(job)

    until(state, "R")
    run(f"qdel {job}")
    until(state, "F")


# ---- dask-jobqueue: a size in GB in a chunk, files in directories, the script gone at once ----
def dask():
    os.makedirs("logs", exist_ok=True)
    write("dask.sh", "#!/usr/bin/env bash\n\n#PBS -N dask-worker\n#PBS -q workq\n#PBS -A proj\n#PBS -l select=1:ncpus=2:mem=1GB\n#PBS -l walltime=00:30:00\n#PBS -e logs/\n#PBS -o logs/\n"
                     "JOB_ID=${PBS_JOBID%%.*}\n\necho $JOB_ID; exit 0\n")
    job = re.search(r"\d+", run("qsub dask.sh")).group(0)
    os.remove("dask.sh")
    until(lambda: any(read(f"logs/{name}").startswith(job) for name in os.listdir("logs")), True)


# ---- Open OnDemand: the script on standard input, all jobs of qstat -f -t, holds, elements, nodes as JSON ----
def ondemand():
    def jobs(which=""):
        return records(run(f"qstat -f -t {which}"))

    def state(job):
        return jobs().get(job, {}).get("job_state")

    job = run(f"qsub -N 'ood' -S /bin/bash -o {os.getcwd()}/ood.out -j oe -q workq -A proj -l walltime=00:30:00 -l ncpus=2 -v COLOUR=green -m be -r n",
              stdin="#!/bin/bash\necho $COLOUR\nsleep 600\n").strip()
    until(state, "R", job)
    seen = jobs(job)[job]
    assert re.fullmatch(r"[\w-]+/0\*2", seen["exec_host"]) and seen["Resource_List.walltime"] == "00:30:00" and seen["Account_Name"] == "proj"
    assert re.fullmatch(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}", seen["ctime"])
    until(lambda: os.path.exists("ood.out") and read("ood.out").startswith("green"), True)
    held = run("qsub -h -N held", stdin="sleep 600\n").strip()
    same(state(held), "H")
    run(f"qrls {held}")
    until(state, "R", held)
    array = run("qsub -J 1-2 -N arr", stdin="sleep 600\n").strip()
    element = array.replace("[]", "[2]")
    until(state, "R", element)
    assert {job, held} <= set(run(f"qselect -u {ME}").split()) and element in run("qselect -T").split()
    nodes = json.loads(run("pbsnodes -aSj -F json"))["nodes"]
    same(sum(int(n["ncpus f/t"].split("/")[1]) for n in nodes.values()), 32)
    same(sum(int(n["ncpus f/t"].split("/")[0]) for n in nodes.values()), 32 - 2 - 1 - 2)
    run(f"qdel {job} {held} {array}")
    until(state, None, job)
    run(f"qstat -f -t {job}", fails=True)
    assert "Job has finished" in run.error
    run("qstat -f -t 987654.clients", fails=True)
    assert "Unknown Job Id" in run.error


# ---- ReFrame: states by qstat -f, of what has ended by its status 35 or 153 and then with -x ----
def reframe():
    write("rfm.sh", "#!/bin/bash\n#PBS -N \"rfm_hello\"\n#PBS -l select=1:mpiprocs=2:ncpus=2\n#PBS -l walltime=0:10:0\n#PBS -q workq\ncd $PBS_O_WORKDIR\necho ran\nexit 3\n")
    job = run(f"qsub -o {os.getcwd()}/rfm.out -e {os.getcwd()}/rfm.err rfm.sh").strip()

    def over():
        try:
            text = run(f"qstat -f {job}")
        except AssertionError:
            return run.status in (35, 153)
        return re.search(r"^\s*job_state = (\S)", text, re.M).group(1) == "F"

    until(over, True)
    text = run(f"qstat -xf {job}")
    same(re.search(r"^Job Id:\s*(\S+)", text, re.M).group(1), job)
    same((re.search(r"job_state = (\S)", text).group(1), re.search(r"Exit_status = (\d+)", text).group(1)), ("F", "3"))
    same(json.loads(run(f"qstat -xf -F json {job}"))["Jobs"][job]["Exit_status"], 3)
    until(lambda: os.path.exists("rfm.out") and os.path.exists("rfm.err") and "ran" in read("rfm.out"), True)
    same(json.loads(run(f"qstat -f -F json {job} || true"))["Jobs"], {})


# ---- batchspawner: the state and the host by their lines ----
def batchspawner():
    job = run("qsub", stdin="#!/bin/bash\n#PBS -q workq\n#PBS -l walltime=0:30:00\n#PBS -l ncpus=1\n#PBS -N jupyter\nsleep 600\n").strip()

    def state():
        text = run(f"qstat -fx {job}")
        host = re.search(r"exec_host = ([\w_-]+)/", text)
        letter = re.search(r"job_state = ([QRHF])", text)
        return (letter and letter.group(1), host and host.group(1))

    assert until(state, {("R", "n1"), ("R", "n2")})
    run(f"qdel {job}")
    until(lambda: state()[0], "F")


# ---- AiiDA: every line of qstat -f ----
def aiida():
    write("_aiidasubmit.sh", "#!/bin/bash\n#PBS -r n\n#PBS -m n\n#PBS -N aiida-1\n#PBS -V\n#PBS -o _scheduler-stdout.txt\n#PBS -e _scheduler-stderr.txt\n#PBS -l walltime=00:30:00\n"
                             "#PBS -l select=1:mpiprocs=2\ncd \"$PBS_O_WORKDIR\"\nsleep 600\n")
    job = run("qsub _aiidasubmit.sh").strip()

    def state():
        return records(run("qstat -f")).get(job, {}).get("job_state")

    until(state, "R")
    seen = records(run(f"qstat -f {job}"))[job]
    same((seen["Job_Name"], seen["Resource_List.select"], seen["Rerunable"]), ("aiida-1", "1:ncpus=2:mpiprocs=2", "False"))
    run(f"qdel {job}")
    until(state, None)


# ---- Torque: nextflow's array, snakemake's profile, parsl's columns, batchspawner's XML, PSI/J's JSON ----
def torque_nextflow():
    write(".command.run", "#!/bin/bash\n#PBS -o /dev/null\n#PBS -j oe\n#PBS -q workq\n#PBS -l nodes=1:ppn=2\n#PBS -l mem=512mb\n#PBS -l walltime=00:10:00\n#PBS -t 0-2\n"
                          "[ $PBS_ARRAYID = 1 ] && sleep 600; exit 0\n")
    job = run("qsub -N nf .command.run").strip()

    def states():
        return {at: job["job_state"] for at, job in records(run("qstat -f -1 workq")).items()}

    until(lambda: states().get(job), "R")
    run(f"qdel {job.replace('[]', '[1]')}")
    until(lambda: states().get(job) in (None, "C"), True)


def torque_snakemake():
    write("job.sh", "#!/bin/sh\nexit 3\n")
    job = run("qsub -l nodes=1:ppn=1 -l walltime=600 -N rule -o /dev/null -e /dev/null job.sh").strip()

    def seen():
        root = xml.etree.ElementTree.fromstring(run(f"qstat -f -x {job}"))
        code = root.findall(".//exit_status")
        return (root.findall(".//job_state")[0].text, code[0].text if code else None)

    until(seen, {("C", "3")})


def torque_parsl():
    write("p.submit", "#!/bin/bash\n#PBS -N p\n#PBS -l nodes=1:ppn=1,walltime=00:10:00\nsleep 600\n")
    job = run("qsub p.submit").strip()

    def state():
        for line in run(f"qstat {job}").split("\n"):
            cells = line.split()
            if cells and job.startswith(cells[0]):
                return cells[4]
        return None

    until(state, "R")
    run(f"qdel {job}")
    until(state, "C")


def torque_batchspawner():
    job = run("qsub", stdin="#!/bin/sh\n#PBS -l nodes=1:ppn=2\n#PBS -N jupyter\nsleep 600\n").strip()

    def seen():
        text = run(f"qstat -x {job}")
        host = re.search(r"<exec_host>((?:[\w_-]+\.?)+)/\d+", text)
        return (re.search(r"<job_state>(.)</job_state>", text).group(1), host and host.group(1))

    assert until(seen, {("R", "n1"), ("R", "n2")})
    run(f"qdel {job}")
    until(lambda: seen()[0], "C")


def torque_psij():
    write("psij.pbs", "#!/bin/bash\n#PBS -N=\"test\"\n#PBS -l nodes=1:ppn=2\n#PBS -l walltime=0:10:00\n#PBS -e /dev/null\n#PBS -o /dev/null\nexit 5\n")
    job = run("qsub psij.pbs").strip().split()[-1]

    def seen():
        report = json.loads(run(f"qstat -f -F json -x {job}"))["Jobs"][job]
        return (report["job_state"], report.get("Exit_status"))

    until(seen, {("F", 5)})


# ---- what all of them meet: ids that are not there, jobs deleted while they wait, elements that end differently ----
def ends():
    def submit(options, body="sleep 600"):
        return run(f"qsub -o /dev/null -e /dev/null {options}", stdin=body + "\n").strip()

    for line, status, words in (("qstat 987654", 153, "Unknown Job Id 987654.clients"), ("qstat -f -x 987654", 153, "Unknown Job Id"), ("qdel 987654", 153, "Unknown Job Id"),
                                ("qhold 987654", 153, "Unknown Job Id"), ("qsub -q nosuch -- true", 170, "Unknown queue"), ("qstat nosuch", 170, "Unknown queue")):
        run(line, fails=True)
        assert run.status == status and words in run.error, (line, run.status, run.error)
    same(json.loads(run("qstat -f -F json -x 987654 || true"))["Jobs"], {})
    waits = submit("-h -N waits")
    same((run(f"qselect -s H -u {ME}").split(), run(f"qstat -f {waits} | grep -c exec_host || true").strip()), ([waits], "0"))
    run(f"qdel {waits}")
    seen = lambda job: json.loads(run(f"qstat -x -f -F json '{job}'"))["Jobs"][job]
    until(lambda: seen(waits)["job_state"], "F")
    assert seen(waits).get("Exit_status", 271) != 0
    run(f"qstat {waits}", fails=True)
    same((run.status, "Job has finished" in run.error), (35, True))
    many = submit("-J 1-3", 'case $PBS_ARRAY_INDEX in 1) exit 0;; 2) exit 7;; 3) sleep 600;; esac')
    element = lambda i: many.replace("[]", f"[{i}]")
    until(lambda: (seen(element(1)).get("Exit_status"), seen(element(2)).get("Exit_status")), (0, 7))
    same((seen(element(1))["Exit_status"], seen(element(3))["job_state"]), (0, "R"))
    rows = [line.split() for line in run(f"qstat -t '{many}'").splitlines()[2:]]
    same([(row[0], row[4]) for row in rows][0], (many, "B"))
    run(f"qdel '{element(3)}'")
    until(lambda: seen(many)["job_state"], "F")


if __name__ == "__main__":
    main(globals())
