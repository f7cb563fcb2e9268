#!/usr/bin/env python3
"""What a user gets out of processes that are his already but run nothing of his yet, in the cluster of $REMUDA_STATE. Used by strangers.bats.

strangers.py steal        as the user: tries every way into each process of his uid that executes remuda-shepherd; one line for each thing got,
                          and how many processes it tried
strangers.py search UID WORD…
                          as root: "PID WORD" for each of the words found in the memory of such a process of that user
strangers.py session COMMAND…
                          runs it in a session keyring of its own, with a key in it, "strangers-session"
strangers.py outside      as the user, until there is a file "enough": tries to take over each process of his that a program of root's of ours began and
                          that is in no job's control group; a line for each that he got, and for the first of each kind
strangers.py keys NAME    in a job: the keys within its reach of those that are asked for; leaves one of that name behind
"""
import ctypes
import errno
import os
import re
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 16, 17, 0x4206
ADD_KEY, KEYCTL = 248, 250
KEYCTL_JOIN_SESSION, KEYCTL_SEARCH, KEYCTL_READ = 1, 10, 11
SESSION, OF_USER = -3, -4
PIDFD_OPEN, PIDFD_GETFD, PROCESS_VM_READV = 434, 438, 310


def field(pid, name):
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(name + ":"):
                return line.split()[1]


def shepherds(uid):
    """Processes of that user that execute the shepherd program."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                words = f.read().decode(errors="replace").split("\0")
            ours = words[0].endswith("remuda-shepherd") and words[1].startswith(os.environ["REMUDA_STATE"])
            if name.isdigit() and ours and int(field(name, "Uid")) == uid:
                yield int(name)
        except (OSError, TypeError, IndexError):
            pass


def may_read(path):
    try:
        with open(path, "rb") as f:
            f.read(1)
    except OSError as e:
        return isinstance(e, IsADirectoryError)
    return True


def may_list(path):
    try:
        os.listdir(path)
    except OSError:
        return False
    return True


def descriptors(pid):
    process = libc.syscall(PIDFD_OPEN, pid, 0)
    return [n for n in range(64) if process >= 0 and libc.syscall(PIDFD_GETFD, process, n, 0) >= 0]


def attached(pid, how):
    if libc.ptrace(how, pid, None, None) != 0:
        return False
    libc.ptrace(PTRACE_DETACH, pid, None, None)
    return True


def steal():
    tried = 0
    for pid in shepherds(os.getuid()):
        tried += 1
        for name in ("mem", "environ", "maps", "auxv"):
            if may_read(f"/proc/{pid}/{name}"):
                print(pid, name)
        for name in ("fd", "map_files"):
            if may_list(f"/proc/{pid}/{name}"):
                print(pid, name)
        for n in descriptors(pid):
            print(pid, "descriptor", n)
        for how in (PTRACE_ATTACH, PTRACE_SEIZE):
            if attached(pid, how):
                print(pid, "ptrace", how)
    print("tried", tried)


def outside_job(uid):
    """Pid and words of the command line of those that are younger than this one."""
    for name in os.listdir("/proc"):
        try:
            if not name.isdigit() or int(name) < os.getpid() or int(field(name, "Uid")) != uid:
                continue
            parent = field(name, "PPid")
            with open(f"/proc/{parent}/comm") as f:
                ours = f.read().startswith("remuda") and field(parent, "Uid") == "0"
            with open(f"/proc/{name}/cgroup") as f:
                in_job = re.search(r"/remuda\.[^/\n]*/g[0-9]", f.read())
            if ours and not in_job:
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    yield int(name), f.read().decode(errors="replace").split("\0")
        except (OSError, TypeError):
            pass


def has_memory(pid):
    """Within reach: one that is ending has none any more, so anybody may attach to it."""
    try:
        with open(f"/proc/{pid}/maps") as f:
            return f.read(1) != ""
    except OSError:
        return False


def outside():
    seen, until = set(), time.monotonic() + 120
    while not os.path.exists("enough") and time.monotonic() < until:
        for pid, words in outside_job(os.getuid()):
            kind = words[1].lstrip("-") if len(words) > 1 else "?"
            if attached(pid, PTRACE_SEIZE) and has_memory(pid):
                print("got", *words, flush=True)
            if kind not in seen:
                print("tried", kind, flush=True)
            seen.add(kind)


def search(words):
    for pid in shepherds(int(words.pop(0))):
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                span, mode = line.split()[:2]
                start, end = (int(x, 16) for x in span.split("-"))
                if "w" not in mode or end - start > 64 << 20:
                    continue
                try:
                    mem.seek(start)
                    data = mem.read(end - start)
                except OSError:
                    continue
                for word in words:
                    if word.encode() in data:
                        print(pid, word)


def session(command):
    """77: this kernel has no keyrings, or gives none here."""
    ring = libc.syscall(KEYCTL, KEYCTL_JOIN_SESSION, None)
    if ring < 0 or libc.syscall(ADD_KEY, b"user", b"strangers-session", b"secret", 6, ring) < 0:
        sys.exit(77)
    os.execvp(command[0], command)


def keys(name):
    """What a user's own keyring has outlives the test: there it is called by the cluster's name, too."""
    own = "strangers-own" + os.environ["REMUDA_STATE"]
    for one in ("strangers-session", "strangers-first", own):
        key = libc.syscall(KEYCTL, KEYCTL_SEARCH, SESSION, b"user", one.encode(), 0)
        if key >= 0:
            print("found", "strangers-own" if one == own else one)
        elif ctypes.get_errno() != errno.ENOKEY:
            print(one, os.strerror(ctypes.get_errno()))
    for ring, one in ((SESSION, name), (OF_USER, own)):
        if libc.syscall(ADD_KEY, b"user", one.encode(), b"x", 1, ring) < 0:
            print("cannot leave", one, os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    if sys.argv[1] == "session":
        session(sys.argv[2:])
    elif sys.argv[1] == "keys":
        keys(sys.argv[2])
    elif sys.argv[1] == "outside":
        outside()
    elif sys.argv[1] == "steal":
        steal()
    else:
        search(sys.argv[2:])
