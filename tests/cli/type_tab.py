#!/usr/bin/env python3
"""type_tab.py FILE TEXT WANTED: bash in a terminal reads FILE, somebody types TEXT and the key TAB; does WANTED come to stand there? 20 s at most."""
import os
import pty
import select
import sys
import time

FILE, TEXT, WANTED = sys.argv[1:]
END = time.monotonic() + 20
child, terminal = pty.fork()
if child == 0:
    os.environ["PS1"] = "ready> "
    os.environ["TERM"] = "dumb"
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = ""


def until(text):
    global seen
    while text not in seen:
        if time.monotonic() > END:
            sys.exit(f"never: {text!r} in {seen!r}")
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")


def write(text):
    global seen
    seen = ""
    os.write(terminal, text.encode())


until("ready> ")
write(f". {FILE}; echo done''now\n")
until("donenow")
until("ready> ")
write(f"{TEXT}\t")
until(WANTED)
os.close(terminal)
os.waitpid(child, 0)
