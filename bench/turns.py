#!/usr/bin/env python3
"""make bench AGAINST=TREE: is any row slower than in another tree, of an older commit say? Both are measured in turn, so that what else the machine does falls on both alike.

Usage: turns.py BEFORE AFTER [ROUNDS]   (trees built with tools/build; BENCH="name …": those rows; ROUNDS: 2 unless given)
Each group of rows is run in BEFORE and AFTER, then in AFTER and BEFORE, and so on, by AFTER's bench.py, for both. Compared are the medians: of a row that is held to a baseline
of its own run the ratio to that, else the figure. A row is slower if it is so by more than 5 % whatever the last digit that was printed of either figure hides: 0.11 and 0.12 ms may be
equal. Where that much could be hidden the row says so, and wants to be printed finer. A row that seems slower is run again, twice as often each time, until it is not or AGAIN times; it is
slower if its runs, too, are not mixed with those before it as chance mixes them (rank-sum test of Wilcoxon, Mann and Whitney): rows of a few us differ by more than 5 % from run to run.
Prints `name | before | after | after / before | runs of each`; the exit status is 1 where a row stays slower.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import goals

BENCH = pathlib.Path(__file__).resolve().parent / "bench.py"
SLOWER = 1.05
CHANCE = 2.5  # standard deviations: so far apart are the ranks of equal trees in less than one row of a hundred
AGAIN = 2  # times a group is run again for a row that looks slower, in twice as many rounds each time


def groups():
    """The names that BENCH= takes, of bench.py itself: it says them where it does not know one."""
    said = subprocess.run([sys.executable, BENCH, "/", "/"], env={**os.environ, "BENCH": "?"}, capture_output=True, text=True).stderr
    return os.environ.get("BENCH", "").split() or said.split("there are ")[1].strip().split(", ")


class Group:
    """The rows of one name of BENCH=: what each tree had, run after run."""

    def __init__(self, name, trees):
        self.name, self.trees, self.rows, self.runs, self.failed = name, trees, {}, 0, ""

    def run(self, which):
        tree = self.trees[which]
        out = tree / "build/bench.json"
        out.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, BENCH, tree / "build", tree], env={**os.environ, "BENCH": self.name}, cwd=tree, capture_output=True, text=True)
        if not out.exists():
            self.failed = f"{tree}: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
            return
        for row in json.loads(out.read_text()):
            held = row["ratio"].split()  # "1.67 x", or nothing, or what says something else
            held = held if len(held) == 2 and held[1] == "x" else []
            value = float(held[0]) if held else float(row["figure"])
            kept = self.rows.setdefault(row["name"], {"more": row["goal"].startswith(">=") or row["unit"].endswith("/s"), "unit": "x" if held else row["unit"], "taken": ([], []), "last": [0.0, 0.0]})
            kept["taken"][which].append(value)
            kept["last"][which] = goals.last_digit(held[0]) if held else row.get("last", 0.0)

    def rounds(self, n):
        for i in range(n):
            for which in (0, 1) if i % 2 == 0 else (1, 0):
                if not self.failed:
                    self.run(which)
        self.runs += n

    def times_as_slow(self, name, surely=False):
        """How many times as slow the row is after as before; below 1: faster. surely: at least, if half of the last digit that was printed of each is for it."""
        row = self.rows[name]
        if not all(row["taken"]):
            return 1.0  # there is no such row in one of them
        before, after = zip(map(statistics.median, row["taken"]), row["last"])
        if row["more"]:
            before, after = after, before
        less, most = (max(after[0] - after[1] / 2, 0.0), before[0] + before[1] / 2) if surely else (after[0], before[0])
        return less / most if most else 1.0 if not less else float("inf")

    def seem_slower(self):
        return [name for name in self.rows if self.times_as_slow(name, surely=True) > SLOWER]

    def apart(self, name):
        """By how many standard deviations the runs after rank as slower than those before: how often one of these is beaten by one of those, equal ones half."""
        before, after = self.rows[name]["taken"][:: -1 if self.rows[name]["more"] else 1]
        beaten = sum((a > b) + (a == b) / 2 for a in after for b in before)
        pairs = len(before) * len(after)
        return (beaten - pairs / 2) / math.sqrt(pairs * (len(before) + len(after) + 1) / 12)

    def mark(self, name):
        if name in self.seem_slower():
            return "SLOWER" if self.apart(name) > CHANCE else "its runs differ too much to say"
        return "its digits are too few to say" if self.times_as_slow(name) > SLOWER else ""

    def slower(self):
        return [name for name in self.seem_slower() if self.apart(name) > CHANCE]

    def tell(self):
        if self.failed:
            print(f"{self.name:<22} | not compared: {self.failed}", flush=True)
        for name, row in self.rows.items():
            before, after = (f"{statistics.median(taken):.4g} {row['unit']}" if taken else "no such row" for taken in row["taken"])
            print(f"{name:<22} | {before:>18} | {after:>18} | {self.times_as_slow(name):.3f} | {self.runs} {self.mark(name)}", flush=True)


def main():
    trees = [pathlib.Path(p).resolve() for p in sys.argv[1:3]]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    slower = []
    print(f"{'name':<22} | {'before':>18} | {'after':>18} | times as slow | runs of each")
    for name in groups():
        group = Group(name, trees)
        group.rounds(rounds)
        for again in range(AGAIN):
            if group.seem_slower():
                group.rounds(rounds << (again + 1))
        group.tell()
        slower += group.slower()
    print(f"turns: {'no row is' if not slower else str(len(slower)) + (' rows are' if len(slower) > 1 else ' row is')} slower by more than {100 * (SLOWER - 1):.0f} %" + (": " + ", ".join(slower) if slower else ""))
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
