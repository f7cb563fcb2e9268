#!/usr/bin/env python3
"""Each promise of docs/security.md names a test, and that test is there. Usage: promises.py ROOT

Of each row of the tables under "What is promised": the last cell names files ("unit NAME", "NAME.bats", "fuzz NAME", "bench") and, after them, what in them:
functions by name, titles of bats in quotes, cut by "…". Prints TAP.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
ROW = re.compile(r"(?<!\\)\|")


def rows(text):
    part = text[text.index("## What is promised"):text.index("## What was tried and held")]
    for line in part.splitlines():
        if line.startswith("|") and not re.match(r"\|[-| ]+\|$|\| tried ", line):
            yield [cell.strip() for cell in ROW.split(line)[1:-1]]


def files_named(cell):
    """(what is written, file) of each file that the cell names."""
    cell = cell.replace("`", "")
    for name in re.findall(r"\b(?:tests/)?(?:cli/)?(\w+)\.bats\b", cell):
        yield f"{name}.bats", root / "tests" / "cli" / f"{name}.bats"
    for name in re.findall(r"\bunit/(\w+)_test\.c", cell):
        yield name, root / "tests" / "unit" / f"{name}_test.c"
    for words in re.findall(r"\bunits? (\w+(?:, (?!units?\b)\w+)*)", cell):
        for name in words.split(", "):
            if name.startswith("fuzz_"):
                yield name, root / "tests" / "fuzz" / f"{name[5:]}_fuzz.c"
            elif (root / "tests" / "unit" / f"{name}_test.c").exists() or words.index(name) == 0:
                yield name, root / "tests" / "unit" / f"{name}_test.c"
    for name in re.findall(r"\bfuzz[_ ](\w+)", cell):
        yield f"fuzz {name}", root / "tests" / "fuzz" / f"{name}_fuzz.c"
    for name in re.findall(r"\b\w+\.py\b", cell):
        yield name, root / "tests" / "cli" / name
    if "bench" in cell:
        yield "bench", root / "bench" / "bench.py"


def missing(cell):
    named = list(files_named(cell))
    if not named:
        yield "it names no test"
    texts = []
    for name, path in named:
        if path.exists():
            texts.append(path.read_text(errors="replace"))
        else:
            yield f"{name}: there is no {path.relative_to(root)}"
    for title in re.findall(r'"([^"]+)"', cell):
        begin = title.rstrip(" …")
        if not any(f'@test "{begin}' in text for text in texts):
            yield f'no test is called "{begin}"'
    for function in re.findall(r"\b[a-z]+(?:_[a-z0-9]+){3,}\b", re.sub(r"unit/\w+_test\.c|decisions/\S+", "", cell)):
        if not any(re.search(rf"\b(test_)?{function}\b", text) for text in texts):
            yield f"no test is called {function}"


def main():
    n = failed = 0
    for row in rows((root / "docs" / "security.md").read_text()):
        n += 1
        wrong = [f"{len(row)} cells instead of 4"] if len(row) != 4 else list(missing(row[3]))
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {n} - {row[0][:90]}")
        for one in wrong:
            print(f"# {one}")
    print(f"1..{n}")
    sys.exit(failed > 0)


main()
