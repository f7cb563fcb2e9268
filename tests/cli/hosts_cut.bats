#!/usr/bin/env bats
# The network between two machines is cut, or slow: what goes on, what is lost, and that the books agree afterwards.
load hosts

@test "a cut shorter than the timeout loses nothing" {
    id=$(head1 sbatch --parsable -w far -o cut.out --wrap 'sleep 3; echo over')
    # What this step says while the link is down arrives afterwards.
    head1 timeout 60 srun --overlap -n1 -w far --mem=50 sh -c 'for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.7; done' >step.out 2>step.err &
    step=$!
    until_is 10 "RUNNING" head1 squeue -h -j "$id" -o %T
    until_is 20 "line 1" head -n 1 step.out
    cut
    sleep 4
    mend
    until_is 30 "" head1 squeue -h -j "$id"
    [ "$(head1 sacct -n -P -X -j "$id" -o State)" = COMPLETED ]
    [ "$(cat cut.out)" = over ]
    wait "$step"
    [ "$(cat step.out)" = "$(for i in 1 2 3 4 5 6 7 8; do echo "line $i"; done)" ]
    until_is 20 "idle" head1 sinfo -h -n far -o %t
}

@test "a short cut at srun's end: its step goes on, and its output comes" {
    far1 timeout 60 srun -n1 -w node1 --mem=50 sh -c 'echo begun; sleep 4; echo over; exit 3' >step.out 2>step.err &
    step=$!
    until_is 20 "begun" cat step.out
    cut
    sleep 5
    mend
    code=0
    wait "$step" || code=$?
    [ "$code" = 3 ]
    [ "$(cat step.out)" = $'begun\nover' ]
}

@test "a longer cut: the job is lost, the node comes back and the books agree" {
    id=$(head1 sbatch --parsable --no-requeue -w far -o lost.out --wrap 'sleep 601')
    until_is 10 "RUNNING" head1 squeue -h -j "$id" -o %T
    until_is 10 "1" far_runs "sleep 601"
    cut
    until_is 25 "NODE_FAIL" head1 sacct -n -P -X -j "$id" -o State
    [[ "$(head1 sinfo -h -n far -o %t)" =~ down ]]
    mend
    for _ in $(seq 300); do [[ "$(head1 sinfo -h -n far -o %t)" =~ ^(idle|mix|alloc)$ ]] && break; sleep 0.2; done
    until_is 20 "idle" head1 sinfo -h -n far -o %t
    until_is 10 "0" far_runs "sleep 601"
    [[ "$(head1 scontrol show node far)" =~ CPUAlloc=0 ]]
    [[ "$(head1 scontrol show node far)" =~ AllocMem=0 ]]
    [ "$(head1 sacct -n -P -j "$id.batch" -o State)" = NODE_FAIL ]
    [[ "$(head1 sacct -n -P -X -j "$id" -o ExitCode,End)" != *Unknown* ]]
}

@test "a job that was requeued runs once: what goes on beyond the cut is killed when it is mended" {
    id=$(head1 sbatch --parsable --requeue -n1 --mem=50 -w far -o requeued.out --open-mode=append --wrap 'echo run $SLURM_RESTART_COUNT on $(hostname); sleep 602')
    until_is 10 "RUNNING" head1 squeue -h -j "$id" -o %T
    until_is 10 "1" far_runs "sleep 602"
    cut
    until_is 25 "PENDING" head1 squeue -h -j "$id" -o %T
    [ "$(far_runs "sleep 602")" = 1 ] # nobody can tell it there
    head1 scontrol update JobId="$id" ReqNodeList=node1
    until_is 90 "RUNNING" head1 squeue -h -j "$id" -o %T
    [ "$(head1 squeue -h -j "$id" -o %N)" = node1 ]
    mend
    until_is 30 "0" far_runs "sleep 602"
    [ "$(head1 squeue -h -j "$id" -o '%T %N')" = "RUNNING node1" ]
    until_is 20 "idle" head1 sinfo -h -n far -o %t
    [ "$(head1 sacct -n -P -X -D -j "$id" -o State,NodeList)" = $'NODE_FAIL|far\nRUNNING|node1' ]
    head1 scancel "$id"
    until_is 20 "" head1 squeue -h -j "$id"
    [ "$(grep -c ^run requeued.out)" = 2 ]
}

@test "--no-kill: the allocation goes on without the node that is gone, and gives it back" {
    head1 salloc --no-shell --no-kill -N2 -w node1,far --mem=50 -n2 2>salloc.err
    id=$(grep -o '[0-9]*$' salloc.err | head -n 1)
    cut
    for _ in $(seq 300); do [[ "$(head1 sinfo -h -n far -o %t)" =~ down ]] && break; sleep 0.2; done
    [ "$(head1 squeue -h -j "$id" -o %T)" = RUNNING ]
    run -0 head1 timeout 20 srun --jobid="$id" -n1 -N1 -w node1 hostname
    [ "$output" = head ]
    mend
    until_is 40 "idle" head1 sinfo -h -n far -o %t
    [[ "$(head1 scontrol show node far)" =~ CPUAlloc=0 ]]
    [ "$(head1 squeue -h -j "$id" -o %T)" = RUNNING ]
    head1 scancel "$id"
}

@test "delay and loss: slower, and nothing else" {
    tc -n "$FAR_NS" qdisc add dev "$FAR_NS" root netem delay 40ms 20ms loss 5% 2>"$SHARED/tc" || skip "this kernel has no netem: $(cat "$SHARED/tc")"
    for i in 1 2 3; do
        run -0 head1 timeout 60 srun -N2 -w node1,far --mem=50 hostname
        [ "$(sort <<<"$output")" = $'far\nhead' ]
    done
    id=$(far1 sbatch --parsable -w far -o slow.out --wrap 'echo slow')
    until_is 30 "" head1 squeue -h -j "$id"
    tc -n "$FAR_NS" qdisc del dev "$FAR_NS" root
    [ "$(cat slow.out)" = slow ]
    [ "$(head1 sinfo -h -n far -o %t)" = idle ]
}
