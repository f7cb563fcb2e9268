#!/usr/bin/env python3
"""Profiles of jobs as `remuda-sim series` takes them. Usage: profiles.py PROFILE JOB RUN NODE FIRST_S"""
import math
import random
import sys


def source(job, run, node, first_s, device, values, gap_ms=2000):
    step = 0 if device >= 0 else -1
    print(f"source {job} {run} {node} {step} {device} {gap_ms} {int(first_s * 1000)}")
    for word, samples in values.items():
        print(word, *("-" if v is None else f"{v:.1f}" for v in samples))


def guide(job, run, node, first):
    """Two phases of ten epochs each, of 2 min 42 s; those of the second end with 20 s of nothing. Never above 50 %. Five of six CPUs are full."""
    n, r = 1620, random.Random(1)
    falls = [i >= 810 and i % 81 >= 71 for i in range(n)]
    source(job, run, node, first, 0, {
        "util": [3 if f else 44 + 5 * (2 * r.random() - 1) for f in falls],
        "mem": [11200] * n, "memtotal": [40960] * n,
        "power": [(90 if f else 190) + 8 * r.random() for f in falls]})
    source(job, run, node, first, -1, {"cpu": [515 + 10 * r.random() for _ in range(n)], "rss": [5200 + 20 * r.random() for _ in range(n)]})


def node8(job, run, node, first, slow=3):
    n, r = 1200, random.Random(2)
    for gpu in range(8):
        top = 55 if gpu == slow else 92
        source(job, run, node, first, gpu, {
            "util": [top + 6 * math.sin(i / 40 + gpu) + 3 * r.random() for i in range(n)], "sm": [top * 0.7 + 4 * r.random() for i in range(n)],
            "mem": [60000 + 100 * gpu] * n, "power": [(400 if gpu == slow else 640) + 20 * r.random() for _ in range(n)]})
    source(job, run, node, first, -1, {"cpu": [4000 + 300 * r.random() for _ in range(n)], "rss": [90000 + 20 * i for i in range(n)]})


def cpu(job, run, node, first):
    n, r = 600, random.Random(3)
    source(job, run, node, first, -1, {
        "cpu": [100 if i < 200 else 390 + 8 * r.random() for i in range(n)], "rss": [500 + i * 4 for i in range(n)],
        "read": [200000 if i < 200 else 30 for i in range(n)], "write": [10] * n})


def hang(job, run, node, first):
    """Two GPUs that wait in a collective from the 700th sample on: busy as before, without work."""
    n, r = 1600, random.Random(6)
    for gpu in range(2):
        source(job, run, node, first, gpu, {
            "util": [92 + 4 * r.random() if i < 700 else 100 for i in range(n)], "sm": [66 + 4 * r.random() if i < 700 else 0.4 for i in range(n)],
            "mem": [30000] * n, "memtotal": [81920] * n})
    source(job, run, node, first, -1, {"cpu": [200] * n, "rss": [9000] * n})


def flat(job, run, node, first):
    n = 200
    source(job, run, node, first, 0, {"util": [93] * n})
    source(job, run, node, first, -1, {"cpu": [99] * n})


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
