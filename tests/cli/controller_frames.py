#!/usr/bin/env python3
"""Speaks frames (src/wire/frame.h) to a controller, for the tests in controller*.bats: good requests, bad bytes, many connections, slow readers.

Usage: controller_frames.py STATE_DIR COMMAND [ARGUMENT…]. Prints one line for each answer, as the tests compare them.
"""
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
import traceback


class Connection:
    def __init__(self, state, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(f"{state}/controller.sock")
        self.seq = 0
        self.data = b""

    def send(self, kind, raw=b"", **fields):
        self.seq += 1
        text = json.dumps({"type": kind, "call": self.seq, **fields}).encode()
        self.socket.sendall(struct.pack(">II", len(text), len(raw)) + text + raw)
        return self.seq

    def submit(self, script=b"#!/bin/sh\ntrue\n", env=b"A=1\0", **spec):
        spec = {"name": "test", "batch": True, "work_dir": "/tmp", **spec}
        return self.send("submit", script + env, specs=[spec], script={"bytes": len(script)}, env={"bytes": len(env)})

    def take(self, n):
        while len(self.data) < n:
            piece = self.socket.recv(1 << 16)
            if not piece:
                return None
            self.data += piece
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def receive(self):
        """The next message, or None when the connection is at its end."""
        head = self.take(8)
        if head is None:
            return None
        text, raw = struct.unpack(">II", head)
        message = json.loads(self.take(text))
        message["raw"] = self.take(raw) if raw else b""
        return message

    def rest(self):
        """Everything up to the end of the connection."""
        answers = []
        while (m := self.receive()) is not None:
            answers.append(m)
        return answers

    def query(self, **fields):
        self.send("query", **fields)
        rows = []
        while (m := self.receive())["type"] == "rows":
            rows += [dict(zip(m["fields"], row)) for row in m["rows"]]
        return rows, m


def show(m):
    if m is None:
        return "closed"
    if m["type"] == "done":
        return f"done {m.get('refusal', 'NONE')} {m.get('detail', '')}".strip()
    if m["type"] == "submitted":
        return f"submitted {m['job_id']}"
    return m["type"]


# ---- commands ----------------------------------------------------------------------------------------------------------


def ping(c):
    c.send("daemon", action="PING")
    print(show(c.receive()))


def submit(c, count="1", *spec):
    more = dict(pair.split("=", 1) for pair in spec)
    for _ in range(int(count)):
        c.submit(**more)
    for _ in range(int(count)):
        print(show(c.receive()))


def submit_file(c, path):
    """A script as it is, whatever sbatch would say of it."""
    c.submit(script=open(path, "rb").read())
    m = c.receive()
    print(show(m))
    sys.exit(m["type"] != "submitted")


def blast(c, count, window="1000"):
    """So many submissions over one connection; prints how many a second were answered."""
    start, sent, answered = time.monotonic(), 0, 0
    while answered < int(count):
        while sent < int(count) and sent - answered < int(window):
            c.submit()
            sent += 1
        m = c.receive()
        assert m["type"] == "submitted", m
        answered += 1
    print(int(answered / (time.monotonic() - start)))


def jobs(c, fields="id"):
    rows, done = c.query(what="JOBS", fields=fields, states="all")
    print(f"{len(rows)} rows, {show(done)}")


def query(c, what, *filters):
    rows, done = c.query(what=what, **dict(pair.split("=", 1) for pair in filters))
    for row in rows:
        print(" ".join(f"{k}={v}" for k, v in row.items() if v not in (None, 0, False)))
    print(show(done))


def garbage(c, text):
    c.socket.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
    for m in c.rest():
        print(show(m))
    print("closed")


def message(c, text):
    """Any JSON as one frame."""
    data = text.encode()
    c.socket.sendall(struct.pack(">II", len(data), 0) + data)
    c.socket.settimeout(5)
    print(show(c.receive()))


def script(c, job):
    c.send("get_script", job_id=int(job))
    m = c.receive()
    print(m["raw"].decode() if m["type"] == "script" else show(m), end="")


def slow(c, count):
    """Asks for all jobs, reads nothing for a while, then everything; other requests on other connections are not held up meanwhile."""
    c.send("query", what="JOBS", states="all")
    other = Connection(sys.argv[1])
    worst = 0
    for _ in range(int(count)):
        start = time.monotonic()
        other.send("daemon", action="PING")
        other.receive()
        worst = max(worst, time.monotonic() - start)
        time.sleep(0.02)
    rows = 0
    while (m := c.receive())["type"] == "rows":
        rows += len(m["rows"])
    print(f"{rows} rows, worst wait {int(worst * 1000)} ms")


def many(c, count):
    """Opens so many connections and says how many are served."""
    all_of_them, served, refused = [], 0, {}
    for _ in range(int(count)):
        one = Connection(sys.argv[1])
        all_of_them.append(one)
        one.send("daemon", action="PING")
    for one in all_of_them:
        try:
            m = one.receive()
        except OSError:
            m = None
        if m and m.get("refusal", "NONE") == "NONE":
            served += 1
        else:
            refused[show(m)] = refused.get(show(m), 0) + 1
    print(f"{served} served")
    for why, n in refused.items():
        print(f"{n} {why}")


def made_up(c, first, count, each, other):
    """Opens so many connections as each of so many users from that number on, and asks something on each; then the other user does."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    held, answers = [], []
    for uid in range(int(first), int(first) + int(count)):
        os.seteuid(uid)
        held += [Connection(sys.argv[1]) for _ in range(int(each))]
        os.seteuid(0)
    for one in held:
        try:
            one.send("daemon", action="PING")
        except OSError:
            pass  # it was refused already
        answers.append(show(one.receive()))
    served = answers.count("done NONE")
    print("some hundred served, and no more than 1024" if 200 < served <= 1024 else f"{served} served")
    print(next((a for a in answers if a.startswith("done BUSY")), "nobody was refused"), flush=True)

    def work():
        known = Connection(sys.argv[1])
        known.send("daemon", action="PING")
        print("daemon:", show(known.receive()), flush=True)

    os.waitpid(as_user(other, work), 0)


def as_user(uid, work):
    """In a process of that user; its id."""
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(int(uid))
        os.setuid(int(uid))
        try:
            work()
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)
    return pid


def halves(c, uid, count):
    """Begins so many messages of 15 MiB with a MiB each, as that user, and prints what is said to it, each sentence once."""

    def work():
        held, said = [], set()
        for _ in range(int(count)):
            one = Connection(sys.argv[1], timeout=5)
            held.append(one)
            try:
                one.socket.sendall(struct.pack(">II", 15 << 20, 0) + b'{"type":"submit","x":"' + b"x" * (1 << 20))
                one.socket.settimeout(0.01)
                said.add(show(one.receive()))
            except OSError:
                pass
        for one in held:
            try:
                one.socket.settimeout(0.01)
                said.add(show(one.receive()))
            except OSError:
                pass
        print("\n".join(sorted(said)), flush=True)

    os.waitpid(as_user(uid, work), 0)


def left(c, uid):
    """As that user: half of a small message, and no rest. Prints what is said to it, whether that was after a while, and whether the connection is over."""

    def work():
        one = Connection(sys.argv[1], timeout=60)
        began = time.monotonic()
        one.socket.sendall(struct.pack(">II", 100, 0) + b'{"type":"daemon"')
        print(show(one.receive()))
        print("after a while" if time.monotonic() - began > 25 else "at once")
        print("closed" if one.receive() is None else "open", flush=True)

    os.waitpid(as_user(uid, work), 0)


def unread(c, uid, count):
    """As that user: a job with a script of 4 MiB, which is asked for 15 times on each of so many connections, and no answer is read. Prints whether the
    controller holds all of it in memory."""
    held = []

    def memory():
        pid = open(f"{sys.argv[1]}/controller.pid").read().strip()
        return next(int(line.split()[1]) >> 10 for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))

    def work():
        first = Connection(sys.argv[1])
        first.submit(b"#!/bin/sh\n" + b"#" * (4194304 - 10), hold=True)
        job, before, most = first.receive()["job_id"], memory(), 0
        for _ in range(int(count)):
            one = Connection(sys.argv[1])
            held.append(one)
            for _ in range(15):
                one.send("get_script", job_id=job)
        for _ in range(40):
            time.sleep(0.05)
            most = max(most, memory() - before)
        print("bounded" if most < 500 else f"{most} MiB more", flush=True)
        reader = held[-1]
        reader.socket.settimeout(10)
        got = 0
        while got < 15 and (m := reader.receive()) is not None:
            got += 1
        print(show(m), flush=True)
        print("an answer comes" if got else "none comes", flush=True)

    os.waitpid(as_user(uid, work), 0)


def mingled(c, uid):
    """As that user, and no answer is read: a script of 4 MiB, then again and again something to do, whose answer comes late, and queries. Prints what else is
    answered meanwhile, and how many of all that was asked once it is read."""

    def work():
        first, one = Connection(sys.argv[1]), Connection(sys.argv[1])
        first.submit(b"#!/bin/sh\n" + b"#" * (4194304 - 10), hold=True)
        one.send("get_script", job_id=first.receive()["job_id"])
        time.sleep(0.5)
        for _ in range(20):
            one.send("cancel", ids="999999")
            one.send("query", what="SETTINGS")
            one.send("query", what="SHARES")
        time.sleep(1)
        first.send("query", what="SETTINGS")
        print(show(first.receive()), flush=True)
        one.send("daemon", action="PING")
        seen = {}
        while (m := one.receive()) is not None and m["call"] != one.seq:
            seen[m["call"]] = m["type"]
        print(sum(1 for kind in seen.values() if kind == "done"), "and", seen[1], flush=True)

    os.waitpid(as_user(uid, work), 0)


def same_call(c, uid):
    """As that user: something to do, a script that is not at hand, and a question, all of which have the same number and come at once, five times. Prints in
    which orders they are answered, and what is said of a number that is the controller's own."""

    def work():
        one, orders = Connection(sys.argv[1]), set()
        jobs = []
        for _ in range(2):
            one.submit(b"#!/bin/sh\n" + b"#" * (4194304 - 100), hold=True)
            jobs.append(one.receive()["job_id"])

        def framed(kind, call, **fields):
            text = json.dumps({"type": kind, "call": call, **fields}).encode()
            return struct.pack(">II", len(text), 0) + text

        for i in range(5):
            one.socket.sendall(framed("cancel", 7, ids="999999") + framed("get_script", 7, job_id=jobs[i % 2]) + framed("query", 7, what="SETTINGS"))
            seen = [one.receive() for _ in range(4)]
            orders.add(" ".join(m["type"] for m in seen))
            assert all(m["call"] == 7 for m in seen)
        print(*orders, sep="\n", flush=True)
        one.socket.sendall(framed("cancel", 2**64 - 1, ids="999999"))
        print(show(one.receive()), flush=True)

    os.waitpid(as_user(uid, work), 0)


def flood(c, uid, other, count):
    """One user submits over fifty connections as fast as it goes; another submits so many jobs one after another meanwhile."""

    def submit_for_ever():
        connections = [Connection(sys.argv[1]) for _ in range(50)]
        for one in connections:
            for _ in range(int(os.environ.get("ROUNDS", "40"))):
                one.submit()
        while True:
            for one in connections:
                one.receive()
                one.submit()

    def submit_some():
        for _ in range(int(count)):
            one = Connection(sys.argv[1])
            one.submit()
            assert one.receive()["type"] == "submitted"
        print(f"{count} submissions of the other user were answered", flush=True)

    flooder = as_user(uid, submit_for_ever)
    os.waitpid(as_user(other, submit_some), 0)
    os.kill(flooder, signal.SIGKILL)
    os.waitpid(flooder, 0)


def storm(c, uid, other):
    """Until it is ended, and over restarts of the controller: one user submits over fifty connections, and cancels all of it again and again; another connects
    for each request, and leaves halves of messages behind."""

    def again(work):
        while True:
            try:
                work()
            except OSError:
                time.sleep(0.05)

    def submit_and_cancel():
        connections = [Connection(sys.argv[1]) for _ in range(50)]
        while True:
            for one in connections:
                for _ in range(10):
                    one.submit(hold=True)
            for one in connections:
                for _ in range(10):
                    if one.receive() is None:
                        raise ConnectionError
            connections[0].send("cancel", uids=str(uid))
            if connections[0].receive() is None:
                raise ConnectionError

    def connect():
        held = []
        for _ in range(50):
            one = Connection(sys.argv[1])
            one.send("why")
            if one.receive() is None:
                raise ConnectionError
            one.socket.settimeout(0.1)
            one.socket.sendall(struct.pack(">II", 15 << 20, 0) + b'{"type":"submit","x":"' + b"x" * (1 << 17))
            held.append(one)

    c.socket.close()
    two = [as_user(uid, lambda: again(submit_and_cancel)), as_user(other, lambda: again(connect))]
    signal.signal(signal.SIGTERM, lambda *_: [os.kill(one, signal.SIGKILL) for one in two])
    for one in two:
        os.waitpid(one, 0)


def main():
    command = {f.__name__: f for f in (made_up, halves, left, unread, mingled, same_call, flood, storm, ping, submit, submit_file, blast, jobs, query, garbage, message, script, slow, many)}[sys.argv[2]]
    command(Connection(sys.argv[1]), *sys.argv[3:])


if __name__ == "__main__":
    main()
