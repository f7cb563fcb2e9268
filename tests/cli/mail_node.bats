#!/usr/bin/env bats
# The last lines of output that only a job's node can read: the node's daemon runs in a mount namespace of its own, with a disk that is nowhere else.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    TOP=$(mktemp -d /tmp/remuda-mailnode-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" WORK="$TOP/work"
    chmod 755 "$TOP" # others ask, too
    mkdir -p "$TOP/disk" "$TOP/mails" "$REMUDA_STATE" "$WORK"
    cat > "$TOP/sendmail" <<S
#!/bin/sh
f=\$(mktemp $TOP/mails/new.XXXXXX)
cat > "\$f"
mv "\$f" "$TOP/mails/\$(sed -n 's/^Subject: Slurm \(Array Summary \|Array Task \)*Job_id=\([0-9]*\(_[0-9][0-9]*\)\{0,1\}\).*/\2/p' "\$f" | head -1).mail"
S
    chmod 755 "$TOP/sendmail"
    echo "MailProg=$TOP/sendmail
NodeName=$(hostname -s) CPUs=4 RealMemory=2000
PartitionName=main Nodes=ALL Default=YES" > "$REMUDA_STATE/remuda.conf"
    remuda up -q 3>&-
    node_again
}

# The node's daemon anew, with its own disk.
node_again() {
    local pid
    pid=$(cat "$REMUDA_STATE/nodes/$(hostname -s)/node.pid")
    kill "$pid"
    eventually gone "$pid"
    unshare -m sh -c "mount -t tmpfs -o size=64k,mode=1777 none '$TOP/disk'; exec remudad node --state '$REMUDA_STATE' --name '$(hostname -s)'" 3>&-
    eventually is_idle
}
gone() { ! kill -0 "$1" 2>/dev/null; }
is_idle() { sinfo -h -o %t | grep -qxE 'idle|mix|alloc'; }

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root for mount namespaces"
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    cd "$WORK"
    on_node sh -c "rm -rf '$TOP/disk/'*" # what one test leaves fills nobody else's disk
}

# Where the node's daemon is, with its disk.
on_node() { nsenter -m -t "$(cat "$REMUDA_STATE/nodes/$(hostname -s)/node.pid")" -- "$@"; }

teardown_file() {
    [ -n "${TOP:-}" ] || return 0
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

teardown() { # of a failed test: what was mailed, and what was there to be read
    [ -z "${BATS_TEST_COMPLETED:-}" ] && [ "$(id -u)" = 0 ] || return 0
    head -50 "$WORK/said" || true
    on_node sh -c "df '$TOP/disk'; ls -la '$TOP/disk'; find '$TOP/disk' -type f -exec head -c 2000 {} +" || true
}

mailed() { [ -s "$TOP/mails/$1.mail" ]; }
mail_text() {
    eventually mailed "$1"
    python3 -c '
import email, email.policy, sys
m = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
print(m.get_body().get_content())' "$TOP/mails/$1.mail"
}
job() { sbatch --parsable -c1 --mem=50 --mail-type=END,FAIL "$@"; }
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME=/tmp REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

@test "the last lines come from the node, of the output and of the error output, cleaned" {
    id=$(job -o "$TOP/disk/%j.out" -e "$TOP/disk/%j.err" --wrap 'seq 1 5000; printf "\033[31mred\033[0m\007\n 1%%\r99%%\n"; echo "it broke" >&2; exit 3')
    mail_text "$id" > said
    [ ! -e "$TOP/disk/$id.out" ]
    grep -q "^The end of its output, $TOP/disk/$id.out on $(hostname -s):" said
    grep -q "^The end of its error output, $TOP/disk/$id.err on $(hostname -s):" said
    grep -qx "| it broke" said
    grep -qx "| 99%" said
    grep -q "^| red" said
    grep -qx "| 5000" said
    ! grep -qx "| 4900" said || false
    ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" said || false
}

@test "an array's digest has those of the element that failed first" {
    id=$(job --array=1-3 -o "$TOP/disk/%A-%a.out" --wrap 'echo "element $SLURM_ARRAY_TASK_ID"; [ $SLURM_ARRAY_TASK_ID != 2 ]')
    mail_text "$id" > said
    grep -qx "Of element 2, the first that failed:" said
    grep -qx "| element 2" said
    ! grep -qx "| element 1" said || false
}

@test "of a requeued job those of its last run" {
    id=$(job --requeue -o "$TOP/disk/%j.out" --wrap 'echo "run ${SLURM_RESTART_COUNT:-0}"; [ "$SLURM_RESTART_COUNT" ] || { scontrol requeue $SLURM_JOB_ID; sleep 30; }')
    wait_state "$id" COMPLETED
    mail_text "$id" > said
    grep -qx "| run 1" said
    ! grep -qx "| run 0" said || false
}

@test "a disk that is full, a FIFO, a link to what is somebody else's, a file of long ago" {
    id=$(job -o "$TOP/disk/%j.out" --wrap 'echo begun; head -c 100000 /dev/zero | tr "\0" x; echo over')
    mail_text "$id" > said
    grep -q "^The end of its output, $TOP/disk/$id.out on " said
    job -o /dev/null --wrap "rm -f $TOP/disk/*; echo old > $TOP/disk/old; touch -d '2 days ago' $TOP/disk/old; mkfifo $TOP/disk/pipe; echo theirs > $TOP/disk/theirs; chown nobody $TOP/disk/theirs" > made
    wait_state "$(cat made)" COMPLETED
    for what in old pipe theirs; do
        id=$(job -o "$TOP/disk/%j.out" --wrap "rm $TOP/disk/*-out 2>/dev/null; rm $TOP/disk/\$SLURM_JOB_ID.out; ln -s $TOP/disk/$what $TOP/disk/\$SLURM_JOB_ID.out")
        mail_text "$id" > said
        grep -q "State: COMPLETED" said
        ! grep -q "^| " said || false
    done
}

@test "of another user: read as that user, and told to nobody else" {
    as_nobody remuda version > /dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd /tmp
    id=$(as_nobody sbatch --parsable -c1 --mem=50 --mail-type=END -o "$TOP/disk/%j.out" --wrap 'umask 077; echo "I am $(id -un)"')
    mail_text "$id" > "$TOP/said"
    grep -qx "| I am nobody" "$TOP/said"
    own=$(sbatch --parsable -c1 --mem=50 -D /tmp -o "$TOP/disk/%j.out" --wrap 'echo "of root"')
    wait_state "$own" COMPLETED
    remuda report --mail "$own" | grep -qx "| of root"
    run -0 as_nobody remuda report --mail "$own"
    [[ "$output" != *"of root"* ]]
    run -0 remuda report --mail "$id" # root's own mail is not where nobody's lines go
    [[ "$output" != *"I am nobody"* ]]
}

@test "a node that is away keeps no mail waiting" {
    id=$(sbatch --parsable -c1 --mem=50 -o "$TOP/disk/%j.out" --wrap 'echo here')
    wait_state "$id" COMPLETED
    remuda report --mail "$id" | grep -qx "| here"
    pid=$(cat "$REMUDA_STATE/nodes/$(hostname -s)/node.pid")
    kill -STOP "$pid"
    (sleep 4; kill -9 "$pid") 3>&- &
    run -0 timeout 60 remuda report --mail "$id"
    [[ "$output" != *"| here"* ]]
    run -0 timeout 60 remuda report --mail "$id"
    [[ "$output" != *"| here"* ]]
    wait
    unshare -m sh -c "exec remudad node --state '$REMUDA_STATE' --name '$(hostname -s)'" 3>&-
}
