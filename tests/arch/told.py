#!/usr/bin/env python3
"""What a header tells, and what code insists on. Someone new reads the headers alone: each function
declared there has its contract in a comment of its own, above or beside it; of what is no row of a
table, two lines in five are comment. Where code is hard, it says
why. At the heads of deeds stands what must hold (ASSERT, CHECK; base/alloc.h). The structs that
everything writes have parts.

The bounds only move towards the aims of docs/decisions/0141. They stand a little below what is
there, so that a large change may come without: a share that is met by filling says nothing.

Prints TAP. Usage: told.py SOURCE_ROOT
"""
import pathlib
import re
import sys

HARD = {  # where the code is hard, reasons are wanted: name: pattern of files
    "sched/world": "sched/world/*.c",
    "pass/live": "sched/pass/live*.c",
    "pass/preempt": "sched/pass/preempt/*.c",
    "core/life": "core/life/*.c",
}
DEEDS = ("core", "sched", "agent", "node", "controller", "store")  # where assertions stand at the heads of deeds
STRUCTS = {"core": "core", "world": "sched", "cluster": "sched"}  # tag: folder where it is declared

UNTOLD = 0  # functions declared without a word
COMMENT = 40  # % of headers beside rows of tables, at least: the aim
REASONS = 7.8  # % of files whose code is hard, at least. The aim is 8
# Assertions per 1,000 lines, at least. The aim is 5 in all: what reads foreign bytes has none to make.
ASSERTIONS = {"": 4.8, "core": 11, "sched": 10, "agent": 10.5, "node": 5, "controller": 5.8, "store": 5.5}
MEMBERS = {"core": 28, "world": 10, "cluster": 18}  # at most

FUNCTION = re.compile(r"^(?!typedef|#|static|return|else|extern)[A-Za-z_][\w \*]*?\b(\w+)\(")
# What may stand between a comment and what it is about.
BETWEEN = re.compile(r"^(?:(?:struct|enum) \w+;|typedef .*;|#define \w+|enum \w+ \{.*\};)")


def files(src, suffix):
    return sorted(p for p in src.rglob("*" + suffix))


def lines_of(path):
    return path.read_text(errors="replace").splitlines()


def is_comment(lines):
    """For each line whether it is (also) comment."""
    inside, out = False, []
    for line in lines:
        out.append(inside or "/*" in line or "//" in line)
        opened, closed = line.rfind("/*"), line.rfind("*/")
        if opened > closed:
            inside = True
        elif closed >= 0:
            inside = False
    return out


def told(src):
    """Percent of comment among the lines of headers that are no rows of tables, which say in their own texts what they are."""
    total = comment = 0
    for path in files(src, ".h"):
        lines, row = lines_of(path), False
        for line, c in zip(lines, is_comment(lines)):
            row = not c and (re.match(r"\s*X\(", line) is not None or row)
            total += not row
            comment += c and not row
            row = row and line.rstrip().endswith("\\")
    return 100 * comment / total


def functions(path):
    """(line, name, is it told) of each function that a header declares."""
    lines, under, at = lines_of(path), False, 0
    while at < len(lines):
        line = lines[at].strip()
        if line.startswith("/*"):
            while "*/" not in lines[at]:
                at += 1
            under = True
        elif m := FUNCTION.match(lines[at]):
            first = at
            while not re.search(r"[;{]", lines[at]) and at + 1 < len(lines):
                at += 1
            yield first + 1, m.group(1), under or any("/*" in text for text in lines[first : at + 1])
            under = False
        elif not BETWEEN.match(line):
            under = False
        at += 1


def untold(src):
    """Functions that headers declare without a word: (file, line, name); and how many they declare."""
    found, n = [], 0
    for path in files(src, ".h"):
        for line, name, is_told in functions(path):
            n += 1
            if not is_told:
                found.append((path, line, name))
    return found, n


def reasons(src):
    """Percent of comment where the code is hard."""
    out = {}
    for name, pattern in HARD.items():
        lines = [c for path in src.glob(pattern) for c in is_comment(lines_of(path))]
        out[name] = 100 * sum(lines) / max(len(lines), 1)
    return out


def assertions(folder):
    """Per 1,000 lines."""
    texts = [p.read_text(errors="replace") for p in files(folder, ".c")]
    lines = sum(len(t.splitlines()) for t in texts)
    return 1000 * sum(len(re.findall(r"\b(?:CHECK|ASSERT)\(", t)) for t in texts) / max(lines, 1)


def members(src, tag):
    """How many there are, and how many of them are no part: neither a struct nor a list."""
    for path in files(src, ".h") + files(src, ".c"):
        m = re.search(r"^struct " + tag + r" \{\n(.*?)^\};", path.read_text(errors="replace"), re.M | re.S)
        if m:
            text = re.sub(r"/\*.*?\*/", "", m.group(1), flags=re.S)
            text = re.sub(r"\{[^{}]*\}", "", text)
            lines = [(line.strip(), 1 if "VEC" in line else 1 + line.count(",")) for line in re.findall(r"[^;]+;", text)]
            return sum(n for _, n in lines), sum(n for line, n in lines if not re.match(r"(?:const )?struct |VEC\(", line))
    return 0, 0


def main():
    src = pathlib.Path(sys.argv[1]) / "src"
    silent, n = untold(src)
    for path, line, name in silent:
        print(f"# {path.relative_to(src)}:{line}: {name} is declared without a word: what it takes, gives, frees, and when it fails")
    share, hard = told(src), reasons(src)
    rows = [
        (len(silent) <= UNTOLD, f"{len(silent)} of {n} functions are declared without a word"),
        (share >= COMMENT, f"headers: {share:.1f} % comment beside rows of tables, at least {COMMENT}"),
    ]
    rows += [(found >= REASONS, f"{name}: {found:.1f} % comment, at least {REASONS}") for name, found in hard.items()]
    for folder, least in ASSERTIONS.items():
        found = assertions(src / folder)
        rows.append((found >= least, f"{folder or 'src'}: {found:.1f} assertions per 1,000 lines, at least {least}"))
    for tag, most in MEMBERS.items():
        found, _ = members(src / STRUCTS[tag], tag)
        rows.append((found <= most, f"struct {tag}: {found} members, at most {most}: is the new one of a part?"))
    print(f"1..{len(rows)}")
    for number, (good, text) in enumerate(rows, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {text}")


if __name__ == "__main__":
    main()
