#!/usr/bin/env bats
# Containers of srun (docs/containers.md) with podman itself, rootless, where it is installed and can run.
bats_require_minimum_version 1.5.0
load common
load containers

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

@test "streams, status, environment, mounts, work directory" {
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

@test "a signal comes once, and a killed container is taken away" {
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
