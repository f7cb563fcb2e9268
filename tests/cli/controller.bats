#!/usr/bin/env bats
# The controller daemon by itself: start, stop, lock, limits, bad bytes, a full disk, kill -9, mail. Jobs stay pending: no node daemon runs.
bats_require_minimum_version 1.5.0
load common

setup() {
    export S="$BATS_TEST_TMPDIR/state"
    mkdir -p "$S"
    printf 'ClusterName=test\nNodeName=n1 CPUs=4 RealMemory=4000\nPartitionName=main Nodes=n1 Default=YES\n' > "$S/remuda.conf"
    FRAMES="$BATS_TEST_DIRNAME/controller_frames.py"
}

teardown() {
    stop
    if [ -n "${SINK:-}" ]; then
        kill "$SINK"
    fi
}

frames() { python3 "$FRAMES" "$S" "$@"; }
start() { remudad controller --state "$S" "$@" 3>&-; }
pid() { cat "$S/controller.pid"; }
stop() {
    local pid
    pid=$(cat "$S/controller.pid" 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null || return 0
    for _ in $(seq 100); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -9 "$pid"
}
log_has() { grep -q -- "$1" "$S/log/controller.log" || { cat "$S/log/controller.log"; false; }; }

@test "it starts into the background, answers, and stops cleanly" {
    start
    run frames ping
    [ "$output" = "done NONE" ]
    [ "$(frames query STATUS | grep -c "role=controller .*pid=$(pid) ")" = 1 ]
    stop
    [ ! -e "$S/controller.pid" ]
    [ ! -e "$S/controller.sock" ]
    log_has "stopped"
}

@test "the pid file holds the lock: a second controller is refused, the first goes on" {
    start
    first=$(pid)
    run start
    [ "$status" -eq 1 ]
    [[ "$output" == *"runs already as process $first"* ]]
    run frames ping
    [ "$output" = "done NONE" ]
}

# Two controllers on one store would give out numbers twice.
@test "pid file and socket that are removed while it runs: no second one starts, and they come back" {
    start
    first=$(pid)
    rm "$S/controller.pid" "$S/controller.sock"
    run start
    [ "$status" -eq 1 ]
    [[ "$output" == *"controller.pid was removed while its process runs"* ]]
    run remuda restore --state "$S" "$S/none.bak"
    [[ "$output" == *"controller.pid was removed while its process runs"* ]]
    eventually test -e "$S/controller.sock"
    [ "$(pid)" = "$first" ]
    run frames ping
    [ "$output" = "done NONE" ]
    run start
    [[ "$output" == *"runs already as process $first"* ]]
    log_has "controller.pid was removed: it is there again"
    log_has "controller.sock was removed: it is there again"
    # the next one may start as soon as it is over, however it ended
    kill -9 "$first"
    start
}

@test "a state directory that is removed while it runs: the controller ends" {
    start
    first=$(pid)
    rm -r "$S"
    is_over() { ! kill -0 "$first" 2>/dev/null; }
    eventually is_over
}

@test "without a configuration, or with a bad one, it says where and does not start" {
    mv "$S/remuda.conf" "$S/other.conf"
    run start
    [ "$status" -eq 1 ]
    [[ "$output" == *"$S/remuda.conf"* ]]
    printf 'ClusterName=x\nMinJobAge=soon\n' > "$S/remuda.conf"
    run start
    [ "$status" -eq 1 ]
    [[ "$output" == *"remuda.conf:2: MinJobAge"* ]]
}

@test "where it cannot be written down which numbers were given, the controller starts all the same, and says so" {
    mkdir "$S/given"
    start
    run frames ping
    [ "$output" = "done NONE" ]
    log_has "an older store would not be noticed: cannot write $S/given"
}

@test "Include is relative to the file; unknown keys are warnings in the log and the status" {
    mkdir "$S/conf.d"
    echo 'MinJobAgee=3' > "$S/conf.d/more.conf"
    echo 'Include conf.d/more.conf' >> "$S/remuda.conf"
    start
    log_has "more.conf:1: unknown key \"MinJobAgee\"; did you mean MinJobAge"
    run frames query STATUS
    [[ "$output" == *"did you mean MinJobAge"* ]]
}

@test "reconfigure: by message and by SIGHUP; a bad file is refused and the old one stays" {
    start
    echo 'MinJobAge=77' >> "$S/remuda.conf"
    run frames message '{"type":"daemon","call":1,"action":"RECONFIGURE"}'
    [ "$output" = "done NONE" ]
    frames query SETTINGS | grep -q 'key=MinJobAge value=77 sec'
    echo 'MinJobAge=soon' >> "$S/remuda.conf"
    run frames message '{"type":"daemon","call":1,"action":"RECONFIGURE"}'
    [[ "$output" == "done UPDATE "*"remuda.conf:5: MinJobAge"* ]]
    frames query SETTINGS | grep -q 'key=MinJobAge value=77 sec'
    sed -i '$d' "$S/remuda.conf"
    echo 'MinJobAge=88' >> "$S/remuda.conf"
    kill -HUP "$(pid)"
    changed() { frames query SETTINGS | grep -q 'key=MinJobAge value=88 sec'; }
    eventually changed
}

@test "a log moved away is opened anew at SIGHUP" {
    start
    mv "$S/log/controller.log" "$S/log/old.log"
    kill -HUP "$(pid)"
    eventually test -s "$S/log/controller.log"
}

@test "bytes that are no frames are answered and the connection is closed" {
    start
    run frames garbage 'GET / HTTP/1.1\r\n\r\n'
    [[ "${lines[0]}" == "done BAD_MESSAGE "* ]]
    [ "${lines[1]}" = "closed" ]
    run frames garbage '\x00\x00\x00\x02\x00\x00\x00\x00[]'
    [[ "${lines[0]}" == "done BAD_MESSAGE "* ]]
    run frames garbage '\xff\xff\xff\xff\x00\x00\x00\x00'
    [[ "${lines[0]}" == "done BAD_MESSAGE "* ]]
    run frames message '{"type":"nonsense","call":1}'
    [[ "$output" == "done BAD_MESSAGE "*nonsense* ]]
    run frames message '{"type":"done","call":1}'
    [[ "$output" == "done BAD_MESSAGE "* ]]
    run frames ping
    [ "$output" = "done NONE" ]
}

@test "a number that cannot be is refused with its range; one that was stored is left out, and everything else goes on" {
    start
    run frames message '{"type":"submit","call":1,"specs":[{"name":"x","time_limit_us":9223372036854775807,"deadline_us":9223372036854775807}]}'
    [[ "$output" == "done BAD_MESSAGE "*"job_spec.deadline_us: 9223372036854775807 is out of range, 0 to "*" is allowed"* ]]
    run frames message '{"type":"submit","call":1,"specs":[{"name":"x","core_spec":2147483648}]}'
    [[ "$output" == *"job_spec.core_spec: 2147483648 is out of range, 0 to 1048577 is allowed"* ]]
    frames submit 2
    stop
    python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute("UPDATE job SET deadline_us=9223372036854775807, time_limit_us=9223372036854775807 WHERE id=1"); d.execute("UPDATE job SET name=\"kept\" WHERE id=2"); d.commit()' "$S/remuda.db"
    start
    eventually grep -q "job 1 of the store cannot be: deadline_us: 9223372036854775807 is out of range" "$S/log/controller.log"
    run frames jobs
    [ "$output" = "1 rows, done NONE" ]
    run frames submit 1
    [ "$output" = "submitted 3" ]
    run frames query STATUS
    [[ "$output" == *"1 row of the store cannot be and is left out: the log names it"* ]]
    run python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT name, why, record FROM left_out").fetchall())' "$S/remuda.db"
    [[ "$output" == *"'job 1', 'deadline_us: 9223372036854775807 is out of range"*"name=test"* ]]
}

@test "more connections than allowed are refused with the limit; the others are served" {
    start
    run frames many 1100
    [ "${lines[0]}" = "1023 served" ]
    [[ "${lines[1]}" == "77 done BUSY "*"1024 connections"* ]]
    run frames ping
    [ "$output" = "done NONE" ]
}

@test "users without a name, of whom one user may have 65,536, have the connections of one" {
    [ "$(id -u)" = 0 ] || skip "needs root to be many users"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames made_up 64200 60 20 "$(id -u daemon)"
    [ "${lines[0]}" = "some hundred served, and no more than 1024" ]
    [[ "${lines[1]}" == "done BUSY users whom the name services do not know (uid 64"* ]]
    [ "${lines[2]}" = "daemon: done NONE" ]
    run frames ping
    [ "$output" = "done NONE" ]
}

@test "halves of messages: so many bytes a user, and the others are served" {
    [ "$(id -u)" = 0 ] || skip "needs root to be another user"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames halves 64101 100
    [[ "$output" == *"done TOO_LARGE your unfinished messages to the controller have too many bytes together"* ]]
    run frames ping
    [ "$output" = "done NONE" ]
}

@test "half of a message whose rest does not come: half a minute, then the connection is closed" {
    [ "$(id -u)" = 0 ] || skip "needs root to be another user"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames left 64101
    [ "$output" = $'done BAD_MESSAGE half of a message came, and not its rest\nafter a while\nclosed' ]
}

@test "answers that nobody reads: so many bytes a user, and the others are served" {
    [ "$(id -u)" = 0 ] || skip "needs root to be another user"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames unread 64101 40
    [ "${lines[0]}" = bounded ]
    [ "${lines[1]}" = "done BUSY eight scripts, or listings of what was used, are on their way to you already: read them, then ask again" ]
    [ "${lines[2]}" = "an answer comes" ]
    run frames ping
    [ "$output" = "done NONE" ]
}

@test "answers that nobody reads: what comes late of a request before them lets no other in" {
    [ "$(id -u)" = 0 ] || skip "needs root to be another user"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames mingled 64101
    [ "$output" = $'rows\n60 and script' ]
    run frames ping
    [ "$output" = "done NONE" ]
}

@test "answers that nobody reads: no more so by numbers of calls that are another's, too" {
    [ "$(id -u)" = 0 ] || skip "needs root to be another user"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames same_call 64101
    echo "$output"
    [ "${lines[0]}" = "done script rows done" ]
    [ "${lines[1]}" = "done BAD_MESSAGE no call has the number 2^64 - 1" ]
    [ "${#lines[@]}" = 2 ]
}

@test "a flood of one user leaves the others their share" {
    [ "$(id -u)" = 0 ] || skip "needs root to be two users"
    chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
    start
    run frames flood "$(id -u daemon)" "$(id -u bin)" 50
    [[ "$output" == "50 submissions of the other user were answered"* ]]
}

@test "kill -9: every submission that was answered is there afterwards, with its script" {
    start
    ids=$(frames submit 200 | awk '{print $2}')
    kill -9 "$(pid)"
    start
    frames query JOBS fields=id | sed -n 's/^id=//p' | sort > "$BATS_TEST_TMPDIR/after"
    sort <<< "$ids" > "$BATS_TEST_TMPDIR/before"
    [ "$(comm -23 "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" | wc -l)" = 0 ]
    run frames script "$(head -1 <<< "$ids")"
    [ "$output" = $'#!/bin/sh\ntrue' ]
    next=$(frames submit 1 | awk '{print $2}')
    [ "$next" -gt "$(tail -1 <<< "$ids")" ]
}

@test "kill -9 under load, again and again: nothing acknowledged is lost, no id is given twice" {
    : > "$BATS_TEST_TMPDIR/all"
    for _ in 1 2 3 4 5; do
        start
        (frames submit 3000 2>/dev/null >> "$BATS_TEST_TMPDIR/all") 3>&- &
        load=$!
        sleep "0.$((RANDOM % 5 + 1))"
        kill -9 "$(pid)"
        wait "$load" || true
    done
    start
    awk '/^submitted/ {print $2}' "$BATS_TEST_TMPDIR/all" | sort > "$BATS_TEST_TMPDIR/said"
    [ "$(uniq -d "$BATS_TEST_TMPDIR/said" | wc -l)" = 0 ]
    frames query JOBS fields=id states=all | sed -n 's/^id=//p' | sort > "$BATS_TEST_TMPDIR/there"
    [ "$(comm -23 "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/there" | wc -l)" = 0 ]
}

@test "a disk that is full: requests wait, then are refused with the reason; it recovers without a restart" {
    start
    frames submit 1
    prlimit --pid "$(pid)" --fsize=1000:unlimited
    run frames submit 1
    [[ "$output" == "done STORE "*"cannot be written"* ]]
    run frames submit 1
    [[ "$output" == "done STORE the store is away: "*"try again later"* ]]
    run frames query STATUS
    [[ "$output" == *"trouble=the store is away"* ]]
    run frames query JOBS fields=id
    [[ "$output" == *"done NONE" ]]
    REMUDA_STATE=$S run scrontab -l
    [[ "$output" == *"no crontab for "* ]]
    prlimit --pid "$(pid)" --fsize=unlimited
    back() { frames submit 1 | grep -q submitted; }
    eventually back
    log_has "the store is back"
    run frames query STATUS
    [[ "$output" != *"the store is away"* ]]
}

@test "a store that is to be made where files may not grow: which limit, in words; without it, it is made" {
    dir="$BATS_TEST_TMPDIR/small"
    for kib in 4 8 60 150; do
        rm -rf "$dir"
        mkdir "$dir"
        printf 'NodeName=n1 CPUs=1\nPartitionName=main Nodes=ALL Default=YES\n' > "$dir/remuda.conf"
        run bash -c 'ulimit -f "$1"; remudad controller --state "$2" --foreground' - "$kib" "$dir" 3>&-
        [ "$status" -ne 0 ]
        [[ "$output" =~ "remuda.db has no room (no file of the controller's may be larger than $kib KiB: ulimit -f" ]] || { echo "$output"; false; }
        remudad controller --state "$dir" 3>&-
        REMUDA_STATE="$dir" sbatch -H --wrap true
        kill "$(cat "$dir/controller.pid")"
    done
}

@test "a short trouble of the disk is not noticed but as a delay" {
    start
    prlimit --pid "$(pid)" --fsize=1000:unlimited
    (sleep 1.5; prlimit --pid "$(pid)" --fsize=unlimited) 3>&- &
    run frames submit 5
    [ "$(grep -c submitted <<< "$output")" = 5 ]
    wait
}

@test "history is read while the store is written; a slow reader holds nobody up" {
    start
    frames blast 3000 > /dev/null
    run frames slow 20
    [[ "$output" == "3"*" rows, worst wait "* ]]
    [ "$(sed 's/.*wait \([0-9]*\) ms/\1/' <<< "$output")" -lt 1000 ]
    run frames query HISTORY fields=id
    [ "${#lines[@]}" -ge 3001 ]
}

@test "a command that is interrupted says that the controller goes on" {
    start
    run python3 - "$S" <<'END'
import os, signal, subprocess, sys, time
pid = int(open(f"{sys.argv[1]}/controller.pid").read())
os.kill(pid, signal.SIGSTOP)
signal.signal(signal.SIGINT, signal.SIG_DFL)
command = subprocess.Popen(["scancel", "--name=x"], env={**os.environ, "REMUDA_STATE": sys.argv[1]}, stderr=subprocess.PIPE, text=True)
caught = lambda: [int(line.split()[1], 16) for line in open(f"/proc/{command.pid}/status") if line.startswith("SigCgt")][0]
while not caught() & 1 << signal.SIGINT - 1:
    time.sleep(0.01)
command.send_signal(signal.SIGINT)
print(command.communicate()[1], "ended by", signal.Signals(-command.returncode).name)
os.kill(pid, signal.SIGCONT)
END
    [[ "$output" =~ "scancel: interrupted; what the controller was asked already is done to its end" ]]
    [[ "$output" =~ "ended by SIGINT" ]]
}

@test "an idle controller sleeps" {
    start
    frames ping
    sleep 1
    # Those of its own: how often others take its processor is the machine's.
    before=$(awk '/^voluntary_ctxt/ {n += $2} END {print n}' /proc/"$(pid)"/task/*/status)
    sleep 3
    after=$(awk '/^voluntary_ctxt/ {n += $2} END {print n}' /proc/"$(pid)"/task/*/status)
    [ $((after - before)) -le 3 ]
}

@test "mail goes straight to an SMTP server" {
    [ -x "$REMUDA_STAGE/remuda-smtp" ] || skip "this build has no remuda-smtp (no libcurl)"
    python3 "$BATS_TEST_DIRNAME/controller_smtp.py" "$BATS_TEST_TMPDIR/port" "$BATS_TEST_TMPDIR/mails" 3>&- &
    SINK=$!
    eventually test -s "$BATS_TEST_TMPDIR/port"
    printf 'SmtpServer=127.0.0.1:%s\nMailFrom=cluster@here\nMailDomain=site.org\n' "$(cat "$BATS_TEST_TMPDIR/port")" >> "$S/remuda.conf"
    start
    job=$(frames message '{"type":"submit","call":1,"specs":[{"name":"mailed","batch":true,"work_dir":"/tmp","mail_types":255,"mail_user":"ann"}]}' | awk '{print $2}')
    frames message "{\"type\":\"cancel\",\"call\":1,\"ids\":\"$job\"}"
    eventually grep -qs "Job_id=$job Name=mailed" "$BATS_TEST_TMPDIR/mails"
    grep -q '^ENVELOPE <cluster@here> <ann@site.org>' "$BATS_TEST_TMPDIR/mails"
}
