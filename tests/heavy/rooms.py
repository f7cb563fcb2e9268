#!/usr/bin/env python3
"""A daemon is refused room, place by place. Usage: rooms.py [--stage DIR] [--role NAME] [--ways LIST] [--lives N] [--at PLACE] [--jobs N] [--seed N] [--keep]

The short life of a cluster that writes.py tells of, again and again; in each, one call by which the controller (or another role: node, the daemon;
remuda-shepherd, each of them) asks the system for room is refused (room_fail.c):

  memory       a malloc, once: what the code asks for itself ends the daemon (base/alloc.h), what a library asks for may only fail
  descriptors  an open, pipe, socket …: EMFILE, once           processes        a fork, a thread: EAGAIN, once
  few          the same of descriptors for two seconds          crowded          the same of processes for two seconds

A daemon that ended is started again, as systemd would, with nothing that fails; it may end for want of memory alone. Then the books of writes.py; no command
waits in vain, and no node is drained but by shepherds that all end before they begin. Prints TAP, one line a way.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import writes

WAYS = {"memory": ("memory", 0), "descriptors": ("descriptors", 0), "processes": ("processes", 0), "few": ("descriptors", 2000), "crowded": ("processes", 2000)}
MEMORY_OF_OURS = 0.25  # of the lives of memory, those in which it is the code that asks for itself: there is one answer to that


def ended_by(cluster):
    """What daemons said as they ended by a fault."""
    for path in sorted((cluster.state / "log").iterdir()):
        yield from (line for line in path.read_text(errors="replace").splitlines() if re.search("is ended by SIG", line))


def faults_of(cluster, mine, klass):
    for said in mine.said:
        if said.endswith("no answer in time"):
            yield f"no answer: {said}"
    each_dies = klass == "memory" and any("ended before it could start it" in one for one in cluster.out("sinfo", "-hN", "-o", "%E").splitlines())
    for line in cluster.out("sinfo", "-hN", "-o", "%N %T %E").splitlines():
        if not each_dies and not re.match(r"\S+ (idle|mixed|allocated|completing|reserved|planned) ", line):
            yield f"a node: {line}"
    for line in ended_by(cluster):
        if klass != "memory":
            yield line


def life(o, seed_dir, way, at):
    """One life; returns its faults, the places that asked, and what is worth a line."""
    base = pathlib.Path(tempfile.mkdtemp(prefix=f"{way}-", dir=o.base))
    subprocess.run(["cp", "-a", f"{seed_dir}/.", base], check=True)
    cluster = writes.Cluster(base, o.stage)
    klass, ms = WAYS.get(way, ("none", 0))
    log = base / "places"
    log.touch(mode=0o666)
    fails = dict(LD_PRELOAD=str(o.library), ROOM_ROLE=o.role, ROOM_LOG=str(log), ROOM_MS=str(ms))
    if at:
        fails["ROOM_AT"] = at
    if o.role == "remuda-shepherd":
        fails["ROOM_EACH"] = "1"
    of_controller = o.role == "controller"
    over, ups, mine = threading.Event(), [], writes.Life(cluster, o.role if klass == "memory" else "")
    started = cluster.run("remudad", "controller", "--state", str(cluster.state), **fails) if of_controller else cluster.up(**fails)
    if started.returncode != 0:
        mine.said.append(f"start: {started.stderr.strip()[:300]}")
    if of_controller or started.returncode != 0:
        cluster.up()
    watch = threading.Thread(target=writes.keep_up, args=(cluster, over, ups, "controller" if of_controller else "node[n1]"))
    watch.start()
    try:
        mine.live()
        over.set()
        watch.join()
        faults = list(faults_of(cluster, mine, klass))
        cluster.run("remuda", "down")
        again = cluster.up()
        faults += [f"up: {again.stderr.strip()[:300]}"] if again.returncode else []
        faults += [f"up: {said}" for said in ups] + list(mine.faults())
    finally:
        over.set()
        watch.join()
        cluster.run("scancel", "-u", "root")
        cluster.run("remuda", "down")
    faults += [one for one in writes.after_down(cluster) if "is ended by SIG" not in one]
    places = log.read_text().splitlines()
    said = mine.said + list(ended_by(cluster))
    if not faults and not o.keep:
        shutil.rmtree(base, ignore_errors=True)
    elif faults:
        faults.append(f"kept: {base}; said: {said}")
    return faults, places, said


def worth(places, klass, ours):
    """The calls of a class, each place as it asked the 1st, 2nd, 4th … time; where memory is asked for, by the code itself (`ours`) or by libraries."""
    kept = {}
    for line in places:
        words = line.split()
        if len(words) > 4 and words[0] == klass:
            own = bool(re.match(r"(remuda|remudad|remuda-shepherd)[^+]*\+", words[4]))
            if klass != "memory" or own == ours:
                kept[" ".join(words[1:4])] = line
    return kept


def chosen(o, rng, places, klass):
    if o.at:
        return {o.at: o.at}
    pools = [(worth(places, klass, False), o.lives)]
    if klass == "memory":
        few = max(1, int(o.lives * MEMORY_OF_OURS))
        pools = [(worth(places, klass, False), o.lives - few), (worth(places, klass, True), few)]
    picked = {}
    for pool, n in pools:
        keys = sorted(pool) if o.lives == 0 or n >= len(pool) else rng.sample(sorted(pool), n)
        picked |= {key: pool[key] for key in keys}
    return picked


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stage")
    p.add_argument("--role", default="controller", help="who is refused: controller, node, remuda-shepherd")
    p.add_argument("--ways", default=",".join(WAYS))
    p.add_argument("--lives", type=int, default=int(os.environ.get("REMUDA_ROOMS", 20)), help="of each way; 0 = of each place")
    p.add_argument("--at", help="at this place alone: 'CALL PLACE TIMES'")
    p.add_argument("--jobs", type=int, default=2, help="lives at a time")
    p.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    p.add_argument("--keep", action="store_true")
    p.add_argument("--say", action="store_true", help="what commands and daemons said in each life")
    o = p.parse_args()
    o.base = pathlib.Path(tempfile.mkdtemp(prefix="remuda-rooms-"))
    o.base.chmod(0o755)
    o.library = o.base / "room_fail.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "-o", o.library, writes.HERE / "room_fail.c"], check=True)
    o.stage = writes.stage_of(o.stage, o.role, o.base)
    writes.seeded(o.base / "seed", o.stage)
    rng = random.Random(o.seed)
    faults, places, said = life(o, o.base / "seed", "none", None)
    counts = collections.Counter(line.split()[0] for line in places)
    print(f"# places that ask, each as it did the 1st, 2nd, 4th … time: {dict(counts)}; seed {o.seed}", flush=True)
    n, bad = writes.report(0, 0, "a life in which nothing is refused", faults + said + ([] if places else ["nothing asked for room"]))
    for way in o.ways.split(","):
        began = time.time()
        points = chosen(o, rng, places, WAYS[way][0])
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            done = list(pool.map(lambda at: (at, life(o, o.base / "seed", way, at)), points))
        if o.say:
            for at, (_, _, said) in done:
                print(f"# {way} {points[at]}: {said}", flush=True)
        faults = [f"at {points[at][:300]}: {one}" for at, (found, _, _) in done for one in found]
        n, bad = writes.report(n, bad, f"{way}: {len(points)} lives, {time.time() - began:.0f} s", faults)
    print(f"1..{n}")
    if bad:
        print(f"# kept: {o.base}")
    elif not o.keep:
        shutil.rmtree(o.base, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
