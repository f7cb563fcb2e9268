"""What a flood of one user's requests costs another user: eight kinds of flood. Needs root: the two are different users.

The other user's work is one submission after another, each over a connection of its own, as sbatch does it: from before the connection to the answer, the mean of a round.
The flooding processes run on the same machine and take processor time from the other user's client, which no controller can give back. So each round is measured three times
in turn: alone; beside a process that burns as much processor time as the flood's did, in pieces as short, and asks for nothing; beside the flood. The ratio that is judged is
flood to burning: what the controller does. The one to alone is told, too. Both are medians over the rounds.

After each kind the controller tells how many rounds of its loop took how long, in processor time: so long it heard nobody. None may take more than 10 ms.

The floods are ended and the queue is emptied between two kinds."""
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
ROUNDS = 5
SETTLE_S = 0.7  # until the flood runs
BURN_S = 0.0002
GOAL = 1.25
LONGEST_MS = 10


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
            self.rows = [dict(zip(answer["fields"], one)) for one in answer["rows"]]
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
    """Milliseconds each of the other user's submissions took: the mean."""
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


def burn(share):
    """Takes that share of a processor, as the client of a flood does: a moment of work, a moment of waiting."""
    while True:
        until = time.process_time() + BURN_S
        while time.process_time() < until:
            pass
        time.sleep(BURN_S * (1 - share) / share)


def beside(work, path):
    """The other user's submissions beside that work of the flooder, and the share of a processor that it took."""
    began = time.monotonic()
    pid = as_user(FLOODER, work)
    time.sleep(SETTLE_S)
    took = submissions(path)
    os.kill(pid, signal.SIGKILL)
    used = os.wait4(pid, 0)[2]
    return took, min(0.99, max(0.01, (used.ru_utime + used.ru_stime) / (time.monotonic() - began)))


def emptied(path):
    for uid in (FLOODER, OTHER):
        Connection(path).ask("cancel", uids=str(uid))


def waiting_jobs(path):
    c = Connection(path)
    for _ in range(WAITING):
        c.submit("waits")
    for _ in range(WAITING):
        c.receive()


def rounds(path, flood):
    """(alone, burning, flooded) of each round; the first round only tells how much the flood's client burns."""
    share, taken = beside(lambda: flood(path), path)[1], []
    for _ in range(ROUNDS):
        emptied_of_others(path)
        alone = submissions(path)
        burning = beside(lambda: burn(share), path)[0]
        flooded, share = beside(lambda: flood(path), path)
        taken.append((alone, burning, flooded))
    return taken, share


def emptied_of_others(path):
    Connection(path).ask("cancel", uids=str(OTHER))
    Connection(path).ask("cancel", uids=str(FLOODER), names="flood")


LENGTHS = {"100us": 0.1, "200us": 0.2, "500us": 0.5, "1ms": 1, "2ms": 2, "5ms": 5, "10ms": 10, "20ms": 20, "50ms": 50, "100ms": 100, "200ms": 200, "500ms": 500, "1s": 1000, "longer": float("inf")}


def longest_ms(path):
    """The length that no round of the controller's loop exceeded since the last call, and how many there were of more than LONGEST_MS."""
    c = Connection(path)
    c.ask("query", what="DIAG")
    rounds = {most: c.rows[0].get(f"rounds_{name}", 0) for name, most in LENGTHS.items()}
    c.ask("daemon", action="RESET_DIAG")
    return max((most for most, n in rounds.items() if n), default=0), sum(n for most, n in rounds.items() if most > LONGEST_MS)


def measure(cluster, row, at_most, ratio_at_most):
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
            array = first.receive()["job_id"]
            os.waitpid(as_user(FLOODER, lambda: waiting_jobs(path)), 0)
            longest_ms(path)
            taken, share = rounds(path, flood)
            alone, burning, flooded = (statistics.median(t[i] for t in taken) for i in range(3))
            ratio = statistics.median(t[2] / t[1] for t in taken)
            raw = statistics.median(t[2] / t[0] for t in taken)
            row(f"flood-{name}", flooded, "ms a submission", f"{burning:.2f} ms beside {share:.0%} burnt, {alone:.2f} alone", f"{ratio:.2f} x, {raw:.2f} of alone", ratio_at_most(GOAL, ratio))
            most, beyond = longest_ms(path)
            row(f"flood-{name}-round", most, "ms at most", f"{beyond} rounds of more than {LONGEST_MS} ms", "", at_most(LONGEST_MS, "ms"))
            emptied(path)
            Connection(path).ask("cancel", ids=str(array))
    finally:
        c.close()
