#!/usr/bin/env python3
"""Files of a folder that call each other in a circle cannot be read, moved or tested alone. For each folder the largest circle may not be larger
than the table says, and the table only ever shrinks: a smaller number found here is to be written down.

Who calls whom is what the linker sees: the global symbols that an object file needs and those that another of its folder defines.

Prints TAP. Usage: circles.py SOURCE_ROOT BUILD_ROOT
"""
import pathlib
import subprocess
import sys

# folder: files in its largest circle. The aim is 3 everywhere.
LARGEST = {
    "agent": 2,
    "base": 1,
    "cli": 3,
    "controller": 3,
    "core": 1,
    "io": 2,
    "model": 3,
    "node": 3,
    "sched": 2,
    "script": 2,
    "sim": 3,
    "store": 1,
    "wire": 1,
}


def symbols(paths):
    """What each object file defines, and what it needs: path → (names, names)."""
    out = subprocess.run(["nm", "-g", "-A", *paths], capture_output=True, text=True, check=True).stdout
    found = {p: (set(), set()) for p in paths}
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        words = rest.split()
        found[path][words[-2] == "U"].add(words[-1])
    return found


def calls(src, build):
    """file → files of the same folder whose functions or data it uses."""
    files = {"_".join(f.relative_to(src).parts) + ".o": f.relative_to(src).as_posix() for f in src.rglob("*.c")}
    paths = {str(p): files[p.name] for p in build.glob("*.p/*.o") if p.name in files}
    found = {paths[p]: both for p, both in symbols(list(paths)).items()} if paths else {}
    where = {name: file for file, (defines, _) in found.items() for name in defines}
    return {file: {where[n] for n in needs if n in where} - {file} for file, (_, needs) in found.items()}


def circles(graph):
    """Sets of files each of which reaches all others of its set (Tarjan's algorithm, 1972)."""
    order, low, stack, out = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in sorted(graph[file]):
            if other not in order:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], order[other])
        if low[file] == order[file]:
            at = stack.index(file)
            out.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(graph):
        if file not in order:
            visit(file)
    return out


def main():
    sys.setrecursionlimit(10000)
    src, build = pathlib.Path(sys.argv[1]) / "src", pathlib.Path(sys.argv[2]) / "src"
    print(f"1..{len(LARGEST)}")
    for number, (folder, most) in enumerate(LARGEST.items(), 1):
        graph = calls(src / folder, build / folder)
        largest = max(circles(graph), key=len, default=[])
        good = len(graph) > 0 and len(largest) == most
        if not graph:
            print(f"# no object files of {folder} below {build}")
        elif len(largest) > most:
            print(f"# {folder}: {' '.join(largest)}")
        elif len(largest) < most:
            print(f"# smaller than written down here: make it {len(largest)}")
        print(f"{'ok' if good else 'not ok'} {number} - {folder}: the largest circle of files has {len(largest)}, allowed are {most}")


main()
