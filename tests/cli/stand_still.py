"""stand_still.py PID FILE: the process of that number stands still, until this one ends; FILE is made when it does. Who is traced and stopped goes on by no signal but
SIGKILL: a daemon that finds its shepherd stopped sends SIGCONT. Exit status 77: processes cannot be traced here."""
import ctypes
import os
import signal
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
pid = int(sys.argv[1])
trace = ctypes.CDLL(None, use_errno=True).ptrace
if trace(PTRACE_SEIZE, pid, 0, 0) != 0 or trace(PTRACE_INTERRUPT, pid, 0, 0) != 0:
    sys.exit(77)
os.waitpid(pid, WALL)
with open(sys.argv[2], "w", encoding="ascii") as f:
    f.write("it stands")
signal.pause()
