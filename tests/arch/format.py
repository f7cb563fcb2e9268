"""Every C file reads as clang-format (.clang-format of the root) writes it. Tables whose columns matter are marked off in the file.

Usage: format.py ROOT. TAP: one test a folder.
"""
import collections
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
folders = collections.defaultdict(list)
for top in ("src", "tests", "bench"):
    for path in sorted((root / top).rglob("*.[ch]")):
        folders[path.parent].append(str(path))

print(f"1..{len(folders)}")
for number, (folder, files) in enumerate(sorted(folders.items()), 1):
    name = folder.relative_to(root)
    if not shutil.which("clang-format"):
        print(f"ok {number} - {name} # SKIP clang-format is not installed")
        continue
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *files], capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if ": error:" in line})
    print(f"{'not ok' if done.returncode else 'ok'} {number} - {name}")
    for path in wrong:
        print(f"# {path}: clang-format -i would change it")
