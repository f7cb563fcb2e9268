#!/usr/bin/env bats
# Containers of srun (docs/containers.md): stand-ins for enroot, apptainer and podman note what they are told, and run the program.
bats_require_minimum_version 1.5.0
load common

load containers

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
    said "$TOP/home /h none x-create=auto,rw,rbind,private"
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

@test "of what could not be made nothing stays but why" {
    run -127 step -n2 --container-image=broken true
    [ "$(grep -c '^enroot import' "$LOG")" = 1 ]
    [ -z "$(as_user find "$PLACES" -name 'image*')" ]
    step --container-image=alpine true
    nothing_left
}

@test "what one runtime left is taken away whatever the next container runs in" {
    for name in enroot podman; do
        runtime $name
        a_job
        as_user srun -Q --jobid="$id" --container-image=alpine sh -c "touch $TOP/home/on; sleep 600" &
        eventually test -e "$TOP/home/on"
        as_user scancel -s KILL "$id.0"
        wait $! || true
        as_user scancel "$id"
        rm "$TOP/home/on"
        # its program is neither on PATH nor could it run what is asked for now
        runtime apptainer
        step --container-image="$TOP/data" true
        nothing_left
    done
    said "podman --cgroup-manager=cgroupfs rm --force remuda-$id-"
    # nor does what is not there any more lose what it alone could take away
    runtime enroot
    a_job
    as_user srun -Q --jobid="$id" --container-image=alpine sh -c "touch $TOP/home/on; sleep 600" &
    eventually test -e "$TOP/home/on"
    as_user scancel -s KILL "$id.0"
    wait $! || true
    as_user scancel "$id"
    rm "$TOP/home/on"
    mv "$STANDINS/enroot/enroot" "$STANDINS/enroot/away"
    runtime apptainer
    step --container-image=alpine true
    ! nothing_left || false
    mv "$STANDINS/enroot/away" "$STANDINS/enroot/enroot"
    step --container-image=alpine true
    nothing_left
}

@test "steps that are in one container at once have their own mounts and variables" {
    a_job
    step --jobid="$id" --container-name=box --container-image=alpine true
    SLOW=1 as_user srun -Q --overlap --jobid="$id" -n1 --container-name=box --container-mounts="$TOP/data:/one" true &
    eventually grep -q "^enroot start .*conf.1.0" "$LOG"
    as_user srun -Q --overlap --jobid="$id" -n1 --container-name=box --container-mounts="$TOP/data:/two" true
    wait $!
    said "$TOP/data /one none"
    said "$TOP/data /two none"
    [ -z "$(as_user find "$PLACES" -name 'conf*')" ]
    as_user scancel "$id"
    wait_state "$id" CANCELLED
    step --container-image=alpine true
    nothing_left
}

@test "a name keeps the container as long as the job" {
    for name in enroot apptainer; do
        runtime $name
        a_job
        run -127 step --jobid="$id" --container-name=box true
        [[ "$output" == *"--container-name=box: this job has no container of that name on node"* ]]
        run -127 step --jobid="$id" --container-name=box:exec --container-image=alpine true
        [[ "$output" == *"this job has no container of that name on node"*"makes one where :exec is left out"* ]]
        step --jobid="$id" --container-name=box --container-image=alpine true
        step --jobid="$id" --container-name=box true
        step --jobid="$id" --container-name=box:exec true
        step --jobid="$id" --container-name=box:no_exec --container-image=alpine true
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
    said 'podman --cgroup-manager=cgroupfs pull --quiet localhost/mine:1'
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
    said ' pull --quiet '
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
    as_user mkdir -m 777 "$TOP/home/c"
    REMUDA_CONTAINER_DIR="$TOP/home/c" run -127 step --container-image=alpine true
    [[ "$output" == *"$TOP/home/c is not used for containers: others may rename what is in it"* ]]
    as_user chmod 1777 "$TOP/home/c"
    REMUDA_CONTAINER_DIR="$TOP/home/c" step --container-image=alpine true
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

@test "a container with a name is not taken away by the user's jobs in another cluster" {
    a_job
    step --jobid="$id" --container-name=box --container-image=alpine true
    REMUDA_STATE="$TOP/other" as_user remuda up -q --nodes 1 --cpus 1 --mem 500 3>&-
    REMUDA_STATE="$TOP/other" step --container-image=alpine true
    REMUDA_STATE="$TOP/other" as_user remuda down
    step --jobid="$id" --container-name=box true
    as_user scancel "$id"
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

@test "components of a heterogeneous job have containers of their own" {
    step --container-image=one true : sh -c 'exit 0'
    [ "$(grep -c '^enroot start' "$LOG")" = 1 ]
    rm "$LOG"
    step --container-image=one true : --container-image=two true
    said 'docker://one'
    said 'docker://two'
}
