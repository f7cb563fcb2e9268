#!/usr/bin/env bats
# The kernel asks who may open a device file, and not who has it open: what a job with a GPU sends away before it ends, another's process could use beside the next job.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-sent-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML=/nowhere/nvml.so REMUDA_GPU_PERCENT=5
    chmod 755 "$TOP"
    mkdir -m 777 "$TOP/open"
    mknod -m 666 "$TOP/gpu" c 1 7 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
    mkdir "$TOP/state"
    printf '%s\n' AutoDetect=off "Name=gpu Type=a100 File=$TOP/gpu" >"$REMUDA_STATE/gres.conf"
    cat >"$TOP/has.py" <<'S'
import os, socket, sys, time
os.chdir(os.path.dirname(sys.argv[0]) + "/open")
way = socket.socket(socket.AF_UNIX)
if sys.argv[1] == "gets":
    try:
        open("../gpu")
    except PermissionError:
        pass
    else:
        sys.exit("it is not hidden")
    way.bind("\0" + sys.argv[2])
    way.listen()
    open("listens", "w").close()
    have = socket.recv_fds(way.accept()[0], 1, 1)[1]
    open("has" if have else "has not", "w").close()
    time.sleep(600)
else:
    way.connect("\0" + sys.argv[2])
    socket.send_fds(way, [b"x"], [os.open("../gpu", os.O_RDWR)])
    while not os.path.exists("enough"):
        time.sleep(0.1)
S
    printf '#!/bin/sh\n' >"$TOP/seen"
    devices_up
}

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME=/ REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
says() { remuda gpus | grep -qE "$1"; }
# sent [AS]: $to has, of AS's, what $from, which has the GPU, sent it
sent() {
    rm -f open/*
    until_true says "gpu 0 .*: clean since"
    to=$("$@" sbatch --parsable --mem=50 -c1 -o /dev/null --wrap "exec python3 '$TOP/has.py' gets '$TOP'")
    until_true test -e open/listens
    from=$(sbatch --parsable --mem=50 -c1 --gpus=1 -o /dev/null --wrap "exec python3 '$TOP/has.py' sends '$TOP'")
    until_true test -e open/has
}
# It is its receiver's until that ends.
is_kept() {
    touch open/enough
    over "$from"
    until_true says "gpu 0 .*: held.* of job $to still holds it"
    scancel "$to"
    over "$to"
    until_true says "gpu 0 .*: clean since"
}

@test "a GPU whose open file a job sent to another job of its user's is not given on" {
    sent env
    is_kept
}

@test "nor is one whose open file another user's job has" {
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    sent as_nobody
    is_kept
}

@test "nor after the node's daemon was started anew meanwhile" {
    sent env
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    remuda up -q 3>&-
    until_true says "given to job $from of root"
    is_kept
}

@test "a job that was sent nothing keeps no GPU" {
    rm -f open/*
    beside=$(sbatch --parsable --mem=50 -c1 -o /dev/null --wrap 'exec sleep 600')
    id=$(sbatch --parsable --mem=50 -c1 --gpus=1 -o /dev/null --wrap "exec 7<>'$TOP/gpu'; exec sleep 1")
    over "$id"
    until_true says "gpu 0 .*: clean since"
    scancel "$beside"
    over "$beside"
}

@test "where nothing is hidden who has a GPU's file open may have opened it, and keeps it from nobody" {
    echo ConstrainDevices=NO >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    rm -f open/*
    beside=$(sbatch --parsable --mem=50 -c1 -o /dev/null --wrap "exec 7<>'$TOP/gpu'; touch open/has; exec sleep 600")
    until_true test -e open/has
    id=$(sbatch --parsable --mem=50 -c1 --gpus=1 -o /dev/null --wrap 'exec sleep 1')
    over "$id"
    until_true says "gpu 0 .*: clean since"
    # It is hidden again from those that begin now, and not from this one.
    sed -i '/^ConstrainDevices=NO$/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    id=$(sbatch --parsable --mem=50 -c1 --gpus=1 -o /dev/null --wrap 'exec sleep 1')
    over "$id"
    until_true says "gpu 0 .*: clean since"
    scancel "$beside"
    over "$beside"
    sent env
    is_kept
}
