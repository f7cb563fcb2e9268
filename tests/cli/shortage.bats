#!/usr/bin/env bats
# A node that has no process left for a moment: what is to start waits for it, and what waited in vain is told in a sentence. The node's daemon is a user's with a limit of
# processes, which processes of his outside of the cluster use up.
bats_require_minimum_version 1.5.0

STRANGER=4321 # who has nothing else here

setup_file() {
    [ "$(id -u)" = 0 ] || skip "only root can be another"
    export TOP
    TOP=$(mktemp -d /tmp/remuda-shortage-XXXXXX)
    export REMUDA_STATE="$TOP/state"
    mkdir -p "$REMUDA_STATE" "$TOP/work"
    cat >"$REMUDA_STATE/remuda.conf" <<'END'
ClusterName=shortage
NodeName=n1 CPUs=4 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
END
    chmod 755 "$TOP"
    chown -R $STRANGER:$STRANGER "$REMUDA_STATE" "$TOP/work"
    as_stranger prlimit --nproc=150:150 remuda up -q 3>&-
}

teardown_file() {
    [ -n "${TOP:-}" ] || return 0
    as_stranger remuda down
    rm -rf "$TOP"
}

as_stranger() { (cd "$TOP/work" && exec setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups --reset-env env PATH="$PATH" HOME="$TOP/work" \
    REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"); }

# Processes of the user's, more than the daemon's limit, until `hogs_end`.
hogs_begin() {
    : >"$TOP/work/hogs"
    as_stranger python3 -c '
import os, time
for _ in range(160):
    if os.fork() == 0:
        until = time.time() + 60
        while os.path.exists("hogs") and time.time() < until:
            time.sleep(0.2)
        os._exit(0)
open("all", "w").close()
while os.path.exists("hogs"):
    time.sleep(0.2)' >"$TOP/hogs.out" 2>&1 3>&- &
    for _ in $(seq 300); do [ -e "$TOP/work/all" ] && return; sleep 0.1; done
    return 1
}
hogs_end() { rm -f "$TOP/work/hogs" "$TOP/work/all"; }

teardown() { rm -f "${TOP:-/nowhere}"/work/{hogs,all}; [ -z "${TOP:-}" ] || touch "$TOP/work/go"; }

nothing_is_left() {
    for _ in $(seq 300); do [ -z "$(ls -A "$REMUDA_STATE"/nodes/n1/steps/ | grep -v '^notes$\|^\.s[0-9]*$')" ] && return; sleep 0.1; done
    ls -lA "$REMUDA_STATE"/nodes/n1/steps/
    return 1
}

@test "a job and a step that come while no process can be had start when one can" {
    as_stranger srun -Q true # the client's own start is no part of it
    hogs_begin
    as_stranger sbatch --parsable -n2 -o batch.out --wrap 'echo began; srun -n2 echo step' >"$TOP/id"
    as_stranger srun -Q -n2 --overcommit echo here >"$TOP/srun.out" 2>&1 3>&- &
    srun=$!
    sleep 2
    [ -z "$(cat "$TOP/srun.out" "$TOP/work/batch.out")" ] || return 1
    hogs_end
    wait "$srun" || { cat "$TOP/srun.out"; return 1; }
    [ "$(sort -u "$TOP/srun.out")" = here ]
    id=$(cat "$TOP/id")
    for _ in $(seq 300); do [ "$(as_stranger sacct -nXPj "$id" -o State)" = COMPLETED ] && break; sleep 0.1; done
    [ "$(as_stranger sacct -nXPj "$id" -o State,Restarts)" = "COMPLETED|0" ]
    [ "$(sort "$TOP/work/batch.out" | uniq -c | tr -s ' \n' ' ')" = " 1 began 2 step " ]
    nothing_is_left
}

@test "a step that waits in vain says where and why, its job goes on, and the node stays" {
    rm -f "$TOP/work/go"
    as_stranger salloc -Q sh -c 'touch allocated; until [ -e go ]; do sleep 0.2; done; srun echo after' >"$TOP/salloc.out" 2>&1 3>&- &
    salloc=$!
    for _ in $(seq 300); do [ -e "$TOP/work/allocated" ] && break; sleep 0.1; done
    job=$(as_stranger squeue -h -t R -o %i)
    hogs_begin
    run as_stranger timeout 60 srun -Q --jobid="$job" --overlap echo here
    echo "$output"
    [ "$status" -ne 0 ]
    [[ "$output" == *"cannot start "*" on n1: Resource temporarily unavailable"* ]]
    hogs_end
    touch "$TOP/work/go"
    wait "$salloc" || { cat "$TOP/salloc.out"; return 1; }
    [ "$(cat "$TOP/salloc.out")" = after ]
    [ "$(as_stranger sinfo -h -o %T)" = idle ]
    nothing_is_left
}

@test "a terminal that others have is waited for" {
    unshare -m true 2>/dev/null || skip "no mount namespace can be had here"
    cat >"$TOP/terminals.sh" <<'S'
mount --make-rprivate / && mount -t devpts -o newinstance,ptmxmode=0666,max=4 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx || exit 77
remuda up -q --nodes 1 --cpus 2 --mem 500 3>&-
timeout 60 python3 -c '
import os, subprocess, time
master, slave = os.openpty()
others = []
try:
    while True:
        others.append(os.openpty())
except OSError:
    pass
srun = subprocess.Popen(["srun", "-Q", "--pty", "-n1", "tty"], stdin=slave, stdout=slave, stderr=slave)
time.sleep(2)
for fd in (fd for pair in others for fd in pair):
    os.close(fd)
print(srun.wait(), os.read(master, 1000))'
remuda down
S
    export REMUDA_STATE="$TOP/terminals"
    run unshare -m sh "$TOP/terminals.sh"
    [ "$status" != 77 ] || skip "no terminals of one's own can be had here"
    echo "$output"
    [[ "$output" == *"0 b'/dev/pts/"* ]]
}
