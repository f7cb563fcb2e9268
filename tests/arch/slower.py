#!/usr/bin/env python3
"""What bench/turns.py calls slower. It runs over two trees whose figures stand here, printed as the programs of bench/ print them: a row that is slower is found, what only the last digit
of a printed figure, or chance, may make so is not called so.

Prints TAP. Usage: slower.py SOURCE_ROOT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FEW = "its digits are too few to say"
MIXED = "its runs differ too much to say"
# name: what is printed before, after; goal; what is said of it. Of a list each run has the next, the last for ever.
PRINTED = {
    "equal": ("0.11 ms", "0.11 ms", "<= 10", ""),
    "one in the last digit": ("0.11 ms", "0.12 ms", "<= 10", FEW),
    "the same, printed finer": ("0.1100 ms", "0.1200 ms", "<= 10", "SLOWER"),
    "the same, finer in one": ("0.11 ms", "0.1200 ms", "<= 10", FEW),
    "nothing and a little": ("0.00 ms", "0.01 ms", "<= 10", FEW),
    "nothing and more": ("0.00 ms", "0.02 ms", "<= 10", "SLOWER"),
    "a seventh": ("0.79 ms", "0.90 ms", "<= 10", "SLOWER"),
    "less than is minded": ("1.000 ms", "1.049 ms", "<= 10", ""),
    "faster": ("1.000 ms", "0.500 ms", "<= 10", ""),
    "fewer of what has to be many": ("20000 jobs", "18000 jobs", "10000", "SLOWER"),
    "more of them": ("18000 jobs", "20000 jobs", "10000", ""),
    "no goal": ("100 ms", "120 ms", "", "SLOWER"),
    "mixed": (["1.00 ms", "1.20 ms"] * 3 + ["1.00 ms"], ["1.20 ms", "1.00 ms"] * 3 + ["1.20 ms"], "", MIXED),
    "slower, as steady as that": (["1.00 ms", "1.04 ms", "1.02 ms"] * 3, ["1.10 ms", "1.15 ms", "1.12 ms"] * 3, "", "SLOWER"),
    "fewer of them, each time": (["2000 jobs", "2050 jobs"] * 4, ["1800 jobs", "1850 jobs"] * 4, "1000", "SLOWER"),
    "slower once": ("0.100 ms", ["0.200 ms", "0.100 ms"], "", ""),
    "only after": (None, "0.100 ms", "", ""),
}
# The same of rows that are held to a baseline: ratio before, after; goal.
HELD = {
    "ratio": ("0.500 x", "0.530 x", "<= 3 x", "SLOWER"),
    "ratio, one in the last digit": ("0.11 x", "0.12 x", "<= 3 x", FEW),
    "ratio that has to be large": ("0.600 x", "0.500 x", ">= 0.6 x", "SLOWER"),
    "ratio that grew": ("0.500 x", "0.600 x", ">= 0.6 x", ""),
    "what is no ratio": ("12 ms each", "20 ms each", "", ""),
}
BENCH = """
import json, pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import goals
build, tree = map(pathlib.Path, sys.argv[1:])
if not tree.is_dir() or build == tree:
    sys.exit("no row ?; there are all")
said = json.loads((tree / "said.json").read_text())
run = len(list(tree.glob("run*")))
(tree / f"run{run}").touch()
figure = lambda each: each if isinstance(each, str) else each[min(run, len(each) - 1)]
lines = [f"{name} | {figure(each)} | {goal}" for name, (each, goal) in said["printed"].items()]
rows = [dict(name=name, figure=value, last=last, unit=unit, ratio="", goal=f"{goal.sign} {goal.limit}" if goal else "")
        for name, value, last, unit, goal in goals.printed("# a remark\\n" + "\\n".join(lines))]
rows += [dict(name=name, figure=1.0, unit="ms", ratio=ratio, goal=goal) for name, (ratio, goal) in said["held"].items()]
(build / "bench.json").write_text(json.dumps(rows))
"""


def compare(root, folder):
    """What turns.py prints, and its exit status."""
    (folder / "bench").mkdir()
    for name in ("turns.py", "goals.py"):
        shutil.copy(root / "bench" / name, folder / "bench")
    (folder / "bench" / "bench.py").write_text(BENCH)
    for which, tree in enumerate(("before", "after")):
        (folder / tree / "build").mkdir(parents=True)
        said = {kind: {name: (row[which], row[2]) for name, row in rows.items() if row[which] is not None} for kind, rows in (("printed", PRINTED), ("held", HELD))}
        (folder / tree / "said.json").write_text(json.dumps(said))
    done = subprocess.run([sys.executable, "-B", folder / "bench" / "turns.py", folder / "before", folder / "after", "1"], capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode


def main():
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        text, status = compare(root, pathlib.Path(folder))
    said = {m.group(1).strip(): m.group(2) for m in re.finditer(r"^([^|\n]+)\|[^|\n]*\|[^|\n]*\|[^|\n]*\| \d+ (.*)$", text, re.M)}
    expected = {name: row[3] for name, row in {**PRINTED, **HELD}.items()}
    slower = [name for name, mark in expected.items() if mark == "SLOWER"]
    checks = [(said.get(name) == mark, f"{name}: {mark or 'nothing'} is said") for name, mark in expected.items()]
    checks.append((status == 1 and f"turns: {len(slower)} rows are slower by more than 5 %: {', '.join(slower)}" in text, "the last line and the exit status tell"))
    print(f"1..{len(checks)}")
    for number, (good, what) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
    if not all(good for good, _ in checks):
        print("".join(f"# {line}\n" for line in text.splitlines()), end="")


main()
