#!/usr/bin/env bats
# The cluster now (remuda top): printed once, and on terminals of several kinds, with GPUs of a fake NVML.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-top-XXXXXX)
    export TOP REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus"
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    { echo "machine a100x4"; for gpu in 0 1 2 3; do echo "gpm $gpu 125 33"; done; } >"$TOP/gpus.idle"
    { cat "$TOP/gpus.idle"; for gpu in 0 1 2 3; do echo "rate $gpu 96"; done; } >"$TOP/gpus.busy"
    cp "$TOP/gpus.idle" "$TOP/gpus"
    cluster <<< "JobAcctGatherFrequency=1
NodeName=$(hostname -s) CPUs=4 RealMemory=2000 Gres=gpu:4
NodeName=away[1-1000] CPUs=8 RealMemory=2000
NodeName=gone CPUs=8 RealMemory=2000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES"
    cd "$WORK"
    # Keys for a command on a terminal, and what it drew: a list of screens. terminal.py ROWS COLUMNS KEYS COMMAND…; of KEYS each letter, after the
    # screen has something new; ~ makes the window 12 x 60.
    cat >"$TOP/terminal.py" <<'P'
import fcntl, os, pty, select, signal, struct, sys, termios, time
rows, columns, keys, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape").encode("latin1"), sys.argv[4:]
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.3)
    os.execvp(command[0], command)
def size(r, c):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))
size(rows, columns)
out, until = b"", time.time() + 50
def read(seconds):
    global out
    while select.select([fd], [], [], seconds)[0]:
        try: piece = os.read(fd, 65536)
        except OSError: return False
        if not piece: return False
        out += piece
        seconds = 0.2
    return True
alive = read(20)
for key in keys:
    if not alive or time.time() > until: break
    if key == ord("~"):
        size(12, 60)
        os.kill(pid, signal.SIGWINCH)
    else: os.write(fd, bytes([key]))
    alive = read(20)
while alive and time.time() < until: alive = read(1)
_, status = os.waitpid(pid, 0) if not alive else (0, -1)
if alive: os.kill(pid, 9)
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(status) if status >= 0 else 99)
P
}

setup() { cd "$WORK"; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

play() { cp "$TOP/$1" "$TOP/gpus.new"; mv "$TOP/gpus.new" "$TOP/gpus"; }
terminal() { TERM=xterm LC_ALL=C.UTF-8 python3 "$TOP/terminal.py" "$@"; }
is_busy() { remuda top | grep "^ $(hostname -s) " | grep -q "96% $1 "; }

@test "printed once: each node, its GPUs and how busy they are, its jobs" {
    node=$(hostname -s)
    remuda top >empty
    head -1 empty | grep -qE "^[0-9:]{8}  nodes 1/1002  GPUs 0/8  CPUs 0/[0-9]+  jobs 0"
    [ "$(wc -l <empty)" = 1004 ]
    grep -qE "^ $node +.* \.\.\.\. " empty
    grep -qE "^ away999 .*(unk|down)" empty
    # GPUs of a node that takes no jobs are not free.
    grep -qE "^ gone +.* ---- .*(unk|down)" empty
    remuda top --sort free | sed -n 3p | grep -qE "^ $node "
    # In their order as people count.
    [ "$(grep -n "^ away2 " empty | cut -d: -f1)" -lt "$(grep -n "^ away10 " empty | cut -d: -f1)" ]
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:2 -J 'two' -o /dev/null --wrap 'sleep 300')
    wait_state "$id" RUNNING
    play gpus.busy
    eventually is_busy "$id"
    remuda top >busy
    head -1 busy | grep -q "GPUs 2/8 96% busy"
    LC_ALL=C remuda top --sort busy >ascii
    ! LC_ALL=C grep -q '[^ -~]' ascii || false
    sed -n 3p ascii | grep -qE "^ $node +.* (99\.\.|9\.\.9|\.99\.|\.\.99|9\.9\.|\.9\.9) +96% $id $(id -un)"
    remuda top --jobs | grep -qE "^ $id +$(id -un | cut -c1-8) +1 +2 +96% .* two +$node$"
    COLUMNS=60 LC_ALL=C remuda top | awk 'length($0) > 60 { exit 1 }'
    run ! remuda top --sort colour
    [[ "$output" == *"by name, busy, free or load"* ]]
}

@test "on a terminal: as many rows as there are, keys, another window, the terminal as it was" {
    terminal 14 80 'Gg\tsq' remuda top >screen
    # Another screen and back; the cursor hidden and shown.
    grep -qa $'\e\[?1049h\e\[?25l' screen
    [ "$(tail -c 14 screen)" = $'\e[?25h\e[?1049l' ]
    python3 - <<'P'
import re
screens = open("screen", "rb").read().decode().split("\x1b[H")[1:]
plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", s).replace("\r", "").split("\n") for s in screens]
assert all(len(p) == 13 for p in plain), [len(p) for p in plain]
assert all(len(line) <= 80 for p in plain for line in p), max((l for p in plain for l in p), key=len)
assert "1-10/1002" in plain[0][-1], plain[0][-1]
assert any("993-1002/1002" in p[-1] and any(l.startswith(">") for l in p) for p in plain), "G"
assert any(p[1].startswith(" JOB ") for p in plain), "Tab"
# What is seen is explained first: of nodes that are away and nothing else, that.
assert any("GPUs: " in p[-1] and "- away" in p[-1] for p in plain), [p[-1] for p in plain]
assert "\x1b[32m" in screens[0] or "\x1b[1m" in screens[0]
P
}

@test "60 columns after the window changed, and no colours where NO_COLOR says so" {
    NO_COLOR=1 terminal 20 100 '~q' remuda top >screen
    python3 - <<'P'
import re
screens = open("screen", "rb").read().decode().split("\x1b[H")[1:]
assert not any(re.search(r"\x1b\[[0-9;]*m", s) for s in screens), screens[0]
plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", s).replace("\r", "").split("\n") for s in screens]
assert len(plain[0]) == 19 and len(plain[-1]) == 11, [len(p) for p in plain]
assert all(len(line) <= 60 for line in plain[-1]), plain[-1]
P
}

@test "Enter opens the job: what it does, and any key leads back" {
    id=$(squeue -h -n two -o %A)
    terminal 24 80 '\t\rxq' remuda top >screen
    grep -qa "Job $id RUNNING two" screen
    grep -qa "any key: back" screen
    grep -qa "util: mean\|util  " screen
}

@test "jobs of others: as PrivateData says, and their GPUs are taken all the same" {
    [ "$(id -u)" = 0 ] || skip "needs two users"
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
    id=$(squeue -h -n two -o %A)
    nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
    nobody squeue >/dev/null 2>&1 || skip "another user does not reach this cluster"
    nobody remuda top | grep -q " $id root"
    echo PrivateData=jobs >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    nobody remuda top >seen
    ! grep -q "$id root" seen || false
    grep "^ $(hostname -s) " seen | grep -qE '\?' 
    head -1 seen | grep -q "GPUs 2/8 "
}

@test "without a controller, and what is no option" {
    run ! remuda top --state /nowhere
    [ "$status" = 1 ]
    run ! remuda top 42
    [ "$status" = 2 ]
}

@test "nodes that did not look for devices have the GPUs of their configuration; 60 columns lose no word of the keys" {
    remuda up -q --state "$TOP/virtual" --nodes 2 --cpus 2 --gres gpu:v100:2 3>&-
    export REMUDA_STATE="$TOP/virtual"
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 -o /dev/null --wrap 'sleep 300')
    wait_state "$id" RUNNING
    remuda top >seen
    head -1 seen | grep -q 'GPUs 1/4'
    # A head that does not fit loses whole words.
    COLUMNS=40 remuda top | head -1 | grep -qE '^nodes 2/2 GPUs 1/4 CPUs 1/4 jobs 1$'
    COLUMNS=60 remuda top | head -1 | grep -qE '^[0-9:]{8} nodes 2/2 GPUs 1/4 CPUs 1/4 jobs 1$'
    [ "$(grep -cE ' (\?\.|\.\.) ' seen)" = 2 ]
    remuda top --jobs | grep -qE "^ $id +[^ ]+ +1 +1 +\? "
    terminal 16 60 q remuda top >screen
    grep -q '1-2/2 q quit Tab jobs s:name Enter open .free ?unknown xout' screen
    terminal 16 80 q remuda top >screen
    grep -q 'GPUs: . free  ? unknown  x out' screen
    scancel "$id"
    remuda down
}
