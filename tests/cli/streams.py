"""streams.py DIR: each command with standard streams that are closed, full, or that nobody reads. Prints what is wrong.

A line a command, on a cluster where job {run} runs (its script alone), {done} is over and {fresh} is a held one, new each time. Said first with a file for its output; then

  >&-, >/dev/full   what has output ends with an error and a sentence, as a listing that is lost would be taken for an empty one; what has none does as ever
  | true            ends by SIGPIPE, without a word       (trap '' PIPE) | true   as of a full one
  <&- 2>&-          does as ever, and says no less on its output: what a command opens is not taken for a stream of its
"""
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

OWN = """
up -q | status | why {fresh} | extend {run} +1 | plot {done} | top --once | report {done} | may | accounts | config check | import --help | gpus | token list | hosts
backup {new} | env | logs {done} | lint {script} | translate --to lsf {script} | version | docs {new}
down --help | join --help | leave --help | restore --help | repair --help | adopt --help | shell --help"""
OTHERS = """
squeue | squeue --json | squeue -s | sinfo | sinfo --json | sacct | sacct --json | sacctmgr show assoc | sacctmgr -i add account {name} | sreport cluster utilization
seff {done} | sprio | sshare | sdiag | scontrol show job | scontrol show node --json | scontrol hold {fresh} | scontrol ping | scontrol listpids | scrontab {table}
strigger --set --fini --jobid={fresh} --program=/bin/true | sbatch -H --wrap true | sbatch --test-only --wrap true | srun -Q -n1 true | salloc -Q -n1 true
sattach --help | sbcast --help | sstat {run}.batch | scancel {fresh} | scancel -v {fresh}
bsub -o x -H true | bjobs | bkill {fresh} | bstop {fresh} | bresume {fresh} | brequeue --help | bswitch main {fresh} | btop {fresh} | bbot {fresh} | bmod -J x {fresh} | bhist
bacct | bqueues | bhosts | lsload | lshosts | jsrun --help | blaunch --help | lsclusters | badmin showconf mbd | lsadmin showconf lim | bparams | lsid | bpeek {run} | bstat
classstat | nodestat | showstart {fresh}
qsub -h {pbs} | qstat | qstat -f | qdel {fresh} | qhold {fresh} | qrls {fresh} | qsig -s CONT {run} | qrerun --help | qmove main {fresh} | qmsg x {run} | qalter -N x {fresh}
qselect | pbsnodes -a | pbsdsh --help | qenable main | qdisable --help | qstart main | qstop --help | qmgr -c 'list server' | pbs_tmrsh --help | tracejob {run}"""
UNWRITTEN = "cannot write all of the output|was submitted"


class Streams:
    def __init__(self, dir):
        self.dir, self.n = pathlib.Path(dir), 0
        self.run = self.out("sbatch --parsable -o run.out --wrap 'echo runs; sleep 1000'")
        self.done = self.out("sbatch --parsable --wait -o done.out --wrap 'echo done; sleep 2'")
        self.sampled()
        (self.dir / "script").write_text("#!/bin/sh\n#SBATCH -n1\ntrue\n")
        (self.dir / "pbs").write_text("#!/bin/sh\n#PBS -N x\ntrue\n")
        (self.dir / "table").write_text("@monthly true\n")

    def sampled(self):
        """What was measured of a job comes a little after its end."""
        until = time.time() + 60
        while subprocess.run(["remuda", "plot", self.done], capture_output=True, cwd=self.dir).returncode != 0 and time.time() < until:
            time.sleep(0.3)

    def out(self, line):
        done = subprocess.run(shlex.split(line), cwd=self.dir, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        assert done.returncode == 0, (line, done)
        return done.stdout.strip()

    def words(self, line):
        self.n += 1
        fresh = self.out("sbatch --parsable -H -n1 --wrap true") if "{fresh}" in line else ""
        return shlex.join(shlex.split(line.format(run=self.run, done=self.done, fresh=fresh, new=self.dir / f"new{self.n}", name=f"name{self.n}", script="script",
                                                  pbs="pbs", table="table")))

    def said(self, line, how="", before=""):
        """Exit status (as Python has it), standard output and error."""
        done = subprocess.run(["bash", "-c", f"{before} exec {self.words(line)} {how}"], cwd=self.dir, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def unread(self, line, ignored):
        """Of a reader that is gone before the first byte."""
        ends = os.pipe()
        os.close(ends[0])
        done = subprocess.run(["bash", "-c", ("trap '' PIPE; " if ignored else "") + f"exec {self.words(line)}"], cwd=self.dir, stdout=ends[1],
                              stderr=subprocess.PIPE, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60,
                              preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        os.close(ends[1])
        return done.returncode, "", done.stderr

    def faults(self, line):
        status, out, err = self.said(line)
        if status != 0:
            yield f"{line}: {status} {err}"
        ways = {">&-": self.said(line, ">&-"), ">/dev/full": self.said(line, ">/dev/full"), "trap '' PIPE; | true": self.unread(line, True)}
        for how, (code, _, words) in ways.items():
            if code != 0 if not out else code <= 0 or not re.search(UNWRITTEN, words):
                yield f"{line} {how}: {code} {words}"
        code, _, words = self.unread(line, False)
        if code not in ((-signal.SIGPIPE, 128 + signal.SIGPIPE) if out else (0,)) or (out and words):
            yield f"{line} | true: {code} {words}"
        code, words, _ = self.said(line, "<&- 2>&-")
        if code != 0 or bool(words) != bool(out) or len(words.splitlines()) < len(out.splitlines()):
            yield f"{line} <&- 2>&-: {code} {words} instead of {out}"


def lines():
    every = lambda table, prefix: [prefix + " ".join(line.split()) for line in re.split(r"[|\n]", table) if line.strip()]
    return every(OWN, "remuda ") + every(OTHERS, "")


def names():
    """All commands that there are, as they are typed."""
    run = lambda *words: subprocess.run(words, capture_output=True, text=True, check=True).stdout
    linked = run("remuda", "commands").split()
    told = re.findall(r"^  (\S+) ", run("remuda", "help"), re.M)
    return linked + [f"remuda {name}" for name in told if name not in linked]


def main():
    all_lines = [line for line in lines() if not sys.argv[2:] or re.search(sys.argv[2], line)]
    for name in names() if not sys.argv[2:] else []:
        if not any(f"{line} ".startswith(f"{name} ") for line in all_lines):
            print(f"{name}: no line of it in {__file__}")
    streams = Streams(sys.argv[1])
    for line in all_lines:
        for fault in streams.faults(line):
            print(fault)


if __name__ == "__main__":
    main()
