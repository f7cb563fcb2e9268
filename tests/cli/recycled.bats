#!/usr/bin/env bats
# A user is deleted and his number is somebody else's: what he left in the queue does not run for the next one. The daemons see users of their own, by a file of
# names in a mount namespace.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || return 0
    TOP=$(mktemp -d /tmp/remuda-recycled-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" NAMES="$TOP/etc/passwd"
    chmod 755 "$TOP"
    cp -a /etc "$TOP/etc"
    mkdir -m 777 "$TOP/work"
    names ada:7101 bea:7102 cid:7103
    unshare -m sh -c 'mount --bind "$TOP/etc" /etc && exec remuda up -q --nodes 1 --cpus 4 --mem 2000' 3>&-
}

teardown_file() {
    [ -n "${TOP:-}" ] || return 0
    remuda down || true
    rm -rf "$TOP"
}

setup() {
    [ -n "${TOP:-}" ] || skip "needs root and mount namespaces to be several users"
    as 7101 remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd "$TOP/work" || exit 1
    names ada:7101 bea:7102 cid:7103
    scontrol reconfigure
}

teardown() { [ -z "${TOP:-}" ] || scancel -u 7101,7102,7103; }

# names NAME:UID…: who there is, beside root; in place, as the daemons see this file.
names() {
    { getent passwd root nobody; for one in "$@"; do echo "${one%:*}:x:${one#*:}:${one#*:}::/:/bin/sh"; done; } >"$TOP/passwd.new"
    cat "$TOP/passwd.new" >"$NAMES"
}

# as UID COMMAND…
as() { setpriv --reuid="$1" --regid="$1" --clear-groups --reset-env env PATH="$PATH" HOME=/ REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "${@:2}"; }

# What is held is asked for each time: the controller looks by itself twice a minute, at once after a reconfigure.
changed() {
    names "$@"
    scontrol reconfigure
}

is_held() { squeue -h -j "$1" -o %r | grep -qx JobHeldAdmin; }
reason_is() { squeue -h -j "$1" -o %r | grep -qx "$2"; }

@test "jobs, arrays and tables of a deleted user do not run for who has the number next" {
    id=$(as 7101 sbatch --parsable --begin=now+2hours -o none --wrap 'echo secret; id -un > as')
    many=$(as 7101 sbatch --parsable --begin=now+2hours --array=1-3 -o none --wrap true)
    running=$(as 7101 sbatch --parsable -o none --wrap 'sleep 600')
    as 7101 scrontab - <<<'0 0 1 1 * echo secret'
    cron=$(squeue -h -u 7101 -o '%i %j %r' | awk '/BeginTime/ {print $1}' | sort -n | tail -1)
    other=$(as 7102 sbatch --parsable --begin=now+2hours -o none --wrap true)
    wait_state "$running" RUNNING
    changed eve:7101 bea:7102 cid:7103
    for one in "$id" "$many" "$cron"; do eventually is_held "$one"; done
    [ "$(squeue -h -j "$other" -o %r)" = BeginTime ]
    [[ "$(scontrol show job "$id")" == *"uid 7101 was ada when this was submitted, and is eve now"*"scontrol release $id"* ]]
    [ "$(state "$running")" = RUNNING ]
    # Nothing of it is hers.
    run ! as 7101 scontrol write batch_script "$id" -
    [[ "$output" != *secret* ]]
    [[ "$(as 7101 scrontab -l 2>&1)" != *secret* ]]
    for one in "$id" "$many" "$running"; do
        run ! as 7101 scancel "$one"
        run ! as 7101 scontrol release "$one"
    done
    run ! as 7101 scontrol update JobId="$id" Comment=mine
    run ! as 7101 srun --overlap --jobid="$running" true
    [ "$(state "$running")" = RUNNING ]
    # Her own are, and the table, when she writes one.
    hers=$(as 7101 sbatch --parsable -o none --wrap true)
    wait_state "$hers" COMPLETED
    as 7101 scrontab - <<<'0 0 1 1 * echo hers'
    [[ "$(as 7101 scrontab -l)" == *hers* ]]
    [ "$(state "$cron")" = CANCELLED ]
    # What ran comes back to the queue, and stays there; a restart changes nothing.
    scontrol requeue "$running"
    eventually is_held "$running"
    kill -9 "$(remuda status --pid controller)"
    unshare -m sh -c 'mount --bind "$TOP/etc" /etc && exec remuda up -q' 3>&-
    is_held "$id"
    is_held "$running"
    # Whoever was only renamed has his jobs again by an operator's word.
    scontrol update JobId="$id" StartTime=now
    is_held "$id"
    scontrol release "$id"
    wait_state "$id" COMPLETED
    [ "$(sacct -n -P -X -j "$id" -o User)" = ada ]
}

# Rounds are half a minute apart: what was just asked about is asked again because the file has changed.
@test "a number that is given away on the controller's own machine runs nothing of the former's from that moment" {
    id=$(as 7101 sbatch --parsable --begin=now+2hours -o none --wrap true)
    changed eve:7101 bea:7102 cid:7103
    eventually is_held "$id"
    id=$(as 7102 sbatch --parsable --begin=now+2hours -o none --wrap true)
    names eve:7101 ida:7102 cid:7103
    for _ in $(seq 80); do is_held "$id" && break; sleep 0.1; done
    is_held "$id"
    # as useradd does it: another file in its place, which is seen, too
    id=$(as 7103 sbatch --parsable --begin=now+2hours -o none --wrap true)
    sed s/^cid/kim/ "$NAMES" >"$NAMES+"
    mv "$NAMES+" "$NAMES"
    for _ in $(seq 80); do is_held "$id" && break; sleep 0.1; done
    is_held "$id"
}

# Name services are slow, and the number was given away while no controller was there.
@test "nothing starts after a restart before it is known whose numbers they are" {
    cat >"$TOP/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pwd.h>
#include <unistd.h>
int getpwuid_r(uid_t uid, struct passwd *e, char *room, size_t n, struct passwd **found)
{
    if (uid == 7101)
        sleep(3);
    return ((__typeof__(getpwuid_r) *)dlsym(RTLD_NEXT, "getpwuid_r"))(uid, e, room, n, found);
}
END
    cc -shared -fPIC -o "$TOP/slow.so" "$TOP/slow.c"
    id=$(as 7101 sbatch --parsable --begin=now+8 -o none --wrap 'id -un > began; sleep 600')
    other=$(as 7102 sbatch --parsable --begin=now+8 -o none --wrap true)
    kill -9 "$(remuda status --pid controller)"
    names eve:7101 bea:7102 cid:7103
    sleep 8
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$TOP/slow.so" unshare -m sh -c 'mount --bind "$TOP/etc" /etc && exec remudad controller --state "$REMUDA_STATE"' 3>&-
    wait_state "$other" COMPLETED
    is_held "$id"
    [ ! -e began ]
    kill -9 "$(remuda status --pid controller)"
    unshare -m sh -c 'mount --bind "$TOP/etc" /etc && exec remuda up -q' 3>&-
}

@test "whose name is gone waits until it is back; where most names are, name services are not believed" {
    id=$(as 7101 sbatch --parsable --begin=now+2hours -o none --wrap true)
    more=$(as 7102 sbatch --parsable --begin=now+2hours -o none --wrap true)
    most=$(as 7103 sbatch --parsable --begin=now+2hours -o none --wrap true)
    changed bea:7102 cid:7103
    eventually reason_is "$id" UserUnknown
    for one in $id $more $most; do scontrol update JobId="$one" StartTime=now; done
    wait_state "$more" COMPLETED
    wait_state "$most" COMPLETED
    reason_is "$id" UserUnknown
    changed ADA:7101 bea:7102 cid:7103
    wait_state "$id" COMPLETED
    ids=$(for uid in 7101 7102 7103; do as $uid sbatch --parsable -H -o none --wrap true; done)
    changed bea:7102
    eventually grep -q "that is not believed" "$REMUDA_STATE/log/controller.log"
    for one in $ids; do scontrol release "$one"; done
    for one in $ids; do wait_state "$one" COMPLETED; done
}

laptop() {
    mount --bind "$NAMES" /etc/passwd
    ip link set lo up
    export REMUDA_STATE="$TOP/head"
    mkdir -p "$REMUDA_STATE"
    mkdir -m 777 "$TOP/laptop"
    remuda up -q --nodes 1 --cpus 1 --mem 500 3>&-
    hers() { REMUDA_STATE="$TOP/laptop" as 7101 "$@"; }
    hers remuda join 127.0.0.1 <<<"$(remuda token --host untrusted --user ada)"
    hers sbatch -H -o none --wrap true
    names eve:7101
    scontrol reconfigure
    told() { ! hers squeue -h >said 2>&1; }
    eventually told
    cat said
    ! hers sbatch -H -o none --wrap true || return 1
    names Ada:7101
    scontrol reconfigure
    eventually hers squeue -h
    hers remuda down || hers remuda leave
    for relay in "$TOP"/laptop/*.pid; do kill "$(head -n 1 "$relay")" 2>/dev/null || true; done
    remuda down
}

@test "the machine of a deleted user does not speak for who has the number next" {
    command -v ip >/dev/null || skip "needs iproute2"
    export -f laptop names as eventually
    run -0 unshare -m -n bash -ec laptop
    echo "$output"
    [[ "$output" == *"was joined for ada, whose uid 7101 is eve's now"* ]]
}
