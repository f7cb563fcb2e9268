#!/usr/bin/env bats
# Texts of one user in the terminals of others: every text that a job, a step, a node or a reservation can carry × every command that shows it. No character that does something
# to a terminal arrives, and no line that is not ours.
bats_require_minimum_version 1.5.0

load common

# What the texts carry: ESC, BEL, CR, LF, TAB, DEL, CSI as one character (U+009B), an override of direction, an isolate, a line separator.
BAD=$'\e[31m\a\r\nEVIL line\t\x7f\u009b2J\u202e\u2066\u2028'

setup_file() {
    export REMUDA_STATE
    REMUDA_STATE=$(mktemp -d /tmp/remuda-plain-XXXXXX)
    chmod 755 "$REMUDA_STATE"
    cd "$REMUDA_STATE" || return 1
    remuda up -q --nodes 2 --cpus 4 --mem 500
    export BAD
    fill
}

teardown_file() {
    scancel -u "$(id -u)" -s KILL || true
    remuda down
    rm -rf "$REMUDA_STATE"
}

# Processes of a test, of one that failed, too.
teardown() {
    [ -z "${one[*]:-}" ] || kill "${one[@]}" || true
}

# Jobs whose every text is bad: one that runs (with a step), one that waits, one that is over.
fill() {
    local all=(-J "job$BAD" --comment "comment$BAD" --wckey "wckey$BAD" --extra "extra$BAD" --mail-user "mail$BAD" -o "out$BAD" -e "err$BAD" -i /dev/null)
    mkdir -p "dir$BAD"
    RUNS=$(sbatch --parsable "${all[@]}" -D "dir$BAD" --wrap 'srun -J "step$BAD" --comment "c$BAD" sleep 300')
    WAITS=$(sbatch --parsable "${all[@]}" --hold -A "account$BAD" --wrap "true ${BAD/$'\r'/}") || WAITS=$(sbatch --parsable "${all[@]}" --hold --wrap "true ${BAD/$'\r'/}")
    AFTER=$(sbatch --parsable "${all[@]}" -d "afterok:$RUNS" --wrap "true ${BAD/$'\r'/}")
    export RUNS WAITS AFTER
    scontrol update JobId="$RUNS" AdminComment="admin$BAD"
    scontrol update NodeName=node2 State=DRAIN Reason="reason$BAD" Comment="node$BAD"
    for _ in $(seq 600); do [ -n "$(squeue -h -s -j "$RUNS" -o %i | grep "\.0$")" ] && break; sleep 0.1; done
    srun -J "over$BAD" --comment "c$BAD" true
}

# Fails where a byte of the output is one that moves a terminal, or a line begins with what the texts say.
is_plain() { # is_plain WHAT <output
    python3 -c '
import sys
data = sys.stdin.buffer.read()
text = data.decode("utf-8", "surrogateescape")
for c in text:
    o = ord(c)
    if (o < 32 and c != "\n") or 127 <= o < 160 or 0xd800 <= o < 0xe000 or o in (0x200e, 0x200f, 0x2028, 0x2029) or 0x202a <= o <= 0x202e or 0x2066 <= o <= 0x2069:
        sys.exit(f"{sys.argv[1]}: U+{o:04X} arrives")
for line in text.split("\n"):
    if line.lstrip().startswith("EVIL"):
        sys.exit(f"{sys.argv[1]}: a line of theirs arrives: {line[:60]}")
' "$1"
}

shown() { # shown COMMAND…: what it says and complains of
    "$@" >"$BATS_TEST_TMPDIR/shown" 2>&1 || true
    is_plain "$*" <"$BATS_TEST_TMPDIR/shown"
    if [ "${EXPECT:-}" ] && ! grep -q "$EXPECT" "$BATS_TEST_TMPDIR/shown"; then
        echo "$*: does not show $EXPECT"
        return 1
    fi
}

@test "listings of jobs: all columns, short, long and JSON" {
    format=$(printf '%%%s|' A B C D E F G H K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r t u v w x y z)
    shown squeue -a -t all -o "$format"
    EXPECT='job\\x1b' shown squeue -a -t all -o %j
    EXPECT='comment\\x1b' shown squeue -a -t all -o %k
    EXPECT='wckey\\x1b' shown squeue -a -t all -O name:400,comment:400,wckey:400,admincomment:400,command:400,workdir:400,stdout:400,stderr:400,stdin:400,account:400,dependency:400,reason:400,batchhost:400
    shown squeue -s -o "%i %j %k"
    EXPECT='job\\u001b' shown squeue -a -t all --json
    squeue -a -t all --json | python3 -c 'import json, os, sys; names = [j["name"] for j in json.load(sys.stdin)["jobs"]]; assert "job" + os.environ["BAD"] in names, names'
}

@test "scontrol show" {
    EXPECT='JobName=job\\x1b' shown scontrol show job "$RUNS"
    EXPECT='AdminComment=admin\\x1b' shown scontrol show job "$RUNS"
    EXPECT='WorkDir=.*dir\\x1b' shown scontrol show job "$RUNS"
    shown scontrol -o -d show jobs
    EXPECT='Name=step\\x1b' shown scontrol show steps
    EXPECT='Reason=reason\\x1b' shown scontrol show node node2
    shown scontrol -o show nodes
    shown scontrol show partitions
    shown scontrol show config
    EXPECT='job\\u001b' shown scontrol show jobs --json
    shown scontrol show nodes --json
    shown scontrol completing
    shown scontrol listpids
}

@test "scontrol listpids and those like it: an environment that somebody made is not shown" {
    local pid command
    local -A job_in=([listpids]=2 [listjobs]=1 [liststeps]=1) # column
    one=()
    env -u SLURM_CONF SLURMD_NODENAME="node1$BAD" SLURM_JOB_ID=4711 SLURM_STEP_ID=3 SLURM_LOCALID=0 SLURM_PROCID=1 sleep 300 3>&- & one+=($!)
    env -u SLURM_CONF SLURMD_NODENAME=node1 SLURM_JOB_ID="4712$BAD" sleep 300 3>&- & one+=($!)
    env -u SLURM_CONF SLURMD_NODENAME=node1 SLURM_JOB_ID=4713 SLURM_STEP_ID="3$BAD" sleep 300 3>&- & one+=($!)
    env -u SLURM_CONF SLURMD_NODENAME=node1 SLURM_JOB_ID=4714 SLURM_LOCALID="0$BAD" SLURM_PROCID="1$BAD" sleep 300 3>&- & one+=($!)
    for pid in "${one[@]}"; do
        eventually grep -qx sleep "/proc/$pid/comm"
        shown scontrol pidinfo "$pid"
    done
    for command in listpids listjobs liststeps; do
        EXPECT=4711 shown scontrol "$command"
        EXPECT=4714 shown scontrol "$command"
        ! awk -v c="${job_in[$command]}" '$c ~ /^471[23]/' "$BATS_TEST_TMPDIR/shown" | grep . || return 1
    done
    run -0 scontrol listpids 4714
    [[ "$output" =~ "${one[3]}"\ +4714\ +batch\ +-\ +- ]]
}

@test "nodes: sinfo, and reservations" {
    scontrol create ReservationName=plain Nodes=node1 Users="$(id -un)" StartTime=now+1day Duration=10 Comment="resv$BAD" || true
    shown scontrol show reservations
    shown sinfo -T
    EXPECT='reason\\x1b' shown sinfo -R
    shown sinfo -R -o "%200E %u %H %n"
    shown sinfo -N -O "nodelist,reason:300,comment:300,extra:300"
    shown sinfo --json
}

@test "accounting" {
    EXPECT='job\\x1b' shown sacct -a -P -o ALL
    EXPECT='job\\x1b' shown sacct -a -p -o JobID,JobName,Comment,AdminComment,SubmitLine,WorkDir,Account,WCKey
    EXPECT='over\\x1b' shown sacct -a -o JobName%200
    shown sacct -a -l
    shown sacct -a --json
    sacct -a --json | python3 -c 'import json, sys; json.load(sys.stdin)'
    shown sacct -j "$RUNS" --batch-script
    shown sstat -a -j "$RUNS" -P -o ALL
    shown sprio -l
    shown sshare -a
}

@test "accounts: what is shown, changed, dumped and deleted, with --json too" {
    cluster=$(sacctmgr -nP show cluster format=cluster)
    BAD=${BAD/$'\n'/} # what one says oneself comes back in lines
    run -1 sacctmgr -i add account $'evil\u202e'
    run -1 sacctmgr -i add account $'evil\u009b'
    for json in '' --json --yaml; do
        shown sacctmgr -i add account evil description="desc$BAD" organization="org$BAD"
        EXPECT=evil shown sacctmgr $json -i modify account evil set description="other$BAD"
        EXPECT='other.*u001b\|other\\x1b' shown sacctmgr $json show account
        EXPECT='other\\x1b' shown sacctmgr $json dump "$cluster" file="dump$json.cfg"
        shown sacctmgr $json show transaction
        EXPECT=evil shown sacctmgr $json -i delete account evil
    done
}

@test "explanations, status, and what complains" {
    EXPECT='job\\x1b' shown remuda why "$AFTER"
    shown remuda why -a
    shown remuda why --json "$AFTER" "$WAITS"
    shown remuda status
    shown remuda hosts
    shown sdiag --json # its lines are Slurm's, with TABs; of people it has the names alone
    # What one says oneself comes back in lines, if it had some, and without the rest.
    BAD=${BAD/$'\n'/}
    shown scancel "job$BAD"
    shown squeue -n "no$BAD" -p "part$BAD"
    shown squeue -o "%i" -t "state$BAD"
    shown sinfo -p "part$BAD"
    shown scontrol show node "node$BAD"
    shown scontrol show job "job$BAD"
    shown scontrol update NodeName="node$BAD" State=RESUME
    shown scontrol release "name=job$BAD"
    shown sbatch -p "part$BAD" --wrap true
    shown sbatch -A "acct$BAD" -q "qos$BAD" --wrap true
    shown sbatch --reservation="resv$BAD" --wrap true
    shown sbatch -C "feature$BAD" --wrap true
    shown sbatch -w "node$BAD" --wrap true
    shown srun -p "part$BAD" true
}

@test "logs" {
    for log in "$REMUDA_STATE"/log/*; do
        is_plain "$log" <"$log"
    done
    shown remuda logs "$RUNS"
}

# What COMMAND shows to a terminal; the terminal's own carriage returns are taken out.
on_terminal() { # on_terminal COMMAND…
    python3 -c '
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
out = b""
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    out += piece
os.waitpid(pid, 0)
sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
' "$@"
}

@test "scripts go to a terminal plain, and to files and pipes as they are" {
    cd "$BATS_TEST_TMPDIR"
    printf '#!/bin/sh\n\techo \033]0;title\a\302\2332J\342\200\256\n' >script
    id=$(sbatch --parsable --hold script)
    for command in "sacct -j $id --batch-script" "scontrol write batch_script $id -"; do
        $command | grep -q $'\033]0;title'
        on_terminal $command >shown
        grep -q '^.echo \\x1b]0;title\\x07\\u009b2J\\u202e$' shown
        tr -d '\t' <shown | is_plain "$command"
    done
    scontrol write batch_script "$id" copy
    cmp script copy
    scancel "$id"
}

@test "a file by a name that others can foresee is not written through a link, nor into a file of theirs" {
    cd "$BATS_TEST_TMPDIR"
    id=$(sbatch --parsable --hold --wrap true)
    echo mine >elsewhere
    ln -s elsewhere "slurm-$id.sh"
    run -1 scontrol write batch_script "$id"
    [[ "$output" == *"cannot write slurm-$id.sh: File exists"* ]]
    rm "slurm-$id.sh"
    ln elsewhere "slurm-$id.sh"
    run -1 scontrol write batch_script "$id"
    rm "slurm-$id.sh"
    mkfifo "slurm-$id.sh"
    run -1 scontrol write batch_script "$id"
    [ "$(cat elsewhere)" = mine ]
    rm "slurm-$id.sh"
    scontrol write batch_script "$id"
    scontrol write batch_script "$id" # its own it writes anew
    grep -q true "slurm-$id.sh"
    scancel "$id"
    # Pages of documentation, and a configuration whose name is that of the second.
    mkdir pages
    ln -s ../elsewhere pages/options.md
    ln -s ../elsewhere pages/sbatch.1
    run -1 remuda docs pages
    run -1 remuda docs --manual pages
    for ahead in 0 1 2 3 4 5 6 7 8 9; do ln -s elsewhere "conf.$(date -d "+$ahead sec" +%FT%T)"; done
    run -1 scontrol write config conf
    [[ "$output" == *"cannot write conf."*": File exists"* ]]
    [ "$(cat elsewhere)" = mine ]
}

@test "what another's job names as its output is opened by no command if it is no ordinary file" {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    dir=$(mktemp -d /tmp/remuda-plain-XXXXXX)
    chmod 777 "$dir"
    setpriv --reuid=nobody --regid=nogroup --clear-groups env PATH="$PATH" REMUDA_STATE="$REMUDA_STATE" \
        sbatch -D "$dir" -o "$dir/out" --wait --wrap 'echo hello'
    id=$(sacct -a -n -X -P -o JobID | tail -1)
    run -0 remuda logs "$id"
    [ "$output" = hello ]
    for there in /dev/zero /dev/full; do
        ln -sf "$there" "$dir/out"
        run -1 timeout 10 remuda logs "$id"
        [[ "$output" == *"has no output: $dir/out: Wrong medium type"* ]]
    done
    rm -rf "$dir"
}

@test "what completion offers to a shell is one word, and no line of theirs is a word" {
    run -0 remuda complete scancel ""
    tr '\t' ' ' <<<"$output" | is_plain "remuda complete"
    [[ "$output" =~ 'job\x1b' ]]
    [[ "$output" =~ (^|$'\n')"$WAITS"$'\t' ]]
    [ -z "$(cut -f1 <<<"$output" | grep -vE '^[][A-Za-z0-9_.,:=/@%+-]+$')" ]
    scontrol update NodeName=node1 AvailableFeatures='fine,a$(touch${IFS}pwned),b`id`,c;id,d|id'
    run -0 remuda complete sbatch --constraint=
    echo "$output"
    [[ "$output" =~ fine ]]
    [[ ! "$output" =~ [\$\;\|\`] ]]
    scontrol update NodeName=node1 AvailableFeatures=
}

@test "one's own characters pass: those of a format" {
    run -0 squeue -h -j "$WAITS" -o $'%i\x1f%u'
    [ "$output" = "$WAITS"$'\x1f'"$(id -un)" ]
    run -0 squeue -h -j "$WAITS" -o '%i\x1f%u'
    [ "$output" = "$WAITS"'\x1f'"$(id -un)" ]
    run -0 srun -n1 printf 'raw\033[0m'
    [ "$output" = $'raw\e[0m' ]
}
