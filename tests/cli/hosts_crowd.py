#!/usr/bin/env python3
"""The root of a login host, who speaks for as many users as he makes up: opens connections, one a user, until one is refused.

Usage: hosts_crowd.py HOST_STATE_DIR CONTROLLER MOST   Prints how many are open and what was said to the one that was refused, then waits until its input ends.
"""
import json
import socket
import ssl
import struct
import sys

state, controller, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.load_verify_locations(f"{state}/tls/authority.crt")


def frame(kind, **fields):
    text = json.dumps({"type": kind, "call": 1, **fields}).encode()
    return struct.pack(">II", len(text), 0) + text


def take(s, n):
    data = b""
    while len(data) < n:
        piece = s.recv(n - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


def opened(uid):
    """The connection, and what was refused; None = nothing."""
    context.load_cert_chain(f"{state}/tls/host.crt", f"{state}/tls/host.key")  # it is renewed now and then
    s = socket.create_connection((controller, 6817), timeout=30)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s = context.wrap_socket(s)
    s.sendall(frame("vouch", uid=uid, gid=uid, protocol=1, protocol_oldest=1, version="crowd") + frame("daemon", action="PING"))
    m = json.loads(take(s, struct.unpack(">II", take(s, 8))[0]))
    return s, m.get("detail") if m.get("refusal") else None


held, why = [], None
while not why and len(held) < most:
    s, why = opened(3000000 + len(held))
    held.append(s)
print(len(held) - bool(why), why, flush=True)
sys.stdin.read()
