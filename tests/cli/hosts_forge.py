#!/usr/bin/env python3
"""A host gone bad: speaks to the controller with a joined host's own key and certificate, and says what it likes.

Usage: hosts_forge.py HOST_STATE_DIR CONTROLLER UID GID REQUEST…   The requests are made on one connection that vouches for UID and GID. One line for each answer:
its type, and the refusal and the sentence, or the number of the job. REQUEST "hellos": node far says that it is there, and has 60,000 runs, again and again for
eight seconds, each time on a connection of its own; how often. REQUEST "words": for eight seconds it says small things without pause, by turns of devices and
of jobs that nobody has; how many. REQUEST "every": each kind of message of src/model/message.h, with nothing in it, one line
each: its name, who may by that table, and the answer. HOST_STATE_DIR "-": without a certificate, and nobody is vouched for.
"""
import json
import pathlib
import re
import ssl
import socket
import struct
import sys
import time

REQUESTS = {
    "query": ("query", {"what": "jobs"}),
    "tokens": ("query", {"what": "tokens"}),
    "submit": ("submit", {"specs": [{"name": "forged", "batch": True, "work_dir": "/tmp", "hold": True}], "script": {"bytes": 15}}),
    "token": ("make_token", {"token": [{"kind": "trusted"}]}),
    "drain": ("update_node", {"names": "node1", "state": "DRAIN", "reason": "forged"}),
    "shutdown": ("daemon", {"action": "shutdown"}),
    "expel": ("expel", {"names": "far"}),
    "cancel": ("cancel", {"uids": "0"}),
    "hello": ("node_hello", {"node": [{"name": "node1"}]}),
    "report": ("report", {"seq": 1, "kind": "exited", "job_id": 1, "attempt": 1}),
}


def connect(state, controller):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if state == "-":
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(socket.create_connection((controller, 6817), timeout=20))
    context.load_verify_locations(f"{state}/tls/authority.crt")
    context.load_cert_chain(f"{state}/tls/host.crt", f"{state}/tls/host.key")
    return context.wrap_socket(socket.create_connection((controller, 6817), timeout=20))


def send(s, seq, kind, fields):
    raw = b"#!/bin/sh\ntrue\n" if "script" in fields else b""
    text = json.dumps({"type": kind, "call": seq, **fields}).encode()
    s.sendall(struct.pack(">II", len(text), len(raw)) + text + raw)


def take(s, n):
    data = b""
    while len(data) < n:
        piece = s.recv(n - len(data))
        if not piece:
            return None
        data += piece
    return data


def answer(s):
    head = take(s, 8)
    if head is None:
        return None
    text, raw = struct.unpack(">II", head)
    m = json.loads(take(s, text))
    take(s, raw)
    return m


def table():
    text = (pathlib.Path(__file__).parents[2] / "src" / "model" / "message.h").read_text()
    return re.findall(r'^    X\([A-Z_]+, "([a-z_]+)", [a-z_]+, ([A-Z]+), [A-Z]+, "', text, re.M)


def ask(state, controller, uid, gid, kind, fields):
    """The last answer, or why there is none."""
    s = connect(state, controller)
    try:
        if state != "-":
            send(s, 0, "vouch", {"uid": int(uid), "gid": int(gid), "protocol": 1, "protocol_oldest": 1, "version": "forged"})
        send(s, 7, kind, fields)
        send(s, 8, "daemon", {"action": "ping"})  # after an answer that does not come
        m = answer(s)
        while m and m["type"] == "rows":
            m = answer(s)
    except OSError as e:
        m = {"type": f"nothing ({e})"}
    s.close()
    return m or {"type": "nothing"}


def hellos(state, controller):
    """How often."""
    held = [{"job_id": 1 + i, "attempt": 1, "step_id": -1} for i in range(60000)]
    text = json.dumps({"type": "node_hello", "call": 1, "node": [{"name": "far"}], "held": held, "protocol": 1, "protocol_oldest": 1}).encode()
    n, until = 0, time.monotonic() + 8
    while time.monotonic() < until:
        s = connect(state, controller)
        send(s, 0, "vouch", {"uid": 0, "gid": 0, "protocol": 1, "protocol_oldest": 1, "version": "forged"})
        s.sendall(struct.pack(">II", len(text), 0) + text)
        m = answer(s)
        if not m or m["type"] != "node_welcome":
            return m
        n += 1
        s.close()
    return n


def words(state, controller):
    """How many. The node's own daemon takes its place back now and then."""
    n, until = 0, time.monotonic() + 8
    while time.monotonic() < until:
        s = connect(state, controller)
        send(s, 0, "vouch", {"uid": 0, "gid": 0, "protocol": 1, "protocol_oldest": 1, "version": "forged"})
        send(s, 1, "node_hello", {"node": [{"name": "far"}], "protocol": 1, "protocol_oldest": 1})
        try:
            while time.monotonic() < until:
                piece = b""
                for _ in range(100):
                    n += 1
                    out = "gpu:0:unproven:1790000000000000:x" if n % 2 else ""
                    text = json.dumps({"type": "report", "kind": "exited", "job_id": 4000000 + n, "attempt": 1, "devices_seq": n, "devices_out": out}).encode()
                    piece += struct.pack(">II", len(text), 0) + text
                s.sendall(piece)
        except OSError:
            pass
        s.close()
    return n


def main():
    state, controller, uid, gid, *requests = sys.argv[1:]
    if requests == ["hellos"]:
        print(hellos(state, controller))
        return
    if requests == ["words"]:
        print(words(state, controller))
        return
    if requests == ["every"]:
        requests = [(f"{name} {who}", name, {}) for name, who in table()]
    else:
        requests = [(name, *REQUESTS[name]) for name in requests]
    for shown, kind, fields in requests:
        m = ask(state, controller, uid, gid, kind, fields)
        print(shown, m["type"], m.get("refusal", m.get("job_id", "")), m.get("detail", ""), f"({m['call']})" if m.get("call") == 8 else "")


main()
