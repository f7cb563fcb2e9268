#!/usr/bin/env bats
# strigger: programs that run when something happens, by real daemons. When each is pulled is shown by unit core_trigger.
bats_require_minimum_version 1.5.0
load common

setup_file() { cluster --nodes 2 --cpus 2; }
teardown_file() { remuda down; }

setup() {
    cd "$WORK"
    strigger --clear -Q --user="$(id -u)"
    rm -f told
    printf '#!/bin/sh\necho "$@" >> %s/told\n' "$WORK" > tell
    chmod +x tell
}

has_told() { grep -qsxF -- "$1" told; }

@test "a job's end and a node's state run programs, once, with what happened to" {
    sbatch -o /dev/null --wrap 'while [ ! -e go ]; do sleep 0.2; done' -J a > id
    id=$(tr -dc 0-9 < id)
    wait_state "$id" RUNNING
    run -0 --separate-stderr strigger --set --jobid="$id" --fini --program="$WORK/tell ended job"
    [ -z "$output$stderr" ]
    strigger --set --node --drained --program="$WORK/tell drained"
    run -0 strigger --get --fini -j "$id"
    [ "${lines[0]}" = "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM" ]
    [[ "${lines[1]}" == *" job "*" $id fini  "*" 0 $(id -un) "*"$WORK/tell ended job" ]]
    touch go
    eventually has_told "ended job $id"
    node=$(sinfo -h -N -o %N | tail -1)
    scontrol update nodename="$node" state=drain reason=test
    eventually has_told "drained $node"
    scontrol update nodename="$node" state=resume
    [ "$(wc -l < told)" = 2 ]
    run -0 strigger --get
    [ -z "$output" ]
}

@test "what was set outlives kill -9, and tells of it" {
    strigger --set --primary_slurmctld_failure --program="$WORK/tell killed"
    strigger --set --reconfig --flags=PERM --program="$WORK/tell read"
    pid=$(cat "$REMUDA_STATE/controller.pid")
    kill -9 "$pid"
    remuda up > /dev/null
    eventually has_told "killed primary_slurmctld_failure"
    run -0 strigger --get -N
    [ "${#lines[@]}" = 1 ]
    scontrol reconfigure
    eventually has_told "read reconfig"
    run -0 strigger --get -N --reconfig
    [[ "$output" == *" node "*" * reconfig "*" PERM  $WORK/tell read" ]]
}

@test "what is refused says why" {
    run -1 --separate-stderr strigger
    [ "$stderr" = "strigger: error: You must use exactly one of the following options: --set, --get or --clear" ]
    run -1 --separate-stderr strigger --set --down --program=tell
    [ "$stderr" = 'strigger: error: The --program value must start with "/"' ]
    run -1 --separate-stderr strigger --set --backup_slurmctld_failure --program="$WORK/tell"
    [[ "$stderr" == *"there is no second controller"* ]]
    run -1 --separate-stderr strigger --set --jobid=4711 --fini --program="$WORK/tell"
    [ "${stderr%%$'\n'*}" = "slurm_set_trigger: Invalid job id specified" ]
    run -1 --separate-stderr strigger --clear --id=4711
    [ "${stderr%%$'\n'*}" = "slurm_clear_trigger: No such process" ]
    strigger --set --down --program="$WORK/tell"
    run -1 --separate-stderr strigger --set --down --program="$WORK/tell"
    [ "$stderr" = "slurm_set_trigger: Duplicate event trigger" ]
}

@test "a program that fails is in the log, with what it said" {
    printf '#!/bin/sh\necho "no mail today: $PATH $HOME" >&2; exit 3\n' > tell
    strigger --set --reconfig --program="$WORK/tell"
    scontrol reconfigure
    said() { grep -q "the program of trigger .*exited with 3: no mail today: .*/bin" "$REMUDA_STATE/log/controller.log"; }
    eventually said
}
