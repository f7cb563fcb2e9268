#!/usr/bin/env python3
"""Code, comments and pages are read at 100 columns. clang-format keeps code there; for each folder
of src/ the number of wider lines with a comment on them may not be larger than the table says, and
the table only ever shrinks. In pages only tables, what is shown as typed or printed, and words that
cannot be broken are wider.

No declaration is torn: where a comment does not fit behind it, it stands above, or the formatter
breaks the declaration for its sake.

Prints TAP. Usage: widths.py SOURCE_ROOT
"""
import pathlib
import re
import sys

WIDTH = 100
# folder: lines that are wider and have a comment on them. The aim is 0 everywhere.
WIDER = {
    "agent": 0,
    "base": 0,
    "cli": 0,
    "controller": 0,
    "core": 0,
    "io": 0,
    "model": 0,
    "node": 0,
    "reading": 0,
    "sched": 0,
    "script": 0,
    "sim": 0,
    "store": 0,
    "wire": 0,
}


def wider(path):
    """Numbers of the lines that are too wide and are, or end in, a comment."""
    inside, found = False, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        begins = line.rfind("/*")
        comment = inside or (begins >= 0 and (line.rfind("*/") < begins or line.rstrip().endswith("*/")))
        if begins >= 0 or inside:
            inside = line.rfind("*/") < begins if begins >= 0 else "*/" not in line
        if comment and len(line) > WIDTH:
            found.append(number)
    return found


# A member or prototype, the arguments of one, a limit, each broken before what the comment is about.
TORN = (
    re.compile(r"^[ \t]*(?:(?:static|const|struct|enum|unsigned) )*\w+(?: \*+)?\n[ \t]+(?:\**\w*(?:\[[^\]]*\])?;)[ \t]*/\*", re.M),
    re.compile(r"^[ \t]*[a-z][^\n;{}]*\(\n[ \t]+[^\n;]*;[ \t]*/\*", re.M),
    re.compile(r"^#define \w+[ ]+\\\n[ \t]+[^\n\\]*/\*", re.M),
)


def torn(path):
    """Numbers of the lines where a torn declaration begins."""
    text = path.read_text()
    return sorted(text.count("\n", 0, m.start()) + 1 for pattern in TORN for m in pattern.finditer(text))


def wide_prose(path):
    """Numbers of the lines of a page that could be broken and are not."""
    shown, found = False, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            shown = not shown
        elif not shown and len(line) > WIDTH and not line.startswith(("|", "    ", "#")) and " " in line[:WIDTH].strip():
            found.append(number)
    return found


LONG = 500  # longer files are split where they have a seam


def longer(root):
    """Sources and tests of more lines than one reads at a sitting: path: lines."""
    found = [*root.glob("src/**/*.[ch]"), *(p for p in root.glob("tests/**/*") if p.suffix in (".c", ".h", ".bats", ".bash", ".py"))]
    lines = {p.relative_to(root).as_posix(): len(p.read_text(errors="replace").splitlines()) for p in sorted(found)}
    return {path: n for path, n in lines.items() if n > LONG}


def main():
    root = pathlib.Path(sys.argv[1])
    src = root / "src"
    folders = sorted(p.name for p in src.iterdir() if p.is_dir())
    print(f"1..{len(folders) + 3}")
    for number, folder in enumerate(folders, 1):
        found = {p: wider(p) for p in sorted((src / folder).rglob("*.[ch]"))}
        lines, most = sum(len(v) for v in found.values()), WIDER.get(folder, 0)
        if lines > most:
            for path, numbers in found.items():
                if numbers:
                    print(f"# {path.relative_to(src)}: {' '.join(map(str, numbers))}")
        print(f"{'ok' if lines <= most else 'not ok'} {number} - {folder}: {lines} comments are wider than {WIDTH} columns, allowed are {most}")
    broken = {p: torn(p) for p in sorted(src.rglob("*.[ch]"))}
    for path, numbers in broken.items():
        if numbers:
            print(f"# {path.relative_to(src)}: {' '.join(map(str, numbers))}: the comment goes above")
    lines = sum(map(len, broken.values()))
    print(f"{'not ok' if lines else 'ok'} {len(folders) + 1} - {lines} declarations are torn by a comment behind them")
    pages = {p: wide_prose(p) for p in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])}
    for path, numbers in pages.items():
        if numbers:
            print(f"# {path.relative_to(root)}: {' '.join(map(str, numbers))}")
    lines = sum(map(len, pages.values()))
    print(f"{'not ok' if lines else 'ok'} {len(folders) + 2} - pages: {lines} lines of prose are wider than {WIDTH} columns")
    long = longer(root)
    for path, n in long.items():
        print(f"# {path}: {n}")
    print(f"{'not ok' if long else 'ok'} {len(folders) + 3} - {len(long)} files of src and tests have more than {LONG} lines")


if __name__ == "__main__":
    main()
