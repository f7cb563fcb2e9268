#!/usr/bin/env python3
"""What git keeps is written by hand and read by people: no program, no memory image, no archive,
nothing generated. A file is text in UTF-8 and no larger than LARGEST; links lead into the tree.

Prints TAP. Usage: tracked.py SOURCE_ROOT
"""
import os
import pathlib
import subprocess
import sys

# bytes; the largest is what examples/digits learns from
LARGEST = 128 * 1024


def wrong(root, name):
    """What is wrong with a file, or None."""
    path = root / name
    if path.is_symlink():
        where = pathlib.Path(os.path.normpath(path.parent / os.readlink(path)))
        return None if where.is_relative_to(root) and where.exists() else "a link that leads out of the tree"
    if not path.is_file():
        return None  # taken away and not yet told to git
    data = path.read_bytes()
    if b"\0" in data:
        return "is binary"
    if len(data) > LARGEST:
        return f"has {len(data)} bytes, more than {LARGEST}"
    try:
        data.decode()
    except UnicodeDecodeError as e:
        return f"is not UTF-8 at byte {e.start}"
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if listed.returncode:
        print("1..0 # SKIP no git here, so nobody knows what is kept")
        return 0
    names = [os.fsdecode(n) for n in listed.stdout.split(b"\0") if n]
    found = [(n, w) for n in names if (w := wrong(root, n))]
    print("1..1")
    print("ok 1 - what git keeps is text" if not found else "not ok 1 - what git keeps is text")
    for name, what in found:
        print(f"# {name}: {what}")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
