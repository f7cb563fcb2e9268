#!/usr/bin/env python3
"""Runs the products of kinds, bodies and endings of jobs (product.py) against real daemons and compares what became of each with what rules.py foretells: one TAP line a product.
usage: run.py [--full] [--only REGEX] [--show] [--slurm] [--keep] [--jobs N] [--counter FILE]
Without --full: a slice in which every pair of values comes together at least once. --slurm: with the Slurm whose commands and SLURM_CONF are in the environment.
--show: what was seen, as JSON, instead of a comparison."""
import argparse
import concurrent.futures
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cluster as clusters  # noqa: E402
import product as products  # noqa: E402
import rules  # noqa: E402


def slice_of(values):
    """Products in which every pair of values comes together, chosen one after another: each the one that brings most new pairs."""
    pairs = lambda p: {(i, p[i], k, p[k]) for i, k in itertools.combinations(range(len(p)), 2)}
    everything = [p for p in itertools.product(*values) if rules.possible(*p)]
    open_pairs = set().union(*map(pairs, everything))
    chosen = []
    while open_pairs:
        best = max(everything, key=lambda p: len(pairs(p) & open_pairs))
        chosen.append(best)
        open_pairs -= pairs(best)
    return chosen


AT_ONE_FAULT = 48  # products that are up when it happens; with all of them at once the machine itself is what fails


def shares_of(chosen, most):
    """As few shares as there need be, each of products from the whole list."""
    n = -(-len(chosen) // most)
    return [chosen[i::n] for i in range(n)]


class Fault:
    """Products of a phase meet here when all are up; then it happens, to all of them."""

    def __init__(self, n, act):
        self.left, self.act = n, act
        self.cond = threading.Condition()
        self.done = False

    def leave(self):
        with self.cond:
            self.left -= 1
            self.check()

    def check(self):
        if self.left == 0 and not self.done:
            self.act()
            self.done = True
            self.cond.notify_all()

    def meet(self):
        with self.cond:
            self.left -= 1
            self.check()
            while not self.done:
                self.cond.wait(1)


def play(p, fault):
    error = None
    try:
        p.live()
        if fault and not p.met:
            fault.leave()
    except Exception as e:
        error = str(e) if isinstance(e, products.Broken) else traceback.format_exc()
        if fault and not p.met:
            fault.leave()
    finally:
        p.finish()
    return p, error


def phase(cluster, chosen, counter, jobs, act=None):
    fault = Fault(len(chosen), act) if act and chosen else None
    for p in chosen:
        p.prepare(cluster, counter)
        p.met = False

    def meet(p):
        p.met = True
        fault.meet()
    for p in chosen:
        p.fault = lambda p=p: meet(p)
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(chosen) if fault else jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(play, p, fault) for p in chosen]):
            yield done.result()


def main():
    ap = argparse.ArgumentParser()
    for flag in ("--full", "--show", "--slurm", "--keep"):
        ap.add_argument(flag, action="store_true")
    ap.add_argument("--only", default="")
    ap.add_argument("--jobs", type=int, default=40)
    ap.add_argument("--counter")
    a = ap.parse_args()
    work = tempfile.mkdtemp(prefix="remuda-products-")
    counter = a.counter or f"{work}/counter"
    if not a.counter:
        subprocess.run(["cc", "-O1", "-o", counter, str(HERE / "counter.c")], check=True)
    cluster = (clusters.Slurm if a.slurm else clusters.Remuda)(work)
    values = (products.KINDS, products.BODIES, products.ENDINGS)
    if a.full or a.only:
        values = (products.KINDS + products.MORE_KINDS, products.BODIES + products.MORE_BODIES, products.ENDINGS + products.MORE_ENDINGS)
    everything = [p for p in itertools.product(*values) if rules.possible(*p)] if a.full or a.only else slice_of(values)
    chosen = [products.Product(*p) for p in everything if re.search(a.only, "/".join(p))]
    chosen, skipped = [p for p in chosen if not rules.missing(p)], [p for p in chosen if rules.missing(p)]
    if a.slurm:
        chosen = [p for p in chosen if p.body != "async" and p.ending not in ("step_oom", "daemon_killed")]  # what it has not, here
    print(f"1..{len(chosen) + len(skipped) + 1}")
    for p in skipped:
        print(f"ok - {p.name} # skip {rules.missing(p)}")
    failed = 0
    cluster.start()
    poller = threading.Thread(target=cluster.poll_for_ever, daemon=True)
    poller.start()
    try:
        rest = [p for p in chosen if not p.ending.startswith(("node_lost", "controller", "daemon"))]
        phases = [(rest, None)]
        for ending, act in (("node_lost_a", lambda: cluster.node_lose(cluster.lost["a"])), ("node_lost_b", lambda: cluster.node_lose(cluster.lost["b"])), ("controller_killed", cluster.controller_kill),
                            ("daemon_killed", getattr(cluster, "daemons_kill", None))):
            phases.append(([p for p in chosen if p.ending == ending], act))
        for all_of_it, act in phases:
            for some in shares_of(all_of_it, AT_ONE_FAULT) if act else [all_of_it]:
                for p, error in phase(cluster, some, counter, a.jobs, act):
                    failed += report(p, error, a.show)
                if some and some[0].ending.startswith("node_lost"):
                    cluster.node_find(cluster.lost[some[0].ending[-1]])
        failed += leftovers(cluster, chosen)
    finally:
        cluster.stopped = True
        cluster.stop()
        if not a.keep and not failed:
            shutil.rmtree(work, ignore_errors=True)
        else:
            print(f"# kept: {work}")
    sys.exit(1 if failed else 0)


def report(p, error, show):
    seen = None
    if not error:
        for _ in range(20 if p.cluster.name == "slurm" else 4):  # accounting of Slurm comes late
            seen = p.seen()
            differences = rules.compare(p, seen)
            if not differences:
                break
            time.sleep(0.5)
        error = "\n".join(differences)
    if show:
        print(f"# {p.name} {json.dumps(seen, sort_keys=True)}")
    print(f"{'not ok' if error else 'ok'} - {p.name}")
    for line in (error or "").splitlines():
        print(f"#   {line}")
    sys.stdout.flush()
    return bool(error)


def leftovers(cluster, chosen):
    """Nothing of them is left: no process, no folder of a step, no shepherd."""
    end = time.time() + 10
    while True:
        left = [f"process {pid}: {command}" for pid, command, _ in cluster.marked(f"D={cluster.work}/")] + cluster.left_behind()
        if not left or time.time() > end:
            break
        time.sleep(0.5)
    print(f"{'not ok' if left else 'ok'} - nothing is left behind")
    for line in left[:40]:
        print(f"#   {line}")
    return bool(left)


main()
