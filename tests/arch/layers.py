#!/usr/bin/env python3
"""The layers of ARCHITECTURE.md: each folder of src/ includes only what its row lists, each library's headers stay in their folder, no cycles;
rooms within a folder likewise.

Prints TAP. Usage: layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# folder: (folders it may include, system headers of libraries it may include)
LAYERS = {
    "base": (set(), set()),
    "model": ({"base"}, set()),
    "sched": ({"model", "base"}, set()),
    "core": ({"sched", "model", "base"}, set()),
    "agent": ({"model", "base"}, set()),
    "wire": ({"model", "base"}, set()),
    "reading": ({"wire", "model", "base"}, set()),
    "script": ({"model", "base"}, set()),
    "store": ({"model", "base"}, {"sqlite3.h"}),
    "io": ({"wire", "model", "base"}, {"uv.h", "openssl/", "http_parser.h"}),
    "smtp": ({"io", "base"}, {"curl/"}),
    "pmix": ({"agent", "io", "wire", "model", "base"}, {"pmix.h", "pmix_server.h"}),
    "node": ({"agent", "io", "wire", "model", "base"}, {"hwloc.h", "hwloc/"}),
    "controller": ({"core", "sched", "store", "reading", "io", "wire", "model", "base", "node"}, set()),
    "cli": ({"reading", "script", "io", "wire", "model", "base"}, set()),
    "sim": ({"core", "agent", "sched", "wire", "store", "model", "base"}, {"zlib.h"}),
}
# All that the controller may see of node/, the entry of the other role of the same program; and remuda-pmix of io/.
ONLY = {("controller", "node"): {"node/node.h"}, ("pmix", "io"): {"io/net/socket_owner.h"}}
LIBRARIES = ("json-c/", "sqlite3.h", "uv.h", "openssl/", "hwloc.h", "hwloc/", "nvml.h", "zlib.h", "http_parser.h", "curl/", "pmix.h", "pmix_server.h")
# Library headers that one file alone may include.
ONE_FILE = {"http_parser.h": "io/net/http.c"}
# Rooms: folder: {room: rooms of the same folder that it may include}. What lies in the folder itself is for all of its rooms.
ROOMS = {
    "base": {"calendar": set()},
    "controller": {"disk": set(), "site": set(), "series": set(), "session": {"disk", "site"}},
    "store": {"used": set(), "sqlite": {"used"}, "file": {"sqlite"}},
    "io": {"process": set(), "net": set(), "client": {"net"}},
    "script": {"options": set(), "lsf": {"options"}, "pbs": {"options"}, "lint": {"options", "lsf", "pbs"}},
    "sim": {"replay": set(), "report": {"replay"}, "world": set(), "story": {"world", "replay", "report"}},
    "model": {
        "grammar": set(),
        "record": {"grammar"},
        "job": {"grammar", "record"},
        "message": {"grammar", "record", "job"},
        "env": {"grammar", "record", "job"},
        "settings": {"grammar", "record"},
    },
    "core": {
        "record": set(),
        "step": {"record"},
        "life": {"record", "step"},
        "node": {"record", "step", "life"},
        "load": {"record", "step", "life", "node"},
        "request": {"record", "step", "life", "node", "load"},
        "query": {"record", "step", "life", "node", "load", "request"},
    },
    "sched": {
        "books": set(),
        "request": {"books"},
        "world": {"books", "request"},
        "pass": {"books", "request", "world"},
        "answer": {"books", "request", "pass"},
    },
    "node": {
        "step": set(),
        "cgroup": {"step"},
        "hardware": {"step", "cgroup"},
        "shepherd": {"step", "cgroup"},
        "host": {"hardware"},
        "daemon": {"step", "cgroup", "hardware"},
    },
    "cli": {
        "program": set(),
        "table": {"program"},
        "record": {"program", "table"},
        "listing": {"program", "table", "record"},
        "complete": {"program", "table", "record"},
        "container": {"program"},
        "submit": {"program", "table"},
        "step": {"program", "submit"},
        "lsf": {"program", "table", "record", "submit", "reports"},
        "pbs": {"program", "table", "record", "submit", "lsf", "reports"},
        "scontrol": {"program", "table", "record", "submit", "accounts"},
        "cluster": {"program", "table"},
        "accounts": {"program", "table"},
        "plot": {"program", "table", "record"},
        "reports": {"program", "table", "record", "plot"},
    },
}
# Arrows that go upward still: (file, header). A new one is refused, and so is a line here that is not needed any more.
UPWARD = set()
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


FOLDER_FILES = 35


def includes(path):
    return INCLUDE.findall(path.read_text(errors="replace"))


def complaints_of(folder, src):
    may, libraries = LAYERS[folder]
    found = []
    for path in sorted((src / folder).rglob("*.[ch]")):
        name = path.relative_to(src).as_posix()
        for quote, header in includes(path):
            top = header.split("/")[0]
            if quote == '"':
                if "/" not in header or not (src / header).exists():
                    found.append(f'{name}: "{header}" is no path below src/')
                elif top != folder and top not in may:
                    found.append(f"{name}: {folder} may not include {header}")
                elif header not in ONLY.get((folder, top), {header}):
                    found.append(f"{name}: {folder} may include only {ONLY[folder, top]} of {top}")
                continue
            for library in LIBRARIES:
                if header.startswith(library):
                    if library not in libraries:
                        found.append(f"{name}: {folder} may not include <{header}>")
                    one = ONE_FILE.get(library)
                    if one and name != one:
                        found.append(f"{name}: <{header}> belongs to {one} alone")
    return found


def room_of(name):
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else None


def room_complaints(folder, src):
    rooms, found, upward = ROOMS[folder], [], set()
    for path in sorted((src / folder).rglob("*.[ch]")):
        name = path.relative_to(src).as_posix()
        room = room_of(name)
        if room and room not in rooms:
            found.append(f"{name}: {room} is no room of {folder}")
            continue
        for quote, header in includes(path):
            other = room_of(header) if quote == '"' and header.startswith(folder + "/") else None
            if not room or not other or other == room or other in rooms[room]:
                continue
            upward.add((name, header))
            if (name, header) not in UPWARD:
                found.append(f"{name}: {room} may not include {header}")
    for name, header in sorted(UPWARD - upward):
        if name.startswith(folder + "/"):
            found.append(f"{name} does not include {header} any more: take the line out of UPWARD")
    return found


def cycle_of(graph):
    """One cycle in the graph of folders, or None."""
    state = {}

    def visit(node, trail):
        if state.get(node) == "done":
            return None
        if state.get(node) == "open":
            return trail[trail.index(node):] + [node]
        state[node] = "open"
        for other in sorted(graph.get(node, ())):
            cycle = visit(other, trail + [node])
            if cycle:
                return cycle
        state[node] = "done"
        return None

    for node in sorted(graph):
        cycle = visit(node, [])
        if cycle:
            return cycle
    return None


def full_folders(src):
    """Folders that hold more files than one finds his way in."""
    return [f"{p.relative_to(src)}: {n} files" for p in sorted(src.rglob("*")) if p.is_dir() and (n := sum(1 for f in p.iterdir() if f.suffix in (".c", ".h"))) > FOLDER_FILES]


def main():
    src = pathlib.Path(sys.argv[1]) / "src"
    folders = sorted(p.name for p in src.iterdir() if p.is_dir())
    print(f"1..{len(folders) + 2 + len(ROOMS)}")
    graph = {}
    for number, folder in enumerate(folders, 1):
        found = complaints_of(folder, src) if folder in LAYERS else [f"{folder} has no row in the table of layers"]
        graph[folder] = {h.split("/")[0] for p in (src / folder).rglob("*.[ch]") for q, h in includes(p) if q == '"'} - {folder}
        for line in found:
            print(f"# {line}")
        print(f"{'not ok' if found else 'ok'} {number} - {folder} includes only what its row lists")
    cycle = cycle_of(graph)
    if cycle:
        print(f"# {' -> '.join(cycle)}")
    print(f"{'not ok' if cycle else 'ok'} {len(folders) + 1} - no cycles between folders")
    for number, folder in enumerate(ROOMS, len(folders) + 2):
        found = room_complaints(folder, src)
        for line in found:
            print(f"# {line}")
        print(f"{'not ok' if found else 'ok'} {number} - the rooms of {folder} include only what their rows list")
    found = full_folders(src)
    for line in found:
        print(f"# {line}: a part of them wants a room")
    print(f"{'not ok' if found else 'ok'} {len(folders) + 2 + len(ROOMS)} - no folder holds more than {FOLDER_FILES} files")


main()
