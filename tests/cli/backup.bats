#!/usr/bin/env bats
# remuda backup and restore, as docs/backup.md has them; a store that is gone, empty or older: nothing runs twice, no number is given twice.
bats_require_minimum_version 1.5.0
load common

setup() {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state" WORK="$BATS_TEST_TMPDIR/work"
    mkdir -p "$WORK"
    remuda up -q --nodes 1 --cpus 2 --mem 2000 --name backuptest 3>&-
}

teardown() {
    scancel -u "$(id -un)" 2>/dev/null || true
    remuda down || true
}

is() { [ "$(state "$1")" = "$2" ]; }

over_is() { [[ "$(state "$1")" =~ ^(COMPLETED|FAILED)$ ]]; }

over() { [ -e "$WORK/go" ]; }

@test "a backup of a running cluster, restored: what waited is held, what runs goes on, numbers go on" {
    local runs waits later
    runs=$(sbatch --parsable -n1 -o /dev/null --wrap "echo runs >> $WORK/ran; until [ -e $WORK/go ]; do sleep 0.1; done")
    eventually test -e "$WORK/ran"
    waits=$(sbatch --parsable -n1 -o /dev/null --begin=now+1hour --array=0-2 --wrap "echo waits >> $WORK/ran")
    strigger --set --node --drained --program='/bin/echo of-the-backup'
    echo theirs >"$WORK/b.partial" # a name that others could foresee is none of ours
    remuda backup "$WORK/b"
    [ "$(cat "$WORK/b.partial")" = theirs ]
    [ "$(find "$WORK" -name 'b*' | wc -l)" = 2 ]
    [ "$(stat -c %a "$WORK/b")" = 600 ]
    run -1 remuda backup "$WORK/b"
    [[ "$output" =~ "there already" ]]
    later=$(sbatch --parsable -n1 -o /dev/null --wrap "echo later >> $WORK/ran; sleep 100")
    eventually is "$later" RUNNING
    run -1 remuda restore "$WORK/b"
    [[ "$output" =~ "remuda down" ]]
    remuda down
    run -0 remuda restore "$WORK/b"
    [[ "$output" == *"Programs will be run by what was restored"*"runs as $(id -un): /bin/echo of-the-backup"* ]]
    remuda up -q 3>&-
    strigger --clear --user="$(id -un)"
    # what ran at the time of the backup still does, once; what came later is ended
    eventually is "$runs" RUNNING
    [ "$(scontrol show job "$waits" | grep -c 'Reason=JobHeldUser')" -ge 1 ]
    [ "$(sbatch --parsable -n1 -o /dev/null --wrap true)" -gt "$later" ]
    touch "$WORK/go"
    eventually is "$runs" COMPLETED
    [ "$(grep -c runs "$WORK/ran")" = 1 ]
    scontrol update JobId="$waits" StartTime=now
    scontrol release "$waits"
    eventually bash -c "[ \$(grep -c waits '$WORK/ran') = 3 ]"
    grep -q "older than what was said last" "$REMUDA_STATE/log/controller.log"
    [ -e "$REMUDA_STATE/remuda.db.before" ]
}

# Who restored the wrong backup, and puts back what was there: what ran under it ran, and the store that was there does not know.
@test "a store that is put back after a restore runs nothing once more" {
    local id way
    for way in mv "cp --no-preserve=all" "cp -a"; do
        id=$(sbatch --parsable -n1 -o /dev/null -b now+1hour --wrap "echo ran >> $WORK/${way// /_}")
        remuda backup "$WORK/b.${way// /_}"
        for _ in {1..60}; do scontrol update JobId="$id" Comment="$RANDOM"; done # it has come further than the backup will
        remuda down
        [ "$way" != "cp -a" ] || rm "$REMUDA_STATE/given" # which is not all that knows how far that one came
        remuda restore "$WORK/b.${way// /_}"
        mv "$REMUDA_STATE/remuda.db.before" "$REMUDA_STATE/remuda.db" # at once: nothing has run meanwhile
        remuda up -q 3>&-; [[ "$(squeue -h -j "$id" -o '%T %r')" == "PENDING BeginTime" ]]
        remuda down; remuda restore "$WORK/b.${way// /_}"; remuda up -q 3>&-
        scontrol update JobId="$id" StartTime=now; scontrol release "$id"
        eventually is "$id" COMPLETED; remuda down
        $way "$REMUDA_STATE/remuda.db.before" "$REMUDA_STATE/remuda.db"
        remuda up -q 3>&-
        scontrol update JobId="$id" StartTime=now
        eventually bash -c "sinfo -h -o %T | grep -q idle"
        [[ "$(squeue -h -j "$id" -o '%T %r')" == "PENDING JobHeldUser" ]]
        [ "$(grep -c ran "$WORK/${way// /_}")" = 1 ]
    done
}

# Each step of taking the place, as it is left by whoever is killed before the next. (tests/heavy/writes.py's library, at each call of a restore, showed an empty cluster.)
@test "a restore that is cut off leaves one store or the other, never none" {
    local id later at
    id=$(sbatch --parsable -H -n1 -o /dev/null -J of-backup --wrap true)
    remuda backup "$WORK/b"
    later=$(sbatch --parsable -H -n1 -o /dev/null -J later --wrap true)
    kill -9 "$(remuda status --pid controller)" # so that the store has a log
    remuda up -q 3>&-
    kill -9 "$(remuda status --pid controller)"
    remuda restore --state "$WORK/made" "$WORK/b"
    cp -a "$REMUDA_STATE" "$WORK/start"
    for at in named log_moved all_moved; do
        rm -rf "$REMUDA_STATE/"remuda.db*
        cp -a "$WORK/start/"remuda.db* "$REMUDA_STATE"
        cp "$WORK/made/remuda.db" "$REMUDA_STATE/remuda.db.restored"
        [ "$at" = named ] || mv "$REMUDA_STATE/remuda.db-wal" "$REMUDA_STATE/remuda.db.before-wal"
        [ "$at" != all_moved ] || mv "$REMUDA_STATE/remuda.db" "$REMUDA_STATE/remuda.db.before"
        remuda up -q 3>&-
        [ "$(squeue -h -o %A)" = "$id" ]
        grep -q "was cut off: the store that it made has its place now" "$REMUDA_STATE/log/controller.log"
        kill -9 "$(remuda status --pid controller)"
        [ ! -e "$REMUDA_STATE/remuda.db.restored" ]
        # what was there is kept, with its log
        [ "$(sqlite3 "$REMUDA_STATE/remuda.db.before" "select count(*) from job where id in ($id, $later)" 2>/dev/null || echo 2)" = 2 ]
        : >"$REMUDA_STATE/log/controller.log"
    done
    # one that was killed earlier has nothing of its own in the way of the next
    remuda up -q 3>&-
    remuda down
    echo half >"$REMUDA_STATE/remuda.db.restoring"
    echo half >"$REMUDA_STATE/remuda.db.restoring-journal"
    remuda restore "$WORK/b"
    remuda up -q 3>&-
    [ "$(squeue -h -o %A)" = "$id" ]
    [ "$(sbatch --parsable -H -n1 -o /dev/null --wrap true)" -gt "$later" ]
    scancel -u "$(id -un)"
}

# Before each call that changes a name, of all that a restore makes. `remuda repair` finishes what has begun, as a start of the controller does, and finds nothing to do.
@test "a restore that is killed at any of its calls leaves the cluster as it was or as it is to be, and is done again" {
    cat >"$WORK/kill.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void count(void)
{
    static int at;
    const char *last = getenv("KILL_AT");
    if (last && strcmp(program_invocation_short_name, "remudad") == 0 && ++at == atoi(last))
        raise(SIGKILL);
}
#define REAL(type, name, args, values) \
    type name args { count(); type (*real) args = (type (*) args)dlsym(RTLD_NEXT, #name); return real values; }
REAL(int, rename, (const char *a, const char *b), (a, b))
REAL(int, link, (const char *a, const char *b), (a, b))
REAL(int, unlink, (const char *a), (a))
REAL(int, mkdir, (const char *a, mode_t mode), (a, mode))
END
    cc -shared -fPIC -o "$WORK/kill.so" "$WORK/kill.c"
    restore() { ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$WORK/kill.so" KILL_AT="$1" remuda restore "$WORK/b"; }
    files() { (cd "$REMUDA_STATE" && sha256sum remuda.db remuda.conf given tls/authority.key && ls ./*.conf); }
    kept() { (cd "$REMUDA_STATE" && cat remuda.db.before remuda.conf.before gres.conf.before tls/authority.key.before topology.conf.before | sha256sum); }
    mkdir -p "$REMUDA_STATE/tls"
    echo of-backup >"$REMUDA_STATE/tls/authority.key"
    sbatch -H -n1 -o /dev/null -J of-backup --wrap true
    remuda backup "$WORK/b"
    sbatch -H -n1 -o /dev/null -J later --wrap true
    remuda down
    echo '# since' | tee -a "$REMUDA_STATE/remuda.conf" >"$REMUDA_STATE/gres.conf"
    echo since >"$REMUDA_STATE/tls/authority.key"
    # of an earlier restore: what is there to be set aside now comes into its place, and nothing else does
    for f in remuda.db remuda.conf tls/authority.key topology.conf; do echo earlier >"$REMUDA_STATE/$f.before"; done
    cp -a "$REMUDA_STATE" "$WORK/start"
    local old new was is at=0 ends=
    old=$(files) was=$(kept || true)
    restore 0
    new=$(files) is=$(kept)
    [ "$old" != "$new" ]
    [ "$was" != "$is" ]
    until [ "$ends" = all ]; do
        at=$((at + 1))
        rm -rf "$REMUDA_STATE"
        cp -a "$WORK/start" "$REMUDA_STATE"
        run restore "$at"
        [ "$status" = 137 ] || { [ "$status" = 0 ] && ends=all; }
        cp -a "$REMUDA_STATE" "$WORK/cut"
        run -1 remuda repair
        if [ "$(files)" = "$new" ]; then
            [ "$is" = "$(kept)" ]
            [ -z "$(find "$REMUDA_STATE" -name '*.restoring' -o -name '*.leaving' -o -name '*.chosen' -o -name '*.restored')" ]
        else
            echo "$at: $(ls -A "$REMUDA_STATE" "$REMUDA_STATE/tls")"
            [ "$(files)" = "$old" ]
            [ "$(kept 2>/dev/null || true)" = "$was" ]
        fi
        # and the same command, in the place of that
        rm -rf "$REMUDA_STATE"
        mv "$WORK/cut" "$REMUDA_STATE"
        remuda restore "$WORK/b"
        [ "$(files)" = "$new" ]
        [ "$is" = "$(kept)" ]
        [ -z "$(find "$REMUDA_STATE" -name '*.restoring*' -o -name '*.leaving*' -o -name '*.chosen' -o -name '*.restored' -o -name '*.new')" ]
    done
    [ "$at" -gt 20 ]
    cp -a "$WORK/start/"{tls,remuda.conf} "$REMUDA_STATE"
}

@test "a cluster is restored on a machine that has nothing, configuration and certificates with it" {
    local id
    id=$(sbatch --parsable -n1 -o /dev/null --hold --wrap true)
    remuda token --host trusted > /dev/null
    remuda backup "$WORK/b"
    remuda down
    mv "$REMUDA_STATE" "$WORK/former"
    run -0 remuda restore "$WORK/b"
    [ "$(sqlite3 "$REMUDA_STATE/remuda.db" 'SELECT count(*) FROM token')" = 0 ]
    cmp "$REMUDA_STATE/remuda.conf" "$WORK/former/remuda.conf"
    for f in "$WORK"/former/tls/*; do
        cmp "$f" "$REMUDA_STATE/tls/${f##*/}"
        [ "$(stat -c %a "$f")" = "$(stat -c %a "$REMUDA_STATE/tls/${f##*/}")" ]
    done
    # Copied by hand the key may be everybody's to read: not for longer than until the controller starts.
    chmod 644 "$REMUDA_STATE/tls/authority.key"
    remuda up -q 3>&-
    [ "$(stat -c %a "$REMUDA_STATE/tls/authority.key")" = 600 ]
    grep -q "authority.key, which has the key to the cluster in it, could be read by others (mode 0644): it is 0600 now" "$REMUDA_STATE/log/controller.log"
    [ "$(state "$id")" = PENDING ]
    [ "$(sbatch --parsable -n1 -o /dev/null --wrap true)" -gt "$((id + 1000))" ]
}

@test "the store is gone: job ids go on, and what nodes still run is ended" {
    local id
    id=$(sbatch --parsable -n1 -o /dev/null --wrap "echo \$\$ > $WORK/pid; sleep 100")
    eventually test -s "$WORK/pid"
    kill -9 "$(remuda status --pid controller)"
    rm "$REMUDA_STATE"/remuda.db*
    remuda up -q 3>&-
    [ "$(sbatch --parsable -n1 -o /dev/null --wrap true)" -gt "$id" ]
    eventually bash -c "! kill -0 \$(cat '$WORK/pid') 2>/dev/null"
    eventually is "$((id + 1))" COMPLETED
    grep -q "job $id" "$REMUDA_STATE/log/controller.log"
}

# No node has anything of them: `given` alone knows the number.
@test "the store is gone, and every job is over: job ids go on" {
    local id
    id=$(sbatch --parsable -n1 -o /dev/null --wrap true)
    eventually is "$id" COMPLETED
    kill -9 "$(remuda status --pid controller)"
    rm "$REMUDA_STATE"/remuda.db*
    remuda up -q 3>&-
    [ "$(sbatch --parsable -n1 -o /dev/null --wrap true)" -gt "$id" ]
}

@test "what is no backup is not restored, and nothing is touched" {
    remuda token --host trusted >/dev/null
    remuda backup "$WORK/b"
    remuda down
    head -c 20000 /dev/urandom > "$WORK/noise"
    sum=$(sha256sum "$REMUDA_STATE/remuda.db" "$REMUDA_STATE/remuda.conf")
    run -1 remuda restore "$WORK/noise"
    run -1 remuda restore "$REMUDA_STATE/remuda.db"
    [[ "$output" =~ "no backup of Remuda" ]]
    run -1 remuda restore "$WORK/nothing"
    [[ "$output" =~ "No such file" ]]
    # A bit of a key, and of each of many other bytes.
    python3 - "$WORK/b" "$REMUDA_STATE/tls/authority.key" "$WORK/altered" <<'END'
import os, sys
b = bytearray(open(sys.argv[1], "rb").read())
os.mkdir(sys.argv[3])
key = b.index(open(sys.argv[2], "rb").read()) + 60
for at in [key] + [len(b) * i // 23 for i in range(23)]:
    b[at] ^= 1
    open(f"{sys.argv[3]}/{at}", "wb").write(b)
    b[at] ^= 1
    if at != key:
        open(f"{sys.argv[3]}/{at}.cut", "wb").write(b[:at])
END
    for f in "$WORK"/altered/*; do
        run -1 remuda restore "$f"
    done
    mkfifo "$WORK/pipe"
    run -1 timeout 20 remuda restore "$WORK/pipe"
    [[ "$output" =~ "is no ordinary file" ]]
    [ "$sum" = "$(sha256sum "$REMUDA_STATE/remuda.db" "$REMUDA_STATE/remuda.conf")" ]
    remuda up -q 3>&-
}

# The last file of it is refused, or cannot be written (a disk that is full), and others differ from what is there.
@test "a restore that fails has replaced no file, and none is missing" {
    sql() { python3 -c 'import sqlite3,sys; d=sqlite3.connect(sys.argv[1]); d.execute("PRAGMA application_id=0"); d.execute(sys.argv[2]); d.commit()' "$@"; }
    files() { (cd "$REMUDA_STATE" && sha256sum remuda.db ./*.conf tls/authority.crt tls/authority.key && ls -A . tls); }
    local sum
    remuda token --host trusted >/dev/null
    remuda backup "$WORK/b"
    remuda down
    sql "$WORK/b" "UPDATE file SET data=data || char(10)"
    cp "$WORK/b" "$WORK/bad"
    sql "$WORK/bad" "INSERT INTO file VALUES ('tls/z/z', 420, 'x')"
    mkdir "$REMUDA_STATE/tls/authority.key.new" "$REMUDA_STATE/tls/authority.key.restoring"
    sum=$(files)
    run -1 remuda restore "$WORK/bad"
    [ "$sum" = "$(files)" ]
    run -1 remuda restore "$WORK/b"
    [ "$sum" = "$(files)" ]
    rmdir "$REMUDA_STATE"/tls/authority.key.*
    cp "$REMUDA_STATE/tls/authority.key" "$WORK/key"
    remuda restore "$WORK/b"
    cmp "$REMUDA_STATE/tls/authority.key.before" "$WORK/key"
    [ "$(stat -c %a "$REMUDA_STATE/tls/authority.key")" = 600 ]
    [ -z "$(find "$REMUDA_STATE" -name '*.restoring*')" ]
    remuda up -q 3>&-
    remuda token --host trusted >/dev/null
}

# gres.conf came after the backup, and is of another cluster than the one restored. A file system that knows one name for each file (FAT) has no links to keep them by.
@test "what the backup has no file for is set aside, with links and without" {
    cat >"$WORK/links.c" <<'END'
#include <errno.h>
int link(const char *from, const char *to) { return errno = EPERM, -1; }
int linkat(int a, const char *from, int b, const char *to, int flags) { return errno = EPERM, -1; }
END
    cc -shared -fPIC -o "$WORK/links.so" "$WORK/links.c"
    remuda token --host trusted >/dev/null || true # whose port may be another's: the authority is made
    [ -e "$REMUDA_STATE/tls/authority.key" ]
    for lib in "" "$WORK/links.so"; do
        rm -f "$WORK/b"
        # (A build with a sanitizer is told that it is not the first library.)
        ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$lib" remuda backup "$WORK/b"
        echo '# another' >"$REMUDA_STATE/gres.conf"
        echo 'NodeName=later CPUs=1 # host h00000000' >"$REMUDA_STATE/joined.conf"
        echo '# changed since' >>"$REMUDA_STATE/remuda.conf"
        chmod 640 "$REMUDA_STATE/remuda.conf"
        remuda down
        ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$lib" run -0 remuda restore "$WORK/b"
        echo "$output"
        [[ "$output" =~ "Set aside in this way, as the backup has none of that name: gres.conf, joined.conf" ]]
        [ ! -e "$REMUDA_STATE/gres.conf" ]
        [ ! -e "$REMUDA_STATE/joined.conf" ]
        [ "$(cat "$REMUDA_STATE/gres.conf.before")" = "# another" ]
        [ "$(tail -n 1 "$REMUDA_STATE/remuda.conf.before")" = "# changed since" ]
        [ "$(stat -c %a "$REMUDA_STATE/remuda.conf.before")" = 640 ]
        [ -e "$REMUDA_STATE/tls/authority.key" ]
        remuda up -q 3>&-
        [ -z "$(sinfo -h -N -n later -o %N)" ]
    done
    # A machine that joined another cluster is none.
    echo 'Id=h1' >"$WORK/host.conf"
    run -1 remuda restore --state "$WORK" "$WORK/b"
    [[ "$output" =~ "is of a host that joined a cluster" ]]
    [ ! -e "$WORK/remuda.db" ]
}

@test "joined.conf that cannot be read is said, and its nodes do not go" {
    echo 'NodeName=handy CPUs=1' >"$REMUDA_STATE/joined.conf"
    scontrol reconfigure
    [ "$(sinfo -h -N -n handy -o %N)" = handy ]
    rm "$REMUDA_STATE/joined.conf"
    mkdir "$REMUDA_STATE/joined.conf"
    run -1 scontrol reconfigure
    [[ "$output" =~ joined.conf ]]
    [ "$(sinfo -h -N -n handy -o %N)" = handy ]
    rmdir "$REMUDA_STATE/joined.conf"
    scontrol reconfigure
    [ -z "$(sinfo -h -N -n handy -o %N)" ]
}

@test "nodes that joined are there whatever remuda.conf ends with" {
    echo 'NodeName=handy CPUs=1' >"$REMUDA_STATE/joined.conf"
    cp "$REMUDA_STATE/remuda.conf" "$WORK/before.conf"
    for end in 'NodeName=other CPUs=1 \' '\' '# nothing more \' 'KillWait=9 \' '# "' 'KillWait=9'; do
        { cat "$WORK/before.conf"; printf %s "$end"; } >"$REMUDA_STATE/remuda.conf"
        scontrol reconfigure
        echo "$end"
        [ "$(sinfo -h -N -n handy -o %N)" = handy ]
    done
    cp "$WORK/before.conf" "$REMUDA_STATE/remuda.conf"
    rm "$REMUDA_STATE/joined.conf"
    scontrol reconfigure
}

@test "what is put into a backup by hand reaches nothing but the cluster's own files, and is nobody else's to write" {
    sql() { python3 -c 'import sqlite3,sys; d=sqlite3.connect(sys.argv[1]); d.execute("PRAGMA application_id=0"); d.execute(sys.argv[2]); d.commit()' "$@"; }
    remuda backup "$WORK/b"
    remuda down
    for name in given remuda.db remuda.db-wal controller.pid ../out.conf tls/../out.conf .conf /tmp/out.conf; do
        cp "$WORK/b" "$WORK/bad"
        sql "$WORK/bad" "INSERT INTO file VALUES ('$name', 420, 'x')"
        run -1 remuda restore "$WORK/bad"
        [[ "$output" =~ "which no backup has" ]]
    done
    cp "$WORK/b" "$WORK/bad"
    sql "$WORK/bad" "CREATE TRIGGER t AFTER INSERT ON job BEGIN UPDATE host SET kind='trusted'; END"
    run -1 remuda restore "$WORK/bad"
    [[ "$output" =~ "a trigger or a view" ]]
    cp "$WORK/b" "$WORK/bad"
    sql "$WORK/bad" "UPDATE file SET mode=2559, data=data || char(10)" # 04777
    remuda restore "$WORK/bad"
    [ "$(find "$REMUDA_STATE" -type f -perm /6022 | wc -l)" = 0 ]
    remuda up -q 3>&-
}

# The head of the file and a page in its middle are gone.
damage() {
    local pages
    pages=$(($(stat -c %s "$REMUDA_STATE/remuda.db") / 4096))
    dd if=/dev/urandom of="$REMUDA_STATE/remuda.db" bs=100 count=1 conv=notrunc status=none
    dd if=/dev/zero of="$REMUDA_STATE/remuda.db" bs=4096 seek=$((pages - 2)) count=1 conv=notrunc status=none
}

@test "a damaged store without a backup: remuda repair makes a new one of what is left, and touches nothing of the old" {
    local ids waits last sum
    run -1 remuda repair
    [[ "$output" =~ "remuda down" ]]
    ids=$(for _ in $(seq 20); do sbatch --parsable -n1 -o /dev/null --wrap true; done)
    for id in $ids; do eventually is "$id" COMPLETED; done
    waits=$(sbatch --parsable -n1 -o /dev/null --begin=now+1hour --wrap "echo waits >> $WORK/ran")
    last=$(sbatch --parsable -n1 -o /dev/null --wrap "sleep 100")
    eventually is "$last" RUNNING
    remuda down
    run -1 remuda repair
    [[ "$output" =~ "nothing to repair" ]]
    damage
    sum=$(sha256sum < "$REMUDA_STATE/remuda.db")
    run ! remuda up -q 3>&-
    [[ "$output" =~ "remuda repair" ]]
    remuda repair | tee "$WORK/said"
    grep -q "job  *[0-9]* kept" "$WORK/said"
    [ "$sum" = "$(sha256sum < "$REMUDA_STATE/remuda.db.damaged")" ]
    [ "$(stat -c %a "$REMUDA_STATE/remuda.db")" = 600 ]
    remuda up -q 3>&-
    # most of what was over is still there, one page's rows at most are not; and no number comes again
    [ "$(sacct -X -n -P -S now-1hours -o JobID,State | grep COMPLETED | wc -l)" -ge 10 ]
    [ "$(sbatch --parsable -n1 -o /dev/null --wrap true)" -gt "$last" ]
    if is "$waits" PENDING; then
        scontrol show job "$waits" | grep -q Reason=JobHeldUser
        scontrol update JobId="$waits" StartTime=now
        scontrol release "$waits"
        # with its script, or, where that is lost, without
        eventually over_is "$waits"
        echo "$waits $(sacct -X -n -P -j "$waits" -o State,ExitCode,Reason)"
        [ "$(cat "$WORK/ran" 2>/dev/null | wc -l)" -le 1 ]
    fi
}

@test "what is no store of Remuda's is not repaired, and nothing is touched" {
    remuda down
    head -c 40000 /dev/urandom > "$REMUDA_STATE/remuda.db"
    sum=$(sha256sum "$REMUDA_STATE/remuda.db")
    run -1 remuda repair
    [[ "$output" =~ "no row of a store" ]]
    [ "$sum" = "$(sha256sum "$REMUDA_STATE/remuda.db")" ]
    [ "$(find "$REMUDA_STATE" -name 'remuda.db*' | wc -l)" = 1 ]
    run -2 remuda repair extra
    [[ "$output" =~ "unknown word \"extra\"" ]]
}

@test "who is not the cluster's owner is told whose it is" {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
    nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
    nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    nobody ls "$REMUDA_STATE" >/dev/null 2>&1 || skip "the directory of this test is not readable for other users here"
    run -1 nobody remuda backup /tmp/nobodys
    [ "$output" = "remuda backup: error: the cluster in $REMUDA_STATE is root's, who alone may make a backup of it" ]
    run -1 nobody remuda restore /tmp/nobodys
    [ "$output" = "remuda restore: error: the cluster in $REMUDA_STATE is root's, who alone may restore it" ]
    run -1 nobody remuda repair
    [ "$output" = "remuda repair: error: the cluster in $REMUDA_STATE is root's, who alone may repair it" ]
}

# What its daemons find there of steps and groups is the first's, whose shepherds and daemons live.
@test "a copy of the directory, started beside the cluster while it runs, takes nothing from it" {
    local runs
    runs=$(sbatch --parsable -n1 -o /dev/null --no-requeue --wrap "echo runs >> $WORK/ran; until [ -e $WORK/go ]; do sleep 0.1; done; srun -Q true")
    eventually test -e "$WORK/ran"
    cp -a "$REMUDA_STATE" "$WORK/copy"
    REMUDA_STATE="$WORK/copy" remuda up -q 3>&-
    REMUDA_STATE="$WORK/copy" eventually is "$runs" NODE_FAIL
    REMUDA_STATE="$WORK/copy" remuda down
    is "$runs" RUNNING
    touch "$WORK/go"
    eventually over_is "$runs"
    is "$runs" COMPLETED
}

@test "who stops, starts or asks a cluster that is being restored is told so, and the restore ends well" {
    cat >"$WORK/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int rename(const char *a, const char *b) { sleep(1); return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(a, b); }
END
    cc -shared -fPIC -o "$WORK/slow.so" "$WORK/slow.c"
    remuda backup "$WORK/b"
    remuda down
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$WORK/slow.so" remuda restore "$WORK/b" >"$WORK/said" 2>&1 3>&- &
    local restore=$!
    eventually grep -q restore "$REMUDA_STATE/controller.pid"
    run -1 remuda down
    [[ "$output" == *"remuda restore"*"is at work in that directory, as process "*"nothing was stopped" ]]
    run -1 remuda status
    [[ "$output" == *"remuda restore"*"is at work in that directory"* ]]
    run -1 remuda status --pid controller
    run -1 remuda restore "$WORK/b"
    [[ "$output" == *"remuda restore"*"is at work there"* && "$output" != *"remuda down"* ]]
    run -1 remuda repair
    [[ "$output" == *"is at work there"* ]]
    remuda up -q 3>&- # when that is over
    wait "$restore"
    grep -q "has the cluster of" "$WORK/said"
    sbatch -Q --wait -o /dev/null --wrap true
}
