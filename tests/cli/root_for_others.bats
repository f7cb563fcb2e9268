#!/usr/bin/env bats
# What root does for a user, or where one has laid things ready: nothing is opened, read, written, executed or ended as root because of what he made (docs/security.md).
bats_require_minimum_version 1.5.0
load common

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$SHARED/home" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    SHARED=$(mktemp -d /tmp/remuda-for-others-XXXXXX)
    export SHARED REMUDA_STATE="$SHARED/state"
    chmod 755 "$SHARED"
    mkdir "$SHARED/home"
    chown nobody "$SHARED/home"
    remuda up -q --nodes 1 --cpus 4 --mem 2000 3>&-
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
    cd "$SHARED" || exit 1
    echo mine >"$SHARED/roots"
    (umask 077 && printf 'SECRET=root-8151\n' >"$SHARED/secret")
    as_nobody sh -c 'rm -rf "$HOME"/*; ln -s ../roots "$HOME/out"; ln -s ../secret "$HOME/in"'
}

@test "srun --uid opens input and output as the user, sbatch --uid reads its file of variables so" {
    for file in -o -e; do
        run -1 srun --uid=nobody -n1 "$file" "$SHARED/home/out" sh -c 'echo hers; echo hers >&2'
        [[ "$output" == *"Could not open std"*" file: Permission denied"* ]]
    done
    [ "$(cat roots)" = mine ]
    run -1 srun --uid=nobody -n1 -i "$SHARED/home/in" cat
    [[ "$output" == *"Could not open stdin file: Permission denied"* ]]
    run -1 srun --uid=nobody -n1 --multi-prog "$SHARED/home/in"
    [[ "$output" != *root-8151* ]]
    run -1 sbatch --uid=nobody --export-file="$SHARED/home/in" --wrap env
    [[ "$output" == *"Could not open user environment file"* ]]
    run -0 srun --uid=nobody -n1 -o "$SHARED/home/new" id -u
    [ "$(cat home/new)" = "$(id -u nobody)" ]
    [ "$(stat -c %U home/new)" = nobody ]
}

@test "what root runs in a user's job does not show the user root's environment" {
    id=$(as_nobody sbatch --parsable -D "$SHARED/home" -o /dev/null --wrap 'sleep 600')
    wait_state "$id" RUNNING
    SECRET=root-8151 run -0 remuda shell "$id" -- env
    [[ "$output" != *root-8151* ]]
    [[ "$output" == *"PATH="* && "$output" == *"SLURM_JOB_ID=$id"* ]]
    SECRET=root-8151 sbcast -j "$id" -f "$SHARED/secret" "$SHARED/home/copy"
    [ "$(cat home/copy)" = SECRET=root-8151 ]
    rm home/copy
    [[ "$(as_nobody env MINE=kept-8151 remuda shell "$id" -- env)" == *MINE=kept-8151* ]]
    SECRET=root-8151 SLURM_JWT=root-8151 run -0 srun --jobid="$id" --overlap env
    [[ "$output" != *root-8151* && "$output" == *"PATH="* && "$output" == *"SLURM_JOB_ID=$id"* ]]
    SECRET=root-8151 run -0 srun --jobid="$id" --overlap --export=ALL env
    [[ "$output" == *SECRET=root-8151* ]]
    [[ "$(as_nobody env MINE=kept-8151 srun --jobid="$id" --overlap env)" == *MINE=kept-8151* ]]
    scancel "$id"
}

@test "root of a user's own namespace is the user: his tasks keep what he has in his environment" {
    as_nobody unshare -r true 2>/dev/null || skip "no namespaces of users here"
    id=$(as_nobody sbatch --parsable -D "$SHARED/home" -o /dev/null --wrap 'sleep 600')
    wait_state "$id" RUNNING
    for command in "srun --jobid=$id --overlap" "remuda shell $id --"; do
        run -0 as_nobody unshare -r env MINE=kept-8151 $command env
        [[ "$output" == *MINE=kept-8151* ]]
        SECRET=root-8151 run -0 unshare -r $command env # whose namespace it is does not make root the owner
        [[ "$output" != *root-8151* ]]
    done
    scancel "$id"
}

@test "a job that root submits for a user has of root's environment what --export says, else little" {
    home=$(getent passwd nobody | cut -d: -f6)
    for command in "srun --uid=nobody" "sbatch --uid=nobody -W -o $SHARED/home/said --wrap"; do
        SECRET=root-8151 SLURM_JWT=root-8151 run -0 $command env
        [[ "$command" == srun* ]] || output=$(cat home/said)
        [[ "$output" != *root-8151* && "$output" == *"PATH="* && "$output" == *"HOME=$home"* && "$output" == *"SLURM_JOB_ID="* ]]
        SECRET=root-8151 SECOND=root-8152 SLURM_JWT=root-8151 run -0 ${command/--uid/--export=SECOND --uid} env
        [[ "$command" == srun* ]] || output=$(cat home/said)
        [[ "$output" != *root-8151* && "$output" == *SECOND=root-8152* ]]
        SECRET=root-8151 SLURM_JWT=root-8151 SPANK_X=root-8151 run -0 ${command/--uid/--export=NONE --uid} env
        [[ "$command" == srun* ]] || output=$(cat home/said)
        [[ "$output" != *root-8151* && "$output" == *"SLURM_JOB_ID="* ]]
        SECRET=root-8151 run -0 ${command/--uid/--export=ALL --uid} env
        [[ "$command" == srun* ]] || output=$(cat home/said)
        [[ "$output" == *SECRET=root-8151* ]]
        SECRET=root-8151 run -0 ${command/--uid=nobody/--uid=root} env
        [[ "$command" == srun* ]] || output=$(cat home/said)
        [[ "$output" == *SECRET=root-8151* ]]
        rm -f home/said
    done
    printf 'GIVEN=1\0PATH=/given:/usr/bin:/bin\0' >given
    SECRET=root-8151 SLURM_JWT=root-8151 sbatch --uid=nobody -W -o "$SHARED/home/said" --export-file="$SHARED/given" --wrap env
    grep -qx GIVEN=1 home/said
    [ -z "$(grep root-8151 home/said)" ]
}

@test "scrontab -u USER -e: the editor is root's, and only what asks the controller is the user's" {
    printf '#!/bin/sh\nid -u >%s/editor\necho "@daily true" >"$1"\n' "$SHARED" >ed
    chmod 755 ed
    VISUAL="$SHARED/ed" run -0 scrontab -u nobody -e
    [ "$(cat editor)" = 0 ]
    [ "$(scrontab -u nobody -l)" = "@daily true" ]
    [ "$(squeue -h -u nobody -o %j)" = true ]
    run -0 scrontab -u nobody -r
    printf '#!/bin/sh\necho "@daily" >"$1"\n' >ed
    TMPDIR="$SHARED" VISUAL="$SHARED/ed" run -1 scrontab -u nobody -e <<<n
    [[ "$output" == *"your text is in $SHARED/scrontab."* ]]
    run -1 scrontab -u nobody -l
}

@test "bpeek opens another's output if it is an ordinary file, and says what it could not read" {
    id=$(as_nobody sbatch --parsable -D "$SHARED/home" -o peek -e errors --wrap 'echo hello; echo oh >&2; sleep 600')
    eventually grep -q oh home/errors
    run -0 bpeek "$id"
    [ "$output" = $'<< output from stdout >>\nhello\n<< output from stderr >>\noh' ]
    ln -sf /dev/zero home/peek
    run -255 --separate-stderr timeout 10 bpeek "$id"
    [ "$output" = $'<< output from stdout >>\n<< output from stderr >>\noh' ]
    [ "$stderr" = "bpeek: $SHARED/home/peek cannot be read: Wrong medium type" ]
    rm home/peek
    run -255 --separate-stderr bpeek "$id"
    [ "$stderr" = "bpeek: $SHARED/home/peek cannot be read: No such file or directory" ]
    scancel "$id"
}

@test "an output that cannot be read to its end is a failure of remuda logs" {
    id=$(sbatch --parsable --wait -D "$SHARED" -o mine.out --wrap 'echo hello')
    run -0 remuda logs "$id"
    [ "$output" = hello ]
    rm mine.out
    mkdir mine.out
    run -1 remuda logs "$id"
    [[ "$output" == *"$SHARED/mine.out cannot be read: Is a directory"* ]]
    rmdir mine.out
}

@test "remuda import reads a user's directory as he would, and none where anybody may put files" {
    printf 'ClusterName=x\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n' >site.conf
    conf=$SHARED/home/conf
    as_nobody sh -c 'mkdir "$HOME/conf" && cat >"$HOME/conf/slurm.conf"' <site.conf
    run -0 remuda import slurm --state "$SHARED/other" --conf "$conf"
    for include in "$SHARED/secret" ../../secret link; do
        ln -sf "$SHARED/secret" "$conf/link"
        as_nobody sh -c 'cat >"$HOME/conf/slurm.conf"' < <(cat site.conf; echo "Include $include")
        run -1 remuda import slurm --state "$SHARED/other" --leave-out --conf "$conf"
        [[ "$output" == *"Include $include: as user $(id -u nobody), whose directory $conf is: cannot read"*": Permission denied"* ]]
    done
    ln -sf "$SHARED/secret" "$conf/slurm.conf"
    run -1 remuda import slurm --state "$SHARED/other" --leave-out --conf "$conf"
    [[ "$output" != *root-8151* ]]
    [ -z "$(grep -r root-8151 other)" ]
    mkdir -m 1777 all
    cp site.conf all/slurm.conf
    run -1 remuda import slurm --state "$SHARED/other" --conf all
    [[ "$output" == *"$SHARED/all: anybody may put files there; copy what is to be imported"* ]]
}

@test "root stops and releases in a user's directory: no file is made or emptied through links, no process is ended that he only names" {
    state=$SHARED/home/state
    as_nobody sh -c 'mkdir -p "$HOME/state/nodes" && cat >"$HOME/state/remuda.conf"' <<<$'ClusterName=x\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL Default=YES'
    mkdir -p roots.d
    ln -s "$SHARED/made" "$state/down"
    sleep 300 3>&- &
    victim=$!
    cat >"$SHARED/hold.py" <<'END'
import fcntl, struct, sys, time
f = open(sys.argv[1], "w+")
f.write(sys.argv[2] + "\n")
f.flush()
fcntl.fcntl(f.fileno(), 37, struct.pack("hhlli", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
open(sys.argv[1] + ".held", "w").close()
time.sleep(300)
END
    as_nobody python3 "$SHARED/hold.py" "$state/controller.pid" "$victim" 3>&- &
    holder=$!
    eventually test -e "$state/controller.pid.held"
    run timeout 60 remuda down --state "$state"
    kill -0 "$victim"
    [ ! -e made ]
    kill "$victim" "$holder"
    # The directory of a node that is a link to one of root's.
    ln -s ../../../roots.d "$state/nodes/n1"
    run -1 remuda gpus --state "$state" release n1
    [[ "$output" == *"nodes/n1/gpus-released cannot be written"* ]]
    [ -z "$(ls roots.d)" ]
    rm "$state/nodes/n1"
    as_nobody sh -c 'mkdir "$HOME/state/nodes/n1"; ln -s ../../../../roots "$HOME/state/nodes/n1/gpus-released"'
    run -1 remuda gpus --state "$state" release n1
    [ "$(cat roots)" = mine ]
    rm "$state/nodes/n1/gpus-released"
    run -0 remuda gpus --state "$state" release n1
    grep -q "^by root at" "$state/nodes/n1/gpus-released"
}

@test "a disk that is full leaves the former dump, and the former script" {
    names=$(seq -s, -f 'acct%g' 60)
    sacctmgr -i add account "$names" >/dev/null
    id=$(sbatch --parsable --hold <<<$'#!/bin/sh\n'"# $(head -c 6000 /dev/zero | tr '\0' x)")
    cluster=$(sacctmgr -n -P show cluster format=cluster)
    mkdir full
    cat >fill.sh <<'END'
mount -t tmpfs -o size=32k tmpfs full || exit 77
echo former >full/dump
echo former >full/script
head -c 100000 /dev/zero >full/fill 2>/dev/null
sacctmgr dump "$1" file=full/dump && exit 1
scontrol write batch_script "$2" full/script && exit 2
cat full/dump full/script
rm full/fill
sacctmgr dump "$1" file=full/dump >/dev/null && tail -n 1 full/dump
END
    run --separate-stderr unshare -m sh fill.sh "$cluster" "$id"
    scancel "$id"
    [ "$status" != 77 ] || skip "nothing can be mounted here"
    [ "$status" = 0 ]
    [ "${lines[0]}" = former ]
    [ "${lines[1]}" = former ]
    [[ "${lines[2]}" == Account* || "${lines[2]}" == User* || "${lines[2]}" == Parent* ]]
    [[ "$stderr" == *"full/dump: No space left on device"* ]]
    [[ "$stderr" == *"cannot write full/script: No space left on device"* ]]
}
