#!/usr/bin/env python3
"""A command is refused room, place by place. Usage: rooms_commands.py [--stage DIR] [--only REGEX] [--places N] [--seed N] [--at PLACE]

Each line of tests/cli/streams.py is run again and again on one cluster; each time one call by which the command asks the system for room (memory, a descriptor, a
process; room_fail.c) is refused. Then it says what it says otherwise, all of it, and succeeds; or it ends with a sentence and an error: a list that is cut, or
in which something else stands, with status 0 is believed. Whatever its code asks for itself of memory has one answer (base/alloc.h): N such places are tried
of a line, and N of all others (0 = all). Prints TAP, one line a command.
"""
import argparse
import difflib
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import streams  # noqa: E402
import writes  # noqa: E402

CONF = """ClusterName=rooms
JobAcctGatherFrequency=1
NodeName=n[1-2] CPUs=4 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED DefaultTime=10
"""
ZONE = "Asia/Kathmandu"  # whoever loses it is 5:45 wrong


def plain(text):
    """Without what differs from run to run: numbers, and in which order sdiag counts requests; the hour of a moment does not."""
    text = re.sub(r".*count:\d+ .*\n", "", text)
    text = re.sub(r"(\d{4}-\d\d-\d\dT)(\d\d):\d\d:\d\d", lambda m: f"{m[1]}{'abcdefghijklmnopqrstuvwx'[int(m[2])]}:", text)
    return re.sub(r"[\s#.]*\d[\d#.:KMGT%-]*[ \t]*", "#", re.sub(r"(\d)\s+(?=\d)", r"\1", text))


def other_lines(wanted, said):
    return [repr(line) for line in difflib.ndiff(wanted.splitlines(), said.splitlines()) if line[0] in "+-"][:4]


class Rooms:
    def __init__(self, base, stage):
        self.base, self.cluster = base, writes.Cluster(base, stage)
        self.cluster.state.mkdir()
        self.cluster.work.mkdir()
        (self.cluster.state / "remuda.conf").write_text(CONF)
        self.log = base / "places"
        self.library = base / "room_fail.so"
        os.environ.update(self.cluster.env, TZ=ZONE, LC_ALL="C")  # letters may be drawn otherwise
        os.environ.pop("SLURM_TIME_FORMAT")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "-o", self.library, HERE / "room_fail.c"], check=True)
        up = self.cluster.up()
        if up.returncode:
            sys.exit(up.stderr)
        self.streams = streams.Streams(base / "work")

    def said(self, line, at=""):
        """Exit status, output, errors; and the places that asked."""
        self.log.write_text("")
        role = line.split()[line.startswith("remuda ")]
        env = {"LD_PRELOAD": self.library, "ROOM_ROLE": role, "ROOM_LOG": self.log, "ROOM_EACH": "1"} | ({"ROOM_AT": at} if at else {})
        words = ["env", *(f"{name}={value}" for name, value in env.items()), *shlex.split(self.streams.words(line))]
        try:
            done = subprocess.run(words, cwd=self.base / "work", capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=90)
        except subprocess.TimeoutExpired:
            return "no end", "", "", []
        return done.returncode, done.stdout, done.stderr, self.log.read_text().splitlines()

    def faults(self, line, rng, most, only):
        status, out, err, places = self.said(line)
        again = self.said(line)
        if status != 0 or again[0] != 0 or plain(out) != plain(again[1]):
            yield f"differs, with nothing refused: {status} {again[0]}\n{plain(out)}\n{plain(again[1])}\n{err}"
            return
        own, others = {}, {}
        for words in map(str.split, places):
            of = others if words[0] != "memory" or ".so" in words[4] else own
            of.setdefault(" ".join(words[1:3]), []).append((" ".join(words[1:4]), " ".join(words)))
        picked = []
        for of in own, others:
            keys = sorted(of)
            picked += [rng.choice(of[key]) for key in (keys if most == 0 or most >= len(keys) else rng.sample(keys, most))]
        for at, frames in [(only, only)] if only else picked:
            code, now, words, _ = self.said(line, at)
            if code == 0 and plain(now) == plain(out):
                continue
            crashed = ".so" in frames.split()[4] and re.search("is ended by SIG|Assertion", words)  # glibc's own, of its switch of services
            if code == 0 and "no cluster was asked" not in now:
                yield f"at {frames}: 0, and it says {' '.join(other_lines(plain(out), plain(now)))}"
            elif code == "no end" or (code < 0 and not crashed) or not re.search(r"[a-z]{2} [a-zD]", words + now):
                yield f"at {frames}: {code} {words.strip()[:300]!r} {now[:300]!r}"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stage")
    p.add_argument("--only", default=".")
    p.add_argument("--places", type=int, default=int(os.environ.get("REMUDA_ROOMS", 20)))
    p.add_argument("--at")
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    o = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="remuda-rooms-") as base:
        base = pathlib.Path(base)
        base.chmod(0o755)
        rooms = Rooms(base, o.stage)
        lines = [line for line in streams.lines() if re.search(o.only, line)]
        print(f"1..{len(lines)}\n# seed {o.seed}", flush=True)
        try:
            for n, line in enumerate(lines):
                bad += writes.report(n, 0, line, list(rooms.faults(line, random.Random(f"{o.seed} {line}"), o.places, o.at)))[1]
        finally:
            rooms.cluster.run("scancel", "-u", "root")
            rooms.cluster.run("remuda", "down")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
