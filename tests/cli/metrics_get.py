#!/usr/bin/env python3
"""A request over HTTP, as curl makes it, which not every machine has.

Usage: metrics_get.py [-X METHOD] [-H HEADER] [--unix SOCKET] [--status|--type] PORT PATH
Prints the body; with --status only the number, with --type only the Content-Type. Exits with 7 where nobody answers.
"""
import argparse
import http.client
import socket
import sys

p = argparse.ArgumentParser()
p.add_argument("-X", default="GET")
p.add_argument("-H", action="append", default=[])
p.add_argument("--unix")
p.add_argument("--status", action="store_true")
p.add_argument("--type", action="store_true")
p.add_argument("port", type=int)
p.add_argument("path")
o = p.parse_args()
c = http.client.HTTPConnection("127.0.0.1", o.port, timeout=60)
try:
    if o.unix:
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(o.unix)
    c.request(o.X, "/" + o.path, headers=dict(h.split(": ", 1) for h in o.H))
    answer = c.getresponse()
    body = answer.read()
except (OSError, http.client.HTTPException):
    sys.exit(7)
sys.stdout.write(str(answer.status) + "\n" if o.status else answer.headers["Content-Type"] + "\n" if o.type else body.decode())
