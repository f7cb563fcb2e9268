"""What a flood of one user's requests costs another user: twelve kinds of flood. Needs root: the two are different users.

The other user's work is one submission after another, each over a connection of its own, as sbatch does it: from before the connection to the answer.
The flooding processes run on the same machine and take processor time from the other user's client, which no controller can give back. So they are compared with a process that
burns as much processor time as the flood's did, in pieces as short, and asks for nothing. Flood and burning process are stopped and go on in turn, a fraction of a second each, many
times: what else the machine does meets both. The ratio that is judged is the median over these pairs of flood to burning, which is what the controller does; with it goes the range in which nine of
ten medians would lie, had the pairs been drawn anew (bootstrap). Beside it, by counting: how much processor time the controller spent between his question and his answer, on
whomever; what that is more than beside the burning process, he waited for. A busy machine makes neither more, only the first less sure.

After each kind the controller tells how many rounds of its loop took how long, in processor time: so long it heard nobody. None may take more than 10 ms.

The floods are ended and the queue is emptied between two kinds."""
import json
import os
import pathlib
import pwd
import random
import signal
import socket
import statistics
import struct
import subprocess
import time

FLOODER, OTHER = (pwd.getpwnam(name).pw_uid for name in ("daemon", "bin"))  # with names: those without have one share
PAIRS = 40
SUBMISSIONS = 12  # in one go
WAITING = 3000  # jobs of the flooder that wait, for what is asked about them
SETTLE_S = 0.7  # until the flood runs
TURN_S = 0.15  # until it runs again
DRAWN = 1000  # bootstrap
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
        self.send("submit", b"#!/bin/sh\n", specs=[{"name": name, "batch": True, "hold": name == "flood", "work_dir": "/", "std_out": "/dev/null"}], script={"bytes": 10})

    def occupy(self):
        """Both CPUs of the node are taken: all others wait."""
        script = b"#!/bin/sh\nsleep 3600\n"
        self.send("submit", script, specs=[{"name": "occupies", "batch": True, "work_dir": "/", "std_out": "/dev/null", "ntasks": 2}], script={"bytes": len(script)})
        assert self.receive()["type"] == "submitted"

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


def flood_cut(path):
    """Connections that end in the midst of a message."""
    while True:
        c = Connection(path)
        c.socket.sendall(struct.pack(">II", 5000, 0) + b'{"type":"submit","x":"' + b"x" * 2000)
        c.socket.close()


def elements(c):
    """Elements of an array, two thousand a request, become jobs of their own."""
    c.send("submit", b"#!/bin/sh\n", specs=[{"name": "flood", "batch": True, "hold": True, "work_dir": "/", "std_out": "/dev/null", "array": "0-9999"}], script={"bytes": 10})
    array = c.receive()["job_id"]
    c.ask("update_job", ids=f"{array}_[0-1999]", fields="comment", values=[{"comment": "x"}])
    c.ask("cancel", ids=str(array))


def mixed(c):
    """Reads and writes by turns."""
    for _ in range(20):
        c.submit()
    ids = ",".join(str(c.receive()["job_id"]) for _ in range(20))
    c.ask("query", what="JOBS")
    c.ask("job_control", ids=ids, action="HOLD")
    c.ask("query", what="NODES")
    c.ask("cancel", ids=ids)


def cascade(c):
    """Three hundred jobs that end with the one that they wait for."""
    c.submit()
    one = c.receive()["job_id"]
    for _ in range(300):
        c.send("submit", b"#!/bin/sh\n", specs=[{"name": "flood", "batch": True, "work_dir": "/", "std_out": "/dev/null", "dependency": f"afterok:{one}", "kill_on_invalid_dep": "YES"}], script={"bytes": 10})
    for _ in range(300):
        c.receive()
    c.ask("cancel", ids=str(one))


FLOODS = {
    "ids": lambda path: again(path, lambda c: c.ask("query", what="JOBS", ids=",".join(["1_[0-2147483646]"] * 50))),
    "why": lambda path: again(path, lambda c: c.ask("why", ids="2,3,4,5,6,7,8,9")),
    "why-all": lambda path: again(path, lambda c: c.ask("why")),
    "squeue": lambda path: again(path, lambda c: c.ask("query", what="JOBS")),
    "scancel": lambda path: again(path, lambda c: ([c.submit() for _ in range(300)], [c.receive() for _ in range(300)], c.ask("cancel", uids=str(FLOODER), names="flood"))),
    "submit": flood_submit,
    "halves": flood_halves,
    "connect": flood_connect,
    "cut": flood_cut,
    "elements": lambda path: again(path, elements),
    "mixed": lambda path: again(path, mixed),
    "cascade": lambda path: again(path, cascade),
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


def controller_ns(pid):
    """Processor time of all its threads."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass
    return total


class Other:
    """The other user: a process that makes SUBMISSIONS when told, and says what each took and what the controller spent meanwhile, in ms, the means."""

    def __init__(self, path, controller):
        self.ask, self.answer = os.pipe(), os.pipe()

        def work():
            while os.read(self.ask[0], 1):
                took, spent = 0.0, 0
                for _ in range(SUBMISSIONS):
                    before, began = controller_ns(controller), time.monotonic()
                    c = Connection(path)
                    c.submit("other")
                    assert c.receive()["type"] == "submitted"
                    took += time.monotonic() - began
                    spent += controller_ns(controller) - before
                os.write(self.answer[1], f"{took / SUBMISSIONS * 1e3} {spent / SUBMISSIONS / 1e6}\n".encode())

        self.pid = as_user(OTHER, work)

    def submissions(self):
        os.write(self.ask[1], b"x")
        return tuple(float(word) for word in os.read(self.answer[0], 100).split())

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for fd in (*self.ask, *self.answer):
            os.close(fd)


def burn(share):
    """Takes that share of a processor, as the client of a flood does: a moment of work, a moment of waiting."""
    while True:
        until = time.process_time() + BURN_S
        while time.process_time() < until:
            pass
        time.sleep(BURN_S * (1 - share) / share)


class Beside:
    """Work of the flooder's that goes on only when told."""

    def __init__(self, work):
        self.pid = as_user(FLOODER, work)

    def rest(self):
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        used = os.wait4(self.pid, 0)[2]
        return used.ru_utime + used.ru_stime


def share_of(path, flood):
    """The share of a processor that the flood's client takes."""
    began = time.monotonic()
    one = Beside(lambda: flood(path))
    time.sleep(SETTLE_S * 2)
    return min(0.99, max(0.01, one.close() / (time.monotonic() - began)))


def emptied(path):
    for uid in (FLOODER, OTHER):
        Connection(path).ask("cancel", uids=str(uid))


def waiting_jobs(path):
    c = Connection(path)
    for _ in range(WAITING):
        c.submit("waits")
    for _ in range(WAITING):
        c.receive()


def pairs(path, controller, flood):
    """((ms, controller's ms) beside the burning process, the same beside the flood) of each pair, and what was burnt."""
    share = share_of(path, flood)
    emptied_of_others(path)
    other, both, taken = Other(path, controller), [Beside(lambda: burn(share)), Beside(lambda: flood(path))], []
    try:
        time.sleep(SETTLE_S)
        for one in both:
            one.rest()
        for pair in range(PAIRS):
            found = {}
            for i in (0, 1) if pair % 2 else (1, 0):
                both[i].go_on()
                time.sleep(TURN_S)
                found[i] = other.submissions()
                both[i].rest()
            taken.append((found[0], found[1]))
    finally:
        for one in both:
            one.go_on()
            one.close()
        other.close()
    return taken, share


def median_range(values):
    """The median, and where nine of ten would lie."""
    drawn = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(DRAWN))
    return statistics.median(values), drawn[DRAWN // 20], drawn[-DRAWN // 20]


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
        Connection(path).occupy()
        for name, flood in FLOODS.items():
            first = Connection(path)
            first.send("submit", b"#!/bin/sh\n", specs=[{"name": "array", "batch": True, "hold": True, "work_dir": "/", "std_out": "/dev/null", "array": "0-999999"}], script={"bytes": 10})
            array = first.receive()["job_id"]
            os.waitpid(as_user(FLOODER, lambda: waiting_jobs(path)), 0)
            longest_ms(path)
            taken, share = pairs(path, c.pid(), flood)
            burning, flooded = (statistics.median(t[i][0] for t in taken) for i in range(2))
            ratio, low, high = median_range([t[1][0] / t[0][0] for t in taken])
            waited = statistics.median(t[1][1] for t in taken) - statistics.median(t[0][1] for t in taken)
            row(f"flood-{name}", flooded, "ms a submission", f"{burning:.2f} ms beside {share:.0%} burnt", f"{ratio:.2f} x ({low:.2f} to {high:.2f})", ratio_at_most(GOAL, ratio))
            row(f"flood-{name}-waited", waited * 1e3, "us", "of the controller, on whomever", f"{1 + waited / burning:.2f} of burning")
            most, beyond = longest_ms(path)
            row(f"flood-{name}-round", most, "ms at most", f"{beyond} rounds of more than {LONGEST_MS} ms", "", at_most(LONGEST_MS, "ms"))
            emptied(path)
            Connection(path).ask("cancel", ids=str(array))
    finally:
        subprocess.run(["scancel", "--signal=KILL", "--full", "-u", "root"], env=c.env, check=False)
        subprocess.run(["scancel", "-u", "root"], env=c.env, check=False)
        c.close()
