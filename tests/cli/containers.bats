#!/usr/bin/env bats
# Containers of srun (docs/containers.md): stand-ins for enroot, apptainer and podman note what they are told, and run the program; podman itself where it is
# installed and can run. All of it by a user's own cluster, as a user: of root's jobs podman starts none.
bats_require_minimum_version 1.5.0
load common

# Where the tests are root's: somebody with a range of ids, whom podman wants, or one of Debian's users.
OWNER=$(cut -d: -f1 /etc/subuid 2>/dev/null | head -n 1)
id "${OWNER:=games}" >/dev/null 2>&1 || OWNER=games
as_user() {
    [ "$(id -u)" = 0 ] || { "$@"; return; }
    setpriv --reuid=$OWNER --regid=$OWNER --clear-groups "$@"
}

setup_file() {
    export TOP REMUDA_STATE LOG STANDINS PLACES PATHS
    TOP=$(mktemp -d /tmp/containers-bats-XXXXXX)
    PATHS=$PATH
    REMUDA_STATE="$TOP/state" LOG="$TOP/log" STANDINS="$TOP/standins" PLACES="$TOP/places"
    mkdir -p "$STANDINS"/{enroot,apptainer,podman,none} "$TOP/home" "$TOP/data" "$PLACES"
    export HOME="$TOP/home" REMUDA_CONTAINER_DIR="$PLACES"
    [ "$(id -u)" != 0 ] || chown -R $OWNER "$TOP"
    chmod 755 "$TOP"
    cat >"$STANDINS/enroot/enroot" <<'P'
#!/bin/bash
echo "enroot $*" >>"$LOG"
case $1 in
import) [[ "$4" != *missing* ]] || { printf 'no such \033[1mimage\n' >&2; exit 1; }
    [[ "$4" != *slow* ]] || sleep 2
    echo image >"$3" ;;
create) [ -f "$5" ] || exit 1
    mkdir -p "$LOG.containers/$4" ;;
remove) rm -r "$LOG.containers/$3" ;;
start)
    shift
    while [[ "$1" == --* ]]; do
        case $1 in --conf) conf=$2; shift ;; --rc) rc=$2; shift ;; esac
        shift
    done
    [ -d "$LOG.containers/$1" ] || { echo "no container $1" >&2; exit 1; }
    export ENROOT_ROOTFS="$LOG.containers/$1"
    . "$conf"
    mounts >>"$LOG"
    environ >"$LOG.environ"
    [ -z "$rc" ] || sed 's/^/rc /' "$rc" >>"$LOG"
    echo "home=$ENROOT_MOUNT_HOME root=$ENROOT_REMAP_ROOT rw=$ENROOT_ROOTFS_WRITABLE" >>"$LOG"
    shift
    exec "$@" ;;
esac
P
    cat >"$STANDINS/enroot/unsquashfs" <<'P'
#!/bin/sh
printf 'mkdir -p "/workspace" 2> /dev/null\ncd "/workspace" && unset OLDPWD || exit 1\nexec /entry "$@"\n'
P
    cat >"$STANDINS/apptainer/apptainer" <<'P'
#!/bin/bash
echo "apptainer $*" >>"$LOG"
case $1 in
pull) echo image >"$2" ;;
build) mkdir "$3" && echo kept >"$3/file" && mkdir -p "$3/shut/in" && chmod 555 "$3/shut" ;;
exec | run)
    env | grep ENV_ >>"$LOG"
    shift
    while [[ "$1" == --* ]]; do case $1 in --bind | --pwd | --home) shift ;; esac; shift; done
    [ -e "$1" ] || { echo "no image $1" >&2; exit 255; }
    export IMAGE=$1
    shift
    exec "$@" ;;
esac
P
    cat >"$STANDINS/podman/podman" <<'P'
#!/bin/bash
echo "podman $*" >>"$LOG"
[[ "$1" != --cgroup-manager=* ]] || shift
case $1 in
info) echo crun ;;
image) [ "$2" != inspect ] || printf 'PATH=/bin\nSHADE=image\n\n'; [ "$2" != exists ] ;;
wait) cat "$LOG.exit" ;;
run)
    shift
    while [[ "$1" == -* ]]; do
        case $1 in
        --pidfile) pid=$2; shift ;;
        --conmon-pidfile) monitor=$2; shift ;;
        --name | --volume | --env | --workdir) shift ;;
        --detach) detach=1 ;;
        esac
        shift
    done
    shift
    [ -n "$detach" ] || exec "$@"
    cat >"$LOG.monitor.$$" <<'M'
monitor=$1 pid=$2; shift 2
"$@" <&0 &
echo $! >"$pid"; echo $$ >"$monitor"; wait $!; echo $? >"$LOG.exit"
M
    (setsid bash "$LOG.monitor.$$" "$monitor" "$pid" "$@" <&0 &)
    until [ -s "$monitor" ]; do sleep 0.05; done ;;
esac
P
    chmod 755 "$STANDINS"/*/*
    as_user remuda up -q --nodes 2 --cpus 8 --mem 4000 --name boxes 3>&-
}

teardown_file() {
    as_user scancel -u "$(as_user id -un)" || true
    as_user remuda down
    rm -rf "$TOP"
}

setup() {
    as_user remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd "$TOP/home" || exit 1
    runtime enroot
    rm -rf "$LOG"*
}

# runtime NAME: that one's stand-in is found, and no other.
runtime() { export PATH="$STANDINS/$1:$PATHS" REMUDA_CONTAINER_RUNTIME="$1"; }
step() { as_user srun -Q "$@"; }
said() { grep -qF -e "$1" "$LOG" || { echo "not said: $1"; cat "$LOG"; return 1; }; }
unsaid() { ! grep -qF -e "$1" "$LOG" || { cat "$LOG"; return 1; }; }
nothing_left() { [ -z "$(as_user sh -c "ls $PLACES/*/*/ 2>/dev/null")" ] && [ -z "$(ls "$LOG.containers" 2>/dev/null)" ]; }
# a_job: an allocation to run steps in, $id.
a_job() {
    id=$(as_user sbatch --parsable -n4 -o none "$@" --wrap 'sleep 600')
    wait_state "$id" RUNNING
}

@test "enroot: the image is made once a step, run by each task, and taken away" {
    run --separate-stderr step -n3 --container-image=nvcr.io/nvidia/pytorch:24.01 sh -c 'echo task $SLURM_PROCID of $SLURM_NTASKS'
    [ "$status" = 0 ]
    [ "$(sort <<<"$output")" = "$(printf 'task %s of 3\n' 0 1 2)" ]
    [ "$(grep -c '^enroot import' "$LOG")" = 1 ]
    said 'docker://nvcr.io#nvidia/pytorch:24.01'
    [ "$(grep -c '^enroot create' "$LOG")" = 1 ]
    [ "$(grep -c '^enroot start' "$LOG")" = 3 ]
    nothing_left
    # named by the user's program, and not by what starts it
    [ "$(as_user sacct -n -P -X -o JobName | tail -1)" = sh ]
}

@test "enroot: what is asked for is in its configuration" {
    export THEIRS=1 OURS=2 LINES2=$'a\nb'
    step --container-image=alpine --container-mounts="$TOP/data:/data:ro,$TOP/home:/h:rw+private" --container-workdir=/data --container-env=OURS --container-mount-home \
        --container-remap-root --container-readonly true
    said "$TOP/data /data none x-create=auto,ro,rbind"
    said "$TOP/home /h none x-create=auto,rw,private"
    said "rc cd '/data'"
    unsaid "rc cd \"/workspace\""
    said "home=y root=y rw=n"
    said ' --root '
    unsaid ' --rw '
    [ "$(grep -c '^THEIRS=1' "$LOG.environ")" = 1 ]
    [ "$(grep -c '^OURS=2' "$LOG.environ")" = 2 ] # once more behind the image's own
    [ "$(grep -c '^LINES2' "$LOG.environ")" = 0 ]
}

@test "enroot: the image's work directory without its entry point, or with it" {
    step --container-image=alpine true
    said 'rc cd "/workspace"'
    unsaid 'rc exec /entry'
    rm "$LOG"
    step --container-image=alpine --container-entrypoint true
    unsaid '--rc'
    step --container-image=alpine --container-entrypoint --container-workdir=/tmp true
    said 'rc exec /entry'
}

@test "what cannot be fetched is said, once, without what moves cursors" {
    run -127 --separate-stderr step -n2 --container-image=missing true
    [ "$(grep -c '^enroot import' "$LOG")" = 1 ]
    [[ "$stderr" == *"enroot import failed on node $(hostname)"* ]]
    [[ "$stderr" == *"no such  [1mimage"* ]]
    [[ "$stderr" != *$'\033'* ]]
}

@test "exit codes and signals are the program's, whatever runs it" {
    for name in enroot apptainer podman; do
        runtime $name
        run step --container-image=alpine sh -c 'exit 7'
        [ "$status" = 7 ] || { echo "$name: $output"; false; }
        id=$(as_user sacct -n -P -X -o JobID | tail -1)
        [ "$(as_user sacct -n -P -j "$id.0" -o ExitCode)" = 7:0 ]
        run step --container-image=alpine sh -c 'kill -USR1 $$'
        [ "$status" = $((128 + 10)) ] || { echo "$name: $status $output"; false; }
        nothing_left
    done
}

@test "input and output go through" {
    for name in enroot apptainer podman; do
        runtime $name
        [ "$(echo through | step --container-image=alpine cat)" = through ]
        [ "$(step -l -n2 --container-image=alpine sh -c 'echo $SLURM_PROCID' | sort)" = "$(printf '0: 0\n1: 1')" ]
    done
}

@test "a signal for the step comes once, whatever runs it" {
    for name in enroot apptainer podman; do
        runtime $name
        a_job
        as_user srun -Q --jobid="$id" --container-image=alpine bash -c 'trap "echo told >>'"$TOP/home/$name"'" USR1; touch '"$TOP/home/$name.on"'
            for ((i = 0; i < 600; i++)); do sleep 0.1; [ ! -s '"$TOP/home/$name"' ] || { sleep 1; exit 0; }; done' &
        eventually test -e "$TOP/home/$name.on"
        as_user scancel -s USR1 "$id.0"
        wait $!
        [ "$(cat "$TOP/home/$name")" = told ]
        as_user scancel "$id"
        rm "$TOP/home/$name"*
    done
}

@test "what a killed step leaves, the user's next container takes away" {
    for name in enroot apptainer podman; do
        runtime $name
        a_job
        as_user srun -Q --jobid="$id" --container-image=alpine sh -c "touch $TOP/home/on; sleep 600" &
        eventually test -e "$TOP/home/on"
        as_user scancel -s KILL "$id.0"
        wait $! || true
        as_user scancel "$id"
        rm "$TOP/home/on"
        run nothing_left
        [ "$status" = 1 ]
        step --container-image=alpine true
        nothing_left
    done
    said "podman --cgroup-manager=cgroupfs rm --force remuda-$id-"
}

@test "a maker that is killed leaves nothing that is used" {
    a_job
    as_user srun -Q --jobid="$id" --container-name=n --container-image=slow true &
    eventually grep -q import "$LOG"
    as_user scancel -s KILL "$id.0"
    wait $! || true
    step --jobid="$id" --container-name=n --container-image=alpine true
    [ "$(grep -c '^enroot import' "$LOG")" = 2 ]
    as_user scancel "$id"
}

@test "a name keeps the container as long as the job" {
    for name in enroot apptainer; do
        runtime $name
        a_job
        run -127 step --jobid="$id" --container-name=box true
        [[ "$output" == *"--container-name=box: this job has no container of that name on node"* ]]
        step --jobid="$id" --container-name=box --container-image=alpine true
        step --jobid="$id" --container-name=box true
        step --jobid="$id" --container-name=box:exec true
        [ "$(grep -c -e '^enroot create' -e '^apptainer build' "$LOG")" = 1 ]
        step -n2 --jobid="$id" --container-name=box:create --container-image=alpine true
        [ "$(grep -c -e '^enroot create' -e '^apptainer build' "$LOG")" = 2 ]
        # another step does not lose it
        as_user srun -Q --overlap --jobid="$id" --container-name=box sh -c "touch $TOP/home/on; sleep 600" &
        eventually test -e "$TOP/home/on"
        run -127 step --overlap --jobid="$id" --container-name=box:create --container-image=alpine true
        [[ "$output" == *"another step runs in the container of that name"* ]]
        # nor is it taken away while the job lives
        step --container-image=alpine true
        step --overlap --jobid="$id" --container-name=box true
        as_user scancel "$id"
        wait $! || true
        wait_state "$id" CANCELLED
        step --container-image=alpine true
        eventually nothing_left
        rm -f "$TOP/home/on" "$LOG"
    done
}

@test "apptainer: its words" {
    runtime apptainer
    OURS=2 PATH="$PATH" step --container-image='$oauthtoken@nvcr.io#nvidia/pytorch:24.01' --container-mounts="$TOP/data,./:/h:ro" --container-workdir=/h --container-env=OURS \
        --no-container-mount-home --container-remap-root true
    said 'docker://nvcr.io/nvidia/pytorch:24.01'
    said " --no-home --fakeroot --writable-tmpfs --pwd /h --bind $TOP/data:$TOP/data --bind $TOP/home/./:/h:ro "
    said APPTAINERENV_OURS=2
    touch "$TOP/home/a.sif"
    step --container-image=./a.sif --container-readonly --container-entrypoint true
    said 'apptainer run ./a.sif true'
    step --container-image=ubuntu true
    said 'docker://docker.io/library/ubuntu'
}

@test "podman: its words, and no container with a name" {
    runtime podman
    OURS=2 THEIRS=1 SHADE=job step --container-image=localhost/mine:1 --container-mounts="$TOP/data:/d:ro+rprivate+x-create=dir" --container-workdir=/d --container-env=OURS --container-mount-home true
    said 'podman pull --quiet localhost/mine:1'
    said " --volume $TOP/data:/d:ro,rprivate --volume=$TOP/home:$TOP/home "
    said ' --env=OURS --pull=never localhost/mine:1 true'
    said ' --env=THEIRS '
    unsaid ' --env=SHADE ' # the image has it
    said ' --detach --log-driver=passthrough '
    said ' --group-add=keep-groups --userns=keep-id --workdir /d --entrypoint= '
    step --container-image="$TOP/data" --container-remap-root true
    said " --user=0:0 --entrypoint= "
    said " --rootfs $TOP/data:O true"
    run -127 step --container-image=alpine --container-name=x true
    [[ "$output" == *"--container-name: podman's containers end with their task; enroot or apptainer on node"* ]]
    run -127 step --container-image="$TOP/home/a.sif" true
}

@test "MPI's tasks meet through a descriptor that is handed on" {
    for name in enroot apptainer podman; do
        runtime $name
        [ "$(step -n2 --mpi=pmi2 --container-image=alpine bash -c 'printf "cmd=init pmi_version=1 pmi_subversion=1\n" >&$PMI_FD; read -r -u $PMI_FD line; echo ${line%% *}')" = $'cmd=response_to_init\ncmd=response_to_init' ] ||
            { echo "$name"; false; }
    done
    said ' --preserve-fds=1 --env=PMI_FD=3 '
}

@test "the runtime is the one that is asked for, else the first that can run the image" {
    unset REMUDA_CONTAINER_RUNTIME
    export PATH="$STANDINS/podman:$STANDINS/apptainer:$PATHS"
    step --container-image=alpine true
    said 'apptainer exec'
    REMUDA_CONTAINER_RUNTIME="$STANDINS/podman/podman" step --container-image=alpine true
    said 'podman pull'
    REMUDA_CONTAINER_RUNTIME=docker run -127 step --container-image=alpine true
    [[ "$output" == *"REMUDA_CONTAINER_RUNTIME=docker: enroot, apptainer, singularity and podman are known, or the path of one"* ]]
    runtime enroot
    REMUDA_CONTAINER_RUNTIME=singularity run -127 step --container-image=alpine true
    [[ "$output" == *"node $(hostname) has no singularity"* ]]
}

@test "a directory of others is not used for containers" {
    local own
    own=remuda-containers-$(as_user id -u)
    as_user mkdir -p "$TOP/home/a" "$TOP/home/b"
    as_user mkdir -m 755 "$TOP/home/a/$own"
    REMUDA_CONTAINER_DIR="$TOP/home/a" run -127 step --container-image=alpine true
    [[ "$output" == *"is not used: it belongs to somebody else, or others may look into it"* ]]
    as_user ln -s "$PLACES" "$TOP/home/b/$own"
    REMUDA_CONTAINER_DIR="$TOP/home/b" run -127 step --container-image=alpine true
    [[ "$output" == *"cannot use $TOP/home/b/$own"* ]]
    REMUDA_CONTAINER_DIR="$TOP/none" run -127 step --container-image=alpine true
    [[ "$output" == *"cannot make $TOP/none/$own: No such file or directory; REMUDA_CONTAINER_DIR names another"* ]]
}

@test "what makes no sense is said before anything is asked of the cluster" {
    while read -r options; do
        read -r sentence
        run env REMUDA_STATE=/nonexistent srun $options true
        [ "$status" != 0 ] || { echo "$options: $output"; false; }
        [[ "$output" == *"$sentence"* ]] || { echo "$options: $output"; false; }
    done <<'T'
--container-mounts=/a:/b
container options are about the container of --container-image or --container-name, and neither was given
--container-image=oras://x/y
images come from docker:// alone
--container-image=a#b#c
an image is [USER@][REGISTRY#]IMAGE[:TAG]
--container-image=x --container-mounts=a:/b
what is mounted is a path that begins with /, ./ or ../
--container-image=x --container-mounts=/a:b
where it is seen is a path that begins with /
--container-image=x --container-mounts=/a:/b:noexec
flags are ro, rw, bind, rbind
--container-image=x --container-mounts=tmpfs:/b
file systems in memory are not made
--container-image=x --container-workdir=here
--container-workdir=here: a path inside that begins with /
--container-image=x --container-env=A=1
--container-env=A=1: names of variables
--container-image=x --container-name=a/b
--container-name=a/b: at most 64 letters
--container-name=a:create
--container-name=a:create: a new container needs --container-image
--container-image=x --bcast
--bcast does not go with containers
--container-image=x --container-save=/tmp/x
containers are not saved
T
    run sbatch --container-image=x --wrap true
    [[ "$output" == *"the script itself runs on the node; give it to srun in the script"* ]]
    echo '0 true' >"$TOP/home/multi"
    run srun --container-image=x --multi-prog "$TOP/home/multi"
    [[ "$output" == *"--multi-prog does not go with containers"* ]]
}

# typed WORDS…: srun in a terminal, and what is seen there.
typed() { as_user script -qec "srun -Q --pty $(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'; }

@test "a terminal" {
    for name in enroot apptainer podman; do
        runtime $name
        run typed --container-image=alpine sh -c '[ -t 0 ] && [ -t 1 ] && echo a terminal'
        [[ "$output" == *"a terminal"* ]] || { echo "$name: $output"; false; }
    done
    said ' --tty '
    unsaid '--detach'
}

@test "what steps meet: nodes, arrays, directories, environments, users of one allocation" {
    for name in enroot apptainer podman; do
        runtime $name
        [ "$(step -N2 -n4 --container-image=alpine sh -c 'echo $SLURM_PROCID' | sort | tr -d '\n')" = 0123 ]
        as_user sbatch -Q --wait --array=1-2 -o "$TOP/home/%a.out" --wrap 'srun --container-image=alpine sh -c "echo element \$SLURM_ARRAY_TASK_ID"'
        [ "$(cat "$TOP/home/1.out" "$TOP/home/2.out")" = $'element 1\nelement 2' ]
        [ "$(step --chdir="$TOP/data" --container-image=alpine --container-mounts=./:/d pwd)" = "$TOP/data" ]
        said "$TOP/data/./"
        [ "$(SEEN=1 step --export=PATH,LOG,REMUDA_CONTAINER_RUNTIME,REMUDA_CONTAINER_DIR --container-image=alpine sh -c 'echo "[$SEEN]"')" = '[]' ]
        a_job -N1
        for i in 1 2 3; do as_user srun -Q --jobid="$id" --exact -n1 --container-image=alpine sh -c "touch $TOP/home/on.$i; sleep 600" & done
        for i in 1 2 3; do eventually test -e "$TOP/home/on.$i"; done
        step --jobid="$id" --overlap -n1 --container-image=alpine true
        as_user scontrol suspend "$id"
        wait_state "$id" SUSPENDED
        as_user scontrol resume "$id"
        wait_state "$id" RUNNING
        as_user scancel "$id"
        wait || true
        wait_state "$id" CANCELLED
        step --container-image=alpine true
        nothing_left || { ls -R "$PLACES"; false; }
        rm -f "$TOP/home"/on.* "$TOP/home"/*.out "$LOG"
    done
}

@test "a job that goes back does not find the container of its former run" {
    id=$(as_user sbatch --parsable --requeue -o none --wrap "srun --container-name=box true && touch $TOP/home/found; srun --container-name=box --container-image=alpine true; touch $TOP/home/made; sleep 600")
    eventually test -e "$TOP/home/made"
    rm "$TOP/home/made"
    as_user scontrol requeue "$id"
    eventually test -e "$TOP/home/made"
    [ ! -e "$TOP/home/found" ]
    [ "$(grep -c '^enroot create' "$LOG")" = 2 ]
    as_user scancel "$id"
    rm "$TOP/home/made"
    wait_state "$id" CANCELLED
    step --container-image=alpine true
    nothing_left
}

# The real one, rootless, with an image of a shell and what that needs.
podman_ready() {
    [ "$(type -P podman)" ] || skip "podman is not installed"
    runtime none
    export REMUDA_CONTAINER_RUNTIME=podman XDG_RUNTIME_DIR="$TOP/home/run" TMPDIR="$TOP/home"
    as_user mkdir -p "$XDG_RUNTIME_DIR" "$TOP/home/.config/containers"
    # what stands in for a system with a user's ids and control groups of version 2 alone
    as_user tee "$TOP/home/.config/containers/storage.conf" >/dev/null <<<$'[storage]\ndriver = "vfs"\n[storage.options.vfs]\nignore_chown_errors = "true"'
    [ -z "$(type -P runc)" ] || as_user tee "$TOP/home/.config/containers/containers.conf" >/dev/null <<<$'[engine]\nruntime = "runc"'
    if ! as_user podman image exists localhost/shell:1 2>/dev/null; then
        mkdir -p "$TOP/root"/{bin,tmp,proc,sys,dev,etc,work}
        local program library
        for program in sh bash sleep cat id touch; do
            cp -L "$(type -P $program)" "$TOP/root/bin/"
            for library in $(ldd "$(type -P $program)" | grep -o '/[^ ]*'); do
                mkdir -p "$TOP/root$(dirname "$library")"
                cp -nL "$library" "$TOP/root$library"
            done
        done
        as_user tar -C "$TOP/root" -cf "$TOP/data/shell.tar" .
        as_user podman import --change WORKDIR=/work --change ENV=SHADE=image --change 'ENTRYPOINT=["/bin/false"]' "$TOP/data/shell.tar" localhost/shell:1 >/dev/null 2>"$TOP/home/why" ||
            skip "podman import fails here: $(tail -n 1 "$TOP/home/why")"
    fi
    as_user podman --cgroup-manager=cgroupfs run --rm --network=host --pid=host --userns=keep-id --entrypoint= localhost/shell:1 /bin/sh -c true 2>"$TOP/home/why" || skip "podman run fails here: $(tail -n 1 "$TOP/home/why")"
}

@test "podman itself: streams, status, environment, mounts, work directory" {
    podman_ready
    export SHADE=job OTHER=job
    run --separate-stderr step --container-image=localhost/shell:1 --container-mounts="$TOP/data:/d:ro" sh -c 'echo "$PWD $SHADE $OTHER $(id -u) $SLURM_PROCID"; [ -e /d/shell.tar ] && ! touch /d/x 2>/dev/null && touch /tmp/x; echo err >&2; exit 3'
    [ "$status" = 3 ] || { echo "$stderr"; false; }
    [ "$output" = "/work image job $(as_user id -u) 0" ] || { echo "$output"; false; }
    [[ "$stderr" == *err* ]]
    [ "$(echo through | step --container-image=localhost/shell:1 --container-env=SHADE --container-workdir=/tmp --container-remap-root sh -c 'cat; echo $SHADE $PWD $(id -u)')" = $'through\njob /tmp 0' ]
    run step --container-image=localhost/shell:1 sh -c 'kill -USR1 $$'
    [ "$status" = 138 ]
    [ "$(step -n3 --container-image=localhost/shell:1 sh -c 'echo $SLURM_PROCID' | sort | tr -d '\n')" = 012 ]
    [ -z "$(as_user podman ps -aq)" ]
    nothing_left
    run typed --container-image=localhost/shell:1 sh -c '[ -t 0 ] && [ -t 1 ] && echo a terminal'
    [[ "$output" == *"a terminal"* ]]
    [ "$(step -n2 --mpi=pmi2 --container-image=localhost/shell:1 bash -c 'printf "cmd=init pmi_version=1 pmi_subversion=1\n" >&$PMI_FD; read -r -u $PMI_FD line; echo ${line%% *}')" = $'cmd=response_to_init\ncmd=response_to_init' ]
}

@test "podman itself: a signal comes once, and a killed container is taken away" {
    podman_ready
    a_job
    as_user srun -Q --jobid="$id" --container-image=localhost/shell:1 --container-mounts="$TOP/home:/h" bash -c 'trap "echo usr >>/h/told" USR1; trap "echo term >>/h/told" TERM; touch /h/on
        for ((i = 0; i < 300; i++)); do sleep 0.1; [ ! -e /h/go ] || exit 9; done' &
    eventually test -e "$TOP/home/on"
    sleep 0.5
    as_user scancel -s USR1 "$id.0"
    sleep 1
    as_user scancel -s TERM "$id.0"
    sleep 1
    touch "$TOP/home/go"
    status=0
    wait $! || status=$?
    [ "$status" = 9 ]
    [ "$(cat "$TOP/home/told")" = $'usr\nterm' ]
    rm "$TOP/home/on"
    as_user srun -Q --jobid="$id" --container-image=localhost/shell:1 --container-mounts="$TOP/home:/h" sh -c 'touch /h/on; sleep 600' &
    eventually test -e "$TOP/home/on"
    as_user scancel -s KILL "$id.1"
    wait $! || true
    as_user scancel "$id"
    [ -n "$(as_user podman ps -aq)" ]
    step --container-image=localhost/shell:1 sh -c 'exit 0'
    [ -z "$(as_user podman ps -aq)" ]
}

@test "components of a heterogeneous job have containers of their own" {
    step --container-image=one true : sh -c 'exit 0'
    [ "$(grep -c '^enroot start' "$LOG")" = 1 ]
    rm "$LOG"
    step --container-image=one true : --container-image=two true
    said 'docker://one'
    said 'docker://two'
}
