#!/usr/bin/env bats
# What a user's own process gives away while it is his and does not yet run what he asked for (docs/security.md): nothing.
bats_require_minimum_version 1.5.0
load common

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$SHARED/home" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    SHARED=$(mktemp -d /tmp/remuda-strangers-XXXXXX)
    export SHARED REMUDA_STATE="$SHARED/state"
    chmod 755 "$SHARED"
    mkdir -m 777 "$SHARED/home"
    cp "$BATS_TEST_DIRNAME/strangers.py" "$SHARED"
    KEYRINGS=1 STATUS=0
    python3 "$SHARED/strangers.py" session remuda up -q --nodes 1 --cpus 4 --mem 2000 3>&- || STATUS=$?
    [ "$STATUS" != 77 ] || { KEYRINGS=; remuda up -q --nodes 1 --cpus 4 --mem 2000 3>&-; }
    export KEYRINGS
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    scancel -u root,nobody || true
    remuda down
    rm -rf "$SHARED"
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd "$SHARED/home" || exit 1
    rm -f pipe pipe0
    mkfifo -m 666 pipe pipe0
}

teardown() {
    [ "$(id -u)" = 0 ] && scancel -u nobody || true
}

# So many processes of nobody's are there that still are the shepherd's program.
tries() { thefts=$(as_nobody python3 "$SHARED/strangers.py" steal) && [[ "$thefts" == *"tried $1" ]]; }

@test "a batch job that waits for the reader of its output gives nothing to its owner, nor anything of other users" {
    PLAIN_ENV=first-env-8151 sbatch -W -o /dev/null --wrap 'true # first-script-8151' >/dev/null
    id=$(as_nobody env OWN_ENV=own-env-8151 sbatch --parsable -o pipe --wrap 'true # own-script-8151')
    eventually tries 1
    [ "$thefts" = "tried 1" ]
    PLAIN_ENV=later-env-8151 sbatch -W -o /dev/null --wrap 'true # later-script-8151' >/dev/null
    found=$(python3 "$SHARED/strangers.py" search 65534 own-script-8151 first-env-8151 first-script-8151 later-env-8151 later-script-8151)
    [[ "$found" == *own-script-8151 ]]
    [ "$(wc -l <<< "$found")" = 1 ]
    [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]
    timeout 30 cat pipe >/dev/null
}

@test "tasks: a prolog that hangs, an output that nobody reads, an epilog that waits" {
    printf '#!/bin/sh\ncat %s/home/pipe\n' "$SHARED" > slow
    chmod 755 slow
    as_nobody timeout 60 srun -n1 --task-prolog="$PWD/slow" true >out 2>&1 3>&- &
    eventually tries 1
    [ "$thefts" = "tried 1" ]
    timeout 30 sh -c 'echo > pipe'
    wait
    as_nobody timeout 60 srun -n1 -o 'pipe%t' true >out 2>&1 3>&- &
    eventually tries 1
    [ "$thefts" = "tried 1" ]
    timeout 30 cat pipe0
    wait
    as_nobody timeout 60 srun -n1 --task-epilog=/bin/true cat pipe >out 2>&1 3>&- &
    eventually tries 1
    [ "$thefts" = "tried 1" ]
    timeout 30 sh -c 'echo > pipe'
    wait
}

@test "a step whose output nobody reads can be ended: its shepherd does not wait for a reader" {
    echo KillWait=2 >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    as_nobody timeout 60 srun -n1 -o 'pipe%t' sleep 300 >out 2>&1 3>&- &
    eventually tries 1
    id=$(squeue -h -u nobody -o %i)
    scancel "$id"
    wait || true
    gone() { [ -z "$(squeue -h -u nobody)" ]; }
    eventually gone
}

@test "keys of the session that started the cluster, and those of another user's job, are in nobody's reach; one's own are" {
    [ -n "$KEYRINGS" ] || skip "there are no keyrings here"
    cp "$SHARED/strangers.py" keys.py
    [ -z "$(srun -n1 python3 keys.py keys strangers-first)" ]
    [ -z "$(as_nobody srun -n1 python3 keys.py keys strangers-first)" ]
    # What his first job left in his own keyring is there, what it left in its session is not.
    [ "$(as_nobody srun -n1 python3 keys.py keys strangers-second)" = "found strangers-own" ]
    as_nobody sbatch -W -o keys.out --wrap "python3 keys.py keys strangers-first; srun -n1 python3 keys.py keys strangers-third" >/dev/null
    [ "$(cat keys.out)" = $'found strangers-own\nfound strangers-own' ]
}

@test "what daemons do in a user's name outside of his jobs cannot be taken over by his processes, who would be in no job then" {
    # At its end LeakSanitizer opens a process to its user, to look at it from another one.
    ! grep -q __asan_init "$REMUDA_STAGE/remuda-shepherd" || skip "a sanitized build: LeakSanitizer itself lets a process be taken over at its end"
    id=$(as_nobody sbatch --parsable -o "$SHARED/home/written" --wrap 'echo written; sleep 300')
    eventually test -s written
    running() { [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]; }
    eventually running
    rm written
    echo "MailProg=/bin/true" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    rm -f enough
    as_nobody python3 "$SHARED/strangers.py" outside >outside 2>&1 3>&- &
    # They live for milliseconds: until one of each kind was seen.
    each_kind() {
        as_nobody sbatch -o /dev/null --mail-type=END --mail-user=somebody --wrap true >/dev/null
        for _ in 1 2 3 4 5; do as_nobody timeout 20 remuda report --mail "$id" >/dev/null; done
        PAM_TYPE=account PAM_USER=nobody timeout 20 remuda adopt --state "$REMUDA_STATE" || true
        grep -q "^got" outside && return
        grep -q "^tried output-end" outside && grep -q "^tried report" outside && grep -q "^tried adopt" outside
    }
    eventually each_kind
    touch enough
    wait
    cat outside
    [ "$(grep -c ^got outside)" = 0 ]
    scancel "$id"
}

@test "locks that others hold keep no daemon from starting, nor a node from its control groups" {
    remuda status | grep '^isolation' >before
    id=$(as_nobody sbatch --parsable -o limits --wrap 'grep . $(sed -n "s,^[^:]*:[^:]*memory:,/sys/fs/cgroup/memory,p" /proc/self/cgroup)/memory.limit_in_bytes; sleep 300')
    running() { [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]; }
    eventually running
    sed -n 's/^[^=]*=//p' "$REMUDA_STATE"/nodes/*/cgroups | sort -u >groups
    [ "$(as_nobody sh -c 'while read -r group; do flock -n -s "$group" echo "$group"; done' <groups 2>/dev/null)" = "" ]
    # What he holds now, and what he gets when the daemons let go of it.
    for path in "$REMUDA_STATE" "$REMUDA_STATE"/nodes/* "$REMUDA_STATE"/controller.pid "$REMUDA_STATE"/nodes/*/node.pid $(cat groups); do
        as_nobody flock "$path" sleep 20 2>/dev/null 3>&- &
    done
    sleep 0.5
    remuda down -q
    remuda up -q 3>&-
    eventually running
    remuda status | grep '^isolation' | cmp - before
    [ "$(as_nobody timeout 60 srun -n1 echo runs)" = runs ]
    scancel "$id"
    [ "$(grep -c 'Permission denied' limits)" = 0 ]
    # Daemons that were killed leave their pid files, which all may read, and so lock.
    pids=("$REMUDA_STATE/controller.pid" "$REMUDA_STATE"/nodes/*/node.pid)
    kill -9 $(cat "${pids[@]}")
    as_nobody python3 -c '
import fcntl, sys, time
files = [open(path) for path in sys.argv[1:]]
for f in files:
    fcntl.lockf(f, fcntl.LOCK_SH)
print("holds", flush=True)
time.sleep(20)' "${pids[@]}" >held 3>&- &
    eventually grep -q holds held
    run ! remuda status
    remuda up -q 3>&-
    [ "$(as_nobody timeout 60 srun -n1 echo runs)" = runs ]
}
