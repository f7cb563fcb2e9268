"""What a flood of one user's requests costs another user: eight kinds of flood, each beside the same machine without it. Needs root: the two are different users.

The other user's work is one submission after another, each over a connection of its own, as sbatch does it. The floods are ended and the queue is emptied between two kinds."""
import json
import os
import pathlib
import signal
import socket
import statistics
import struct
import time

FLOODER, OTHER = 64101, 64102  # uids without accounts: the controller needs the numbers alone
SUBMISSIONS = 60
WAITING = 3000  # jobs of the flooder that wait, for what is asked about them
GOAL = 1.25


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.data = b""

    def send(self, kind, raw=b"", **fields):
        text = json.dumps({"type": kind, "call": 1, **fields}).encode()
        self.socket.sendall(struct.pack(">II", len(text), len(raw)) + text + raw)

    def submit(self, name="flood"):
        self.send("submit", b"#!/bin/sh\n", specs=[{"name": name, "batch": True, "hold": name == "flood", "work_dir": "/"}], script={"bytes": 10})

    def take(self, n):
        while len(self.data) < n:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise ConnectionError
            self.data += piece
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def receive(self):
        text, raw = struct.unpack(">II", self.take(8))
        message = json.loads(self.take(text))
        self.take(raw)
        return message

    def ask(self, kind, **fields):
        self.send(kind, **fields)
        while (answer := self.receive())["type"] == "rows":
            pass
        return answer


def again(path, work):
    c = Connection(path)
    while True:
        try:
            work(c)
        except ConnectionError:
            c = Connection(path)


def flood_submit(path):
    """Two hundred connections, forty submissions under way on each."""
    all_of_them = [Connection(path) for _ in range(200)]
    for c in all_of_them:
        for _ in range(40):
            c.submit()
    while True:
        for c in all_of_them:
            c.receive()
            c.submit()


def flood_halves(path):
    """Connections with halves of large messages."""
    while True:
        held = []
        for _ in range(100):
            c = Connection(path)
            try:
                c.socket.settimeout(0.2)
                c.socket.sendall(struct.pack(">II", 15 << 20, 0) + b'{"type":"submit","x":"' + b"x" * (1 << 20))
            except OSError:
                pass
            held.append(c)


def flood_connect(path):
    while True:
        Connection(path).ask("daemon", action="PING")


FLOODS = {
    "ids": lambda path: again(path, lambda c: c.ask("query", what="JOBS", ids=",".join(["1_[0-2147483646]"] * 50))),
    "why": lambda path: again(path, lambda c: c.ask("why", ids="2,3,4,5,6,7,8,9")),
    "why-all": lambda path: again(path, lambda c: c.ask("why")),
    "squeue": lambda path: again(path, lambda c: c.ask("query", what="JOBS")),
    "scancel": lambda path: again(path, lambda c: ([c.submit() for _ in range(300)], [c.receive() for _ in range(300)], c.ask("cancel", uids=str(FLOODER), names="flood"))),
    "submit": flood_submit,
    "halves": flood_halves,
    "connect": flood_connect,
}


def as_user(uid, work):
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        work()
    except (ConnectionError, BrokenPipeError, OSError):
        pass
    finally:
        os._exit(0)


def submissions(path):
    """Milliseconds each of the other user's submissions took, in the middle."""
    read, write = os.pipe()

    def work():
        took = []
        for _ in range(SUBMISSIONS):
            began = time.monotonic()
            c = Connection(path)
            c.submit("other")
            assert c.receive()["type"] == "submitted"
            took.append(time.monotonic() - began)
        os.write(write, str(statistics.mean(took) * 1000).encode())

    pid = as_user(OTHER, work)
    os.close(write)
    said = os.read(read, 100)
    os.close(read)
    os.waitpid(pid, 0)
    return float(said) if said else float("inf")


def emptied(path):
    for uid in (FLOODER, OTHER):
        Connection(path).ask("cancel", uids=str(uid))


def measure(cluster, row, ratio_at_most):
    if os.geteuid() != 0:
        print("floods: skipped, needs root for two users")
        return
    c = cluster()
    try:
        os.chmod(c.dir, 0o755)
        path = str(pathlib.Path(c.dir) / "state" / "controller.sock")
        for name, flood in FLOODS.items():
            first = Connection(path)
            first.send("submit", b"#!/bin/sh\n", specs=[{"name": "array", "batch": True, "hold": True, "work_dir": "/", "array": "0-999999"}], script={"bytes": 10})
            first.receive()
            os.waitpid(as_user(FLOODER, lambda: [(f := Connection(path)), [f.submit("waits") for _ in range(WAITING)], [f.receive() for _ in range(WAITING)]]), 0)
            submissions(path)
            alone = submissions(path)
            pid = as_user(FLOODER, lambda: flood(path))
            time.sleep(1)
            with_it = submissions(path)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            row(f"flood-{name}", with_it, "ms a submission", f"{alone:.2f} ms without it", f"{with_it / alone:.2f} x", ratio_at_most(GOAL, with_it / alone))
            emptied(path)
            Connection(path).ask("cancel", ids="1")
    finally:
        c.close()
