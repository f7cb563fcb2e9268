#!/usr/bin/env bats
# Sessions of ssh in jobs (remuda adopt, docs/ssh.md): a shell stands in for sshd, which asks through pam_exec and then starts the user's shell.
bats_require_minimum_version 1.5.0

STRANGER=games # one of Debian's users whom no other test has
as_user() { setpriv --reuid=$STRANGER --regid=$STRANGER --init-groups --reset-env env PATH="$PATH" HOME="$TOP/home" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    export TOP REMUDA_STATE
    TOP=$(mktemp -d /tmp/adopt-bats-XXXXXX)
    chmod 755 "$TOP"
    mkdir -m 777 "$TOP/home"
    REMUDA_STATE="$TOP/state"
    remuda up -q --nodes 2 --cpus 4 --mem 4000 --name adopt 3>&-
    # sshd: asks as root, and what it starts then is the user's.
    cat >"$TOP/sshd" <<'P'
#!/bin/bash
# sshd OPTIONS… -- COMMAND…
options=()
while [ "$1" != -- ]; do options+=("$1"); shift; done
shift
PAM_TYPE=${TYPE:-account} PAM_USER=${ASKS:-games} remuda adopt --state "$STATE" "${options[@]}" || exit
setpriv --reuid=games --regid=games --init-groups "$@"
status=$?
exit $status
P
    chmod 755 "$TOP/sshd"
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    scancel -u "root,$STRANGER" || true
    remuda down
    rm -rf "$TOP"
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root: sshd's question is root's"
    as_user remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    [[ "$(remuda status | grep '^isolation')" == *"enforced by cgroup"*memory* ]] || skip "not here: $(remuda status | grep '^isolation')"
    cd "$TOP/home" || exit 1
}
teardown() { [ "$(id -u)" != 0 ] || scancel -u $STRANGER; }

ssh_in() { STATE="$REMUDA_STATE" "$TOP/sshd" "$@"; }
eventually() {
    local until=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS <= until)) || { echo "never: $*"; return 1; }
        sleep 0.1
    done
}
runs() { [ "$(squeue -h -j "$1" -o %T)" = RUNNING ]; }
a_job() {
    id=$(as_user sbatch --parsable -n1 --mem=200 -o none "$@" --wrap 'sleep 300')
    eventually runs "$id"
}
no_step() { [ "$(squeue -s -h -j "$1" | grep -c ssh)" = 0 ]; }
step_state() { [ "$(sacct -n -P -j "$1" -o JobName,State | grep '^ssh|')" = "ssh|$2" ]; }
gone() { ! pgrep -u $STRANGER -f "$1" >/dev/null; }

@test "who has no job on the node does not come in, unless the site says so; root and unknown users are PAM's" {
    run -1 --separate-stderr ssh_in -- true
    [ "$output" = "$(hostname -s): access denied: you have no job that runs on this node" ]
    run -0 ssh_in --action-no-jobs=ignore -- id -un
    [ "$output" = $STRANGER ]
    ASKS=root run -0 ssh_in -- true
    ASKS=no-such-user run -1 ssh_in -- true
    TYPE=session run -0 ssh_in -- true
    id=$(as_user sbatch --parsable -H --wrap 'sleep 300') # a job that waits is on no node
    run -1 ssh_in -- true
}

@test "a session is in the job's control groups, a step named ssh is in the books, and it ends with the session" {
    a_job
    run -0 ssh_in -- sh -c 'cat /proc/self/cgroup; id -un'
    [[ "$output" =~ /remuda\.node[12]\.[0-9a-f]+/g[0-9]+/g ]]
    [[ "$output" == *$STRANGER ]]
    [ "$(sacct -n -P -j "$id" -o JobName | grep -c '^ssh$')" = 1 ]
    eventually no_step "$id"
    eventually step_state "$id" COMPLETED
    # Over before anybody looked: it does not stay for the minute that one has whose sshd hangs.
    [ "$(sacct -n -P -j "$id" -o JobName,ElapsedRaw | sed -n 's/^ssh|//p')" -lt 60 ]
    runs "$id"
}

@test "it is held to the job's memory" {
    a_job
    run -137 ssh_in -- /usr/bin/python3 -c 'x = bytearray(400 << 20)'
    eventually step_state "$id" OUT_OF_MEMORY
}

@test "it ends with the job, and what it left running too; signals to the job's tasks are not for it" {
    a_job
    ssh_in -- sleep 301 &
    local session=$!
    ssh_in -- sh -c 'setsid nohup sleep 302 >/dev/null 2>&1 & exit'
    eventually pgrep -u $STRANGER -f 'sleep 301'
    scancel -s USR1 "$id"
    sleep 1
    pgrep -u $STRANGER -f 'sleep 30[12]'
    kill -0 $session
    scancel "$id"
    run ! wait $session
    eventually gone 'sleep 30[12]'
}

@test "whoever ends its step ends the session" {
    a_job
    ssh_in -- sleep 303 &
    eventually pgrep -u $STRANGER -f 'sleep 303'
    pkill -9 -u $STRANGER -f 'adopt --keep'
    eventually gone 'sleep 303'
    runs "$id"
}

@test "of several jobs it is the one that started last, none, or nobody comes in, as the site says" {
    a_job
    local first=$id
    sleep 1.1
    a_job
    ssh_in -- true
    [ "$(sacct -n -P -j "$id" -o JobName | grep -c '^ssh$') $(sacct -n -P -j "$first" -o JobName | grep -c '^ssh$')" = "1 0" ]
    run -1 ssh_in --action-unknown=deny -- true
    [ "$output" = "$(hostname -s): access denied: you have 2 jobs on this node" ]
    run -0 ssh_in --action-unknown=allow -- cat /proc/self/cgroup
    [[ "$output" != */remuda.node* ]]
    run -2 ssh_in --action-unknown=never -- true
    [[ "$output" == *"--action-unknown is newest|allow|deny; not \"never\""* ]]
    run -2 ssh_in --action-no-jobs=newest -- true
}

@test "an element of an array, a component, a requeued job" {
    id=$(as_user sbatch --parsable -n1 --mem=200 --array=3 -o none --wrap 'sleep 300')
    eventually runs "${id}_3"
    run -0 ssh_in -- cat /proc/self/cgroup
    [[ "$output" == */remuda.node* ]]
    ssh_in -- sleep 304 &
    eventually pgrep -u $STRANGER -f 'sleep 304'
    scontrol requeue "${id}_3"
    eventually gone 'sleep 304'
    scancel "$id"
    id=$(as_user sbatch --parsable -n1 --mem=100 -o none : -n1 --mem=100 <<< $'#!/bin/sh\nsleep 300')
    eventually eval '[ "$(squeue -h -j '"$id"' -t RUNNING | wc -l)" = 2 ]'
    run -0 ssh_in -- cat /proc/self/cgroup
    [[ "$output" == */remuda.node* ]]
}

@test "a cluster of the user's own is not asked, and a controller that is down lets nobody in but where the site says so" {
    local own="$TOP/home/own"
    as_user env REMUDA_STATE="$own" remuda up -q --nodes 1 --cpus 1 --mem 100 3>&-
    as_user env REMUDA_STATE="$own" sbatch -n1 -o none --wrap 'sleep 300'
    REMUDA_STATE="$own" run -1 env PAM_TYPE=account PAM_USER=$STRANGER REMUDA_STATE="$own" SLURM_CONF="$own/remuda.conf" remuda adopt --state "$TOP/state"
    [[ "$output" == *"you have no job that runs on this node" ]]
    as_user env REMUDA_STATE="$own" scancel -u $STRANGER
    as_user env REMUDA_STATE="$own" remuda down
    a_job
    remuda down
    run -1 ssh_in -- true
    run -0 ssh_in --action-adopt-failure=allow -- id -un
    [[ "$output" == *$STRANGER ]]
    remuda up -q 3>&-
    run -0 ssh_in -- cat /proc/self/cgroup
    [[ "$output" == */remuda.node* ]]
}

@test "who cannot be looked up for want of room is refused with the reason, or let in where the site says so" {
    cat >"$TOP/room.c" <<'END'
#include <errno.h>
#include <pwd.h>
struct passwd *getpwnam(const char *name) { (void)name; return errno = EMFILE, (struct passwd *)0; }
END
    cc -shared -fPIC -o "$TOP/room.so" "$TOP/room.c"
    ask() { env PAM_TYPE=account PAM_USER=$STRANGER ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$TOP/room.so" remuda adopt --state "$TOP/state" "$@"; }
    run -1 ask
    [[ "$output" == *": cannot read who the users are: Too many open files" ]]
    run -0 ask --action-adopt-failure=allow
}

# Connects in the keeper's place, as soon as the address of a question is seen.
impostor() {
    cat >"$TOP/impostor" <<'P'
import os, re, socket, sys, time
open(sys.argv[1], "w").close()
end = time.monotonic() + 60
while time.monotonic() < end:
    found = re.search(r"@(remuda-adopt-[0-9a-f]+)", open("/proc/net/unix").read())
    if found:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect("\0" + found.group(1))
            while os.path.exists(sys.argv[1]): # who was asked looks at this process
                time.sleep(0.1)
        except OSError:
            continue
        break
P
    as_user /usr/bin/python3 "$TOP/impostor" "$TOP/home/first" 3>&- &
    eventually test -e "$TOP/home/first"
}

@test "who connects in the keeper's place gets a session into no group but a job's" {
    a_job
    impostor
    run -1 ssh_in -- true
    [[ "$output" == *"access denied: process "*" is in no control group of a job" ]]
    rm "$TOP/home/first"
    wait
    # Below a group that was lent to him he may make one that is named like a job's.
    local mount=/sys/fs/cgroup
    [ -e $mount/cgroup.controllers ] || mount=$mount/pids
    mkdir -p "$mount/remuda.lent/g1"
    chown -R $STRANGER "$mount/remuda.lent"
    setpriv --reuid=0 bash -c "echo \$\$ >$mount/remuda.lent/g1/cgroup.procs; exec setpriv --reuid=$STRANGER --regid=$STRANGER --init-groups /usr/bin/python3 '$TOP/impostor' '$TOP/home/second'" 3>&- &
    eventually test -e "$TOP/home/second"
    eventually grep -q . "$mount/remuda.lent/g1/cgroup.procs"
    run -1 ssh_in -- true
    echo "$output"
    rm "$TOP/home/second"
    wait
    rmdir "$mount/remuda.lent/g1" "$mount/remuda.lent"
    [[ "$output" == *"access denied: $mount/remuda.lent/g1 is no group that the node made for a job" ]]
}

@test "without pam_exec and without root it says whom it is for" {
    run -2 --separate-stderr remuda adopt
    [[ "$stderr" == "remuda adopt: error: PAM_TYPE and PAM_USER say who asks: this is for pam_exec"* ]]
    run -2 --separate-stderr as_user env PAM_TYPE=account PAM_USER=root remuda adopt
    [[ "$stderr" == "remuda adopt: error: for root: sshd asks, through pam_exec"* ]]
}
