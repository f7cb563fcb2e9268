"""What an MPI library does at its start, in a few lines, over PMI_FD: python3 mpi_client.py VERSION [SAY…].

Puts "at-RANK" under "key-RANK", meets all others, gets what each has put, and prints it; twice, so that a second meeting follows the first. Words change
that: abort=CODE of rank 0, die=RANK or leave=RANK before the first meeting (with code 3, with 0), hold=FILE waits for a file between both meetings, map
prints where the tasks are, spawn asks for what is refused, attribute meets the others of the node by it.
"""
import os
import socket
import sys
import time

if "PMI_FD" not in os.environ:
    print("no PMI")
    sys.exit(0)
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
version = int(sys.argv[1])
say = dict(word.partition("=")[::2] for word in sys.argv[2:])
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])


def tell(text):
    """One write a line: tasks may share a file."""
    os.write(1, (text + "\n").encode())


def line(text):
    """Version 1, and the first of 2."""
    pmi.sendall((text + "\n").encode())
    answer = b""
    while not answer.endswith(b"\n"):
        more = pmi.recv(1)
        assert more, "the node has hung up"
        answer += more
    return dict(word.partition("=")[::2] for word in answer.decode().split())


def counted(text):
    """Version 2."""
    pmi.sendall(f"{len(text):<6}{text}".encode())
    length = int(pmi.recv(6, socket.MSG_WAITALL))
    answer = pmi.recv(length, socket.MSG_WAITALL).decode().replace(";;", "\0")
    return {name: value.replace("\0", ";") for name, _, value in (word.partition("=") for word in answer.split(";") if word)}


class One:
    def __init__(self):
        self.space = line("cmd=get_my_kvsname")["kvsname"]
        assert line("cmd=get_universe_size")["size"] == str(size)

    def put(self, key, value):
        assert line(f"cmd=put kvsname={self.space} key={key} value={value}")["rc"] == "0"

    def get(self, key):
        answer = line(f"cmd=get kvsname={self.space} key={key}")
        return answer["value"] if answer["rc"] == "0" else None

    def meet(self):
        assert line("cmd=barrier_in")["cmd"] == "barrier_out"

    def abort(self, code):
        pmi.sendall(f"cmd=abort exitcode={code}\n".encode())

    def spawn(self):
        return line("mcmd=spawn\nnprocs=1\nexecname=true\nendcmd")

    def finalize(self):
        assert line("cmd=finalize")["cmd"] == "finalize_ack"


class Two:
    def __init__(self):
        full = counted(f"cmd=fullinit;pmirank={rank};threaded=FALSE;")
        assert (int(full["rank"]), int(full["size"])) == (rank, size), full
        self.space = counted("cmd=job-getid;")["jobid"]

    def put(self, key, value):
        assert counted(f"cmd=kvs-put;key={key};value={value.replace(';', ';;')};")["rc"] == "0"

    def get(self, key):
        name = "info-getjobattr" if key == "PMI_process_mapping" else "kvs-get"
        return counted(f"cmd={name};key={key};").get("value")

    def meet(self):
        assert counted("cmd=kvs-fence;")["rc"] == "0"

    def abort(self, code):
        text = "cmd=abort;isworld=TRUE;msg=enough;"
        pmi.sendall(f"{len(text):<6}{text}".encode())

    def spawn(self):
        return counted("cmd=spawn;ncmds=1;")

    def finalize(self):
        assert counted("cmd=finalize;")["rc"] == "0"


first = line(f"cmd=init pmi_version={version} pmi_subversion={version % 2}")
assert first["rc"] == "0" and first["pmi_version"] == str(version), first
own = Two() if version == 2 else One()
if say.get("die") == str(rank):
    sys.exit(3)
if say.get("leave") == str(rank):
    sys.exit(0)
if "map" in say and rank == 0:
    tell(f"map {own.get('PMI_process_mapping')}")
if "spawn" in say and rank == 0:
    tell(f"spawn {own.spawn()['rc']}")
if "attribute" in say:
    if os.environ["SLURM_LOCALID"] == "0":
        time.sleep(0.5)
        assert counted("cmd=info-putnodeattr;key=shm;value=/of-" + os.environ["SLURMD_NODENAME"] + ";")["rc"] == "0"
    tell(f"attribute {rank} {counted('cmd=info-getnodeattr;key=shm;wait=TRUE;')['value']}")
if "abort" in say and rank == 0:
    own.abort(say["abort"])
    time.sleep(300)
for turn in range(2):
    own.put(f"key-{turn}-{rank}", f"at-{rank};{turn}" if version == 2 else f"at-{rank},{turn}")
    own.meet()
    found = [own.get(f"key-{turn}-{r}") for r in range(size)]
    tell(" ".join(map(str, [f"rank {rank} of {size} in {own.space}:", *found])))
    while turn == 0 and "hold" in say and not os.path.exists(say["hold"]):
        time.sleep(0.1)
own.finalize()
