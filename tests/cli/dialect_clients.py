"""What the replays of clients of LSF and PBS share (dialect_lsf.py, dialect_pbs.py): a client's command line, its parser, and the life of a job in between.

Each client is a function there; the command lines and what is read of the answers are those of the client, the code is ours."""
import os
import subprocess
import sys
import time


def run(line, stdin=None, env=None, fails=False):
    """A line of the shell; its standard output. Clients that look at the status get an error as they would."""
    got = subprocess.run(["bash", "-c", line], input=stdin, env={**os.environ, **(env or {})}, capture_output=True, text=True)
    run.error, run.status = got.stderr, got.returncode
    if (got.returncode != 0) != fails:
        raise AssertionError(f"{line}: status {got.returncode}\n{got.stdout}{got.stderr}")
    return got.stdout


def until(what, wanted, *args):
    """The answer is one of these within a minute."""
    end = time.time() + 60
    while True:
        seen = what(*args)
        if seen == wanted or (isinstance(wanted, (set, tuple)) and seen in wanted):
            return seen
        assert time.time() < end, f"{what.__name__}{args}: {seen!r}, never {wanted!r}"
        time.sleep(0.2)


def same(seen, wanted):
    assert seen == wanted, f"{seen!r} is not {wanted!r}"


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read()


def main(clients):
    clients[sys.argv[1]]()
