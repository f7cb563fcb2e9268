#!/usr/bin/env bats
# What jobs did, as it was sampled (remuda plot): from a fake NVML that plays profiles, through real daemons, to charts, CSV, JSON, SVG and PNG.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-plot-XXXXXX)
    export TOP REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus"
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    # GPU 1: at work, then a dip, then at work; GPU 2 tells little; the others idle.
    {
        echo "machine a100x4"
        echo "replay 1 1000"
        for _ in 1 2 3 4; do printf 'frame 1 47 1024\nwatts 1 210\n'; done
        printf 'frame 1 3 1024\nwatts 1 80\n'
        for _ in 1 2; do printf 'frame 1 45 2048\nwatts 1 200\n'; done
        printf 'celsius 1 61\nsmclock 1 1410\npcie 1 100 2000\ngpm 1 125 33\n'
        for gpu in 0 2 3; do printf 'rate %s 0\nmw %s 55000\ngpm %s 125 33\n' $gpu $gpu $gpu; done
    } >"$TOP/gpus.played"
    for gpu in 0 1 2 3; do # whichever a job gets
        grep -E ' 1 ' "$TOP/gpus.played" | sed "s/^\([a-z]*\) 1 /\1 $gpu /"
    done | sed '1i machine a100x4' >"$TOP/gpus.all"
    { echo "machine a100x4"; for gpu in 0 1 2 3; do echo "gpm $gpu 125 33"; done; } >"$TOP/gpus.idle"
    cp "$TOP/gpus.idle" "$TOP/gpus"
    # While a job plays a profile its GPUs have memory in use: they are clean again when it ends.
    cat >"$TOP/play" <<'S'
#!/bin/sh
cp "$TOP/$1" "$TOP/gpus.new"; mv "$TOP/gpus.new" "$TOP/gpus"
sleep "$2"
cp "$TOP/gpus.idle" "$TOP/gpus.new"; mv "$TOP/gpus.new" "$TOP/gpus"
S
    chmod 755 "$TOP/play"
    cluster <<< "JobAcctGatherFrequency=1
NodeName=$(hostname -s) CPUs=4 RealMemory=2000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES"
    cd "$WORK"
}

setup() { cd "$WORK"; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

over() { wait_state "$1" "${2:-COMPLETED}"; }
# rows JOB MOST: its CSV has at least so many rows
has_rows() { [ "$(remuda plot "$1" --csv 2>/dev/null | tail -n +2 | wc -l)" -ge "$2" ]; }

step_has_rows() { [ "$(remuda plot "$1" "$2" --csv 2>/dev/null | tail -n +2 | wc -l)" -ge "$3" ]; }

# column TITLE: of the CSV on stdin
column() { python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin, skipinitialspace=True): print(row[sys.argv[1]])' "$1"; }

@test "each GPU of a job has its curve, with nvidia-smi's titles, and no other's" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:2 --wrap "$TOP/play gpus.played 6")
    echo "$id" >"$TOP/played"
    over "$id"
    eventually has_rows "$id" 8
    remuda plot "$id" --csv >csv
    head -1 csv | grep -q '^timestamp, node, index, name, utilization.gpu \[%\], utilization.memory \[%\], memory.used \[MiB\], memory.total \[MiB\], power.draw \[W\]'
    [ "$(column index <csv | sort -u | wc -l)" = 2 ]
    remuda plot "$id" --csv=nounits >bare
    column name <csv | sort -u | grep -x a100 >/dev/null
    column "power.draw [W]" <bare | grep -qE '^[0-9]+\.[0-9]{2}$'
    column "power.draw [W]" <csv | grep -qE '^[0-9]+\.[0-9]{2} W$'
    # What a device does not tell is not made up.
    ! head -1 csv | grep -q nvlink || false
}

@test "a profile that is played comes out as it was" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 --wrap "$TOP/play gpus.all 8")
    over "$id"
    # The last samples come a little after the end of the job.
    played_whole() { remuda plot "$1" --csv=nounits 2>/dev/null >csv; column "utilization.gpu [%]" <csv | grep -x 45 >/dev/null; }
    eventually played_whole "$id"
    column "utilization.gpu [%]" <csv | grep -x 47 >/dev/null
    column "utilization.gpu [%]" <csv | grep -x 45 >/dev/null
    [ "$(column "utilization.gpu [%]" <csv | sort -n | tail -1)" -lt 50 ]
    column "memory.used [MiB]" <csv | grep -x 1024 >/dev/null
    column "power.draw [W]" <csv | grep -x 210.00 >/dev/null
    column "temperature.gpu" <csv | grep -x 61 >/dev/null
    column "clocks.current.sm [MHz]" <csv | grep -x 1410 >/dev/null
    column "sm_activity [%]" <csv | grep -x 12.5 >/dev/null
    column "tensor_activity [%]" <csv | grep -x 3.3 >/dev/null
    python3 - <<'P'
import csv
rates = [float(r["pcie.rx [KiB/s]"]) for r in csv.DictReader(open("csv"), skipinitialspace=True) if r["pcie.rx [KiB/s]"] != "[N/A]"]
assert rates and all(1000 < r < 4000 for r in rates), rates
P
}

@test "bytes over PCIe without GPM: by counters of 64 bits; those of 32 go round in between and say nothing" {
    for gpu in 0 1 2 3; do printf 'pcie %s 50000000 60000000\n' $gpu; done >"$TOP/copies"
    for gpu in 0 1 2 3; do printf 'wide %s 1\n' $gpu; done >"$TOP/wide"
    echo "machine a100x4" | cat - "$TOP/copies" >"$TOP/gpus.narrow"
    cat "$TOP/gpus.narrow" "$TOP/wide" >"$TOP/gpus.wide"
    for how in narrow wide; do
        sed '/^gpm/d' "$TOP/gpus.idle" >"$TOP/gpus.new"
        mv "$TOP/gpus.new" "$TOP/gpus"
        id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 --wrap "$TOP/play gpus.$how 6")
        over "$id"
        eventually has_rows "$id" 3
        remuda plot "$id" --csv=nounits >"csv.$how"
    done
    python3 - <<'P'
import csv
def rates(how, title):
    return [float(r[title]) for r in csv.DictReader(open("csv." + how), skipinitialspace=True) if r.get(title, "[N/A]") != "[N/A]"]
for title in ("pcie.tx [KiB/s]", "pcie.rx [KiB/s]"):
    assert not rates("narrow", title), rates("narrow", title)
for title, value in {"pcie.tx [KiB/s]": 50e6, "pcie.rx [KiB/s]": 60e6}.items():
    assert any(0.8 * value < r < 1.25 * value for r in rates("wide", title)), (title, rates("wide", title))
P
}

@test "CPU, memory and bytes of a job without GPUs, its steps apart and together" {
    id=$(sbatch --parsable --mem=200 -c2 --wrap 'srun -n1 --mem=80 python3 -c "
import time
b = bytearray(40 << 20)
t = time.time()
while time.time() - t < 3: sum(range(1000))
open(\"out\", \"wb\").write(b)
time.sleep(2.5)"')
    over "$id"
    # The last samples come a little after the end of the job.
    cat >complete <<'P'
import json, sys
series = json.load(sys.stdin)["series"]
by = {(s["step"], s["value"]): [v for t, v in s["samples"]] for s in series if "cpu" not in s}
assert max(by["0", "rss"]) > 40, by["0", "rss"]
assert max(by["0", "cpu"]) > 10, by["0", "cpu"]
assert max(by["0", "write"]) > 1000, by["0", "write"]
assert ("batch", "cpu") in by and ("0", "util") not in by, by.keys()
assert all(s["interval_s"] == 1 for s in series)
P
    complete() { remuda plot "$1" --json 2>/dev/null | python3 complete 2>/dev/null; }
    eventually complete "$id"
    remuda plot "$id" 0 | grep -q "step 0 cpu: mean"
    remuda plot "$id.batch" | grep -q "step batch cpu: mean"
    remuda plot "$id" | grep -q "^$(hostname -s) cpu: mean"
    [ "$(remuda plot "$id" --value rss --csv | head -1)" = "timestamp, node, step, memory.rss [MiB]" ]
}

@test "each task of a step of several by itself: the one that works, and the one that waits" {
    id=$(sbatch --parsable --mem=200 -n2 -c1 --wrap 'srun -n2 --mem=80 bash -c "if [ \$SLURM_PROCID = 1 ]; then timeout 5 sh -c \"while :; do :; done\"; else sleep 5; fi"; srun -n1 true')
    over "$id"
    cat >ranks <<'P'
import json, sys
series = json.load(sys.stdin)["series"]
task = {(s["step"], s["task"]): [v for t, v in s["samples"]] for s in series if s["value"] == "taskcpu"}
assert set(task) == {("0", 0), ("0", 1)}, task.keys()
assert max(task["0", 1]) > 10 > max(task["0", 0][1:]), task
P
    ranks() { remuda plot "$1" --json 2>/dev/null | python3 ranks 2>/dev/null; }
    eventually ranks "$id"
    remuda plot "$id" --value taskcpu | grep -q "step 0 task 1 taskcpu: mean"
    ! remuda plot "$id" | grep -q taskcpu || false
    ! remuda plot "$id" --csv | head -1 | grep -q task.cpu || false
}

@test "--acctg-freq: how often, what not, and not at all" {
    id=$(sbatch --parsable --mem=100 -c1 --acctg-freq=task=1,filesystem=0,network=0 --wrap 'sleep 3')
    none=$(sbatch --parsable -c1 --acctg-freq=0 --wrap 'sleep 1')
    over "$id"; over "$none"
    eventually has_rows "$id" 3
    ! remuda plot "$id" --csv | head -1 | grep -qE 'read|network' || false
    run ! remuda plot "$none"
    [[ "$output" == *"has no samples"*"--acctg-freq=0"* ]]
}

@test "60 columns, letters alone, no colours: as the terminal is" {
    id=$(cat "$TOP/played")
    export COLUMNS=60
    LC_ALL=C remuda plot "$id" >ascii
    [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' ascii)" -le 60 ]
    ! LC_ALL=C grep -q '[^ -~]' ascii || false
    grep -q ' util: mean' ascii
    grep -q '#' ascii
    LC_ALL=C.UTF-8 remuda plot "$id" >braille
    python3 - <<'P'
lines = open("braille", encoding="utf-8").read().splitlines()
assert max(map(len, lines)) <= 60, max(lines, key=len)
assert any("⠀" <= c <= "⣿" for l in lines for c in l)
P
    # On a terminal with colours, and where NO_COLOR says none.
    python3 - "$id" <<'P'
import fcntl, os, pty, struct, sys, termios
def shown(env):
    out = b""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe("remuda", ["remuda", "plot", sys.argv[1]], {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env})
    while True:
        try: piece = os.read(fd, 65536)
        except OSError: break
        if not piece: break
        out += piece
    os.waitpid(pid, 0)
    return out
# Again and again: what is drawn fits into the window.
def frames(rows):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe("remuda", ["remuda", "plot", sys.argv[1], "-a", "-w"], {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    out = b""
    while True:
        try: piece = os.read(fd, 65536)
        except OSError: break
        if not piece: break
        out += piece
    os.waitpid(pid, 0)
    return out.split(b"\x1b[H\x1b[2J")[1:]
for rows in (24, 60):
    assert 10 < frames(rows)[-1].count(b"\n") < rows, frames(rows)[-1].decode()
assert b"\x1b[32m" in shown({})
assert b"\x1b" not in shown({"NO_COLOR": "1"})
P
}

@test "a picture: well-formed, light and dark, a chart for each value" {
    id=$(cat "$TOP/played")
    for theme in "" =light =dark; do remuda plot "$id" --svg$theme >"p$theme.svg"; done
    python3 - <<'P'
import xml.etree.ElementTree as E
for name in "p.svg", "p=light.svg", "p=dark.svg":
    texts = [t.text for t in E.parse(name).iter("{http://www.w3.org/2000/svg}text")]
    assert "utilization.gpu" in texts and "100 %" in texts, texts
P
    grep -q prefers-color-scheme p.svg
    ! grep -q prefers-color-scheme p=dark.svg || false
}

@test "a picture of dots: a PNG, light and dark, where cairo is; else the nearest is named" {
    id=$(cat "$TOP/played")
    run ! env REMUDA_CAIRO=/nowhere.so remuda plot "$id" --png
    [[ "$output" == *"cairo, which is not installed"*"--svg"* ]]
    run ! remuda plot "$id" --png=blue
    [[ "$output" == *"--png=light and --png=dark"* ]]
    python3 -c 'import ctypes; ctypes.CDLL("libcairo.so.2")' 2>/dev/null || skip "libcairo2 is not installed"
    for theme in "" =light =dark; do remuda plot "$id" --png$theme >"p$theme.png"; done
    cmp p.png p=light.png
    python3 - <<'P'
import struct, zlib
def dots(name):
    data = open(name, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        assert zlib.crc32(data[at + 4:at + 8 + n]) == struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0]
        if kind == b"IHDR": width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT": body += data[at + 8:at + 8 + n]
        at += 12 + n
    raw = zlib.decompress(body)
    assert width == 1920 and height > 600 and depth == 8 and colour == 2, (width, height, depth, colour)
    assert len(raw) == height * (1 + 3 * width)
    assert len(set(raw)) > 50 # letters and lines, not one colour
    return raw[1:4]
assert dots("p=light.png") == b"\xff\xff\xff" and dots("p=dark.png") == b"\x14\x17\x1b"
P
}

@test "what cannot be drawn is said" {
    id=$(cat "$TOP/played")
    run ! remuda plot
    [[ "$output" == *"which job?"* ]]
    run ! remuda plot 99999
    run ! remuda plot "$id" --value foo
    [[ "$output" == *'no value "foo"'*util*power* ]]
    run ! remuda plot "$id" --csv --json
    [[ "$output" == *"one of --csv, --json"* ]]
    run -0 remuda plot "$id" --yaml
    [[ "$output" == "---"*"job_id: $id"* ]]
    run ! remuda plot "$id" -w
    [[ "$output" == *"terminal"* ]]
    run ! remuda plot "$id" --gpu 17
    [[ "$output" == *"no samples of what was asked for"* ]]
    waits=$(sbatch --parsable --hold --wrap true)
    run ! remuda plot "$waits"
    [[ "$output" == *"has not run yet"* ]]
    scancel "$waits"
}

@test "daemons that are killed lose seconds; what waited for the controller comes later" {
    id=$(sbatch --parsable --mem=100 -c1 --wrap 'sleep 14')
    wait_state "$id" RUNNING
    eventually has_rows "$id" 2
    first=$(remuda plot "$id" --csv | sed -n 2p)
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    node=$(hostname -s)
    sleep 2
    kill "$(cat "$REMUDA_STATE/nodes/$node/node.pid")"
    eventually test -s "$REMUDA_STATE/nodes/$node/series.unsent"
    remuda up -q 3>&-
    over "$id"
    eventually has_rows "$id" 10
    remuda plot "$id" --csv >csv
    [ "$(sed -n 2p csv)" = "$first" ]
    eventually test ! -e "$REMUDA_STATE/nodes/$node/series.unsent"
    # Nothing twice, in order.
    [ "$(tail -n +2 csv | cut -d, -f1,3 | sort -u | wc -l)" = "$(tail -n +2 csv | wc -l)" ]
}

@test "series of others: as PrivateData says" {
    [ "$(id -u)" = 0 ] || skip "needs two users"
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
    id=$(cat "$TOP/played")
    nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
    nobody squeue >/dev/null 2>&1 || skip "another user does not reach this cluster"
    nobody remuda plot "$id" | grep -q "util: mean"
    echo PrivateData=jobs >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    run ! nobody remuda plot "$id"
    [[ "$output" != *"util: mean"* ]]
    # Asked by itself, without the look at the job that the command takes first.
    cat >"$TOP/ask.py" <<'P'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
body = b'{"type":"get_series","call":1,"job_id":%s}' % sys.argv[2].encode()
s.sendall(struct.pack(">II", len(body), 0) + body)
n, raw = struct.unpack(">II", s.recv(8, socket.MSG_WAITALL))
print(s.recv(n, socket.MSG_WAITALL).decode(), len(s.recv(raw, socket.MSG_WAITALL)) if raw else 0)
P
    chmod 644 "$TOP/ask.py"
    nobody python3 "$TOP/ask.py" "$REMUDA_STATE/controller.sock" "$id" >asked
    grep -q "Invalid job id specified" asked
    python3 "$TOP/ask.py" "$REMUDA_STATE/controller.sock" "$id" | grep -q '"type":"series_part"'
    remuda plot "$id" | grep -q "util: mean"
}
