#!/usr/bin/env python3
"""type_tab.py SHELL PREFIX [TEXT WANTED]…: somebody types TEXT and the key TAB in a terminal of bash, zsh or fish, which has the completion installed
below PREFIX. Does WANTED come to stand there? The line is not run but echoed. 60 s at most."""
import os
import pty
import re
import select
import sys
import time

SHELL, PREFIX, *LINES = sys.argv[1:]
END = time.monotonic() + 60
COMMAND = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}[SHELL]
# What a login does that finds the files: bash and fish load them by the command's name, zsh by its path of functions.
READ = {
    "bash": f". {PREFIX}/share/bash-completion/completions/remuda",
    "zsh": f"fpath=({PREFIX}/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; bindkey -e",
    "fish": f"source {PREFIX}/share/fish/vendor_completions.d/remuda.fish",
}[SHELL]
child, terminal = pty.fork()
if child == 0:
    os.environ["PS1"] = "ready> "
    os.environ["TERM"] = "dumb" if SHELL == "bash" else "xterm"
    os.execvp(COMMAND[0], COMMAND)
seen = ""


def until(text):
    global seen
    while text not in seen:
        if time.monotonic() > END:
            sys.exit(f"{SHELL}: never: {text!r} in {seen!r}")
        if select.select([terminal], [], [], 0.2)[0]:
            more = os.read(terminal, 4096).decode(errors="replace")
            if "\x1b[c" in more:  # fish asks what terminal this is
                os.write(terminal, b"\x1b[?62c")
            seen += re.sub(r"\x1b(\[[0-9;?=>]*[a-zA-Z]|\][^\x07]*\x07|[=>()]B?)|\r", "", more)


def write(text):
    global seen
    seen = ""
    os.write(terminal, text.encode())


if SHELL == "bash":
    until("ready> ")
write(f"{READ}; echo done''now\n")
until("donenow")
for text, wanted in zip(LINES[::2], LINES[1::2]):
    # ^A: to the start of the line. What is echoed stands on a line of its own.
    write(f"{text}\t\x01echo @@ \n")
    until(f"\n@@ {wanted}")
os.close(terminal)
os.waitpid(child, 0)
