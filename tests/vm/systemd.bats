#!/usr/bin/env bats
# In a virtual machine that systemd runs: Remuda's units, and an ordinary user's cluster in what systemd delegates.
bats_require_minimum_version 1.5.0

load under_systemd

scope() { find /sys/fs/cgroup/system.slice -maxdepth 1 -name 'remuda-vm.*.scope'; }
no_scope() { [ -z "$(scope)" ]; }

@test "the node daemon, started by systemd, has a scope for jobs that systemd delegated, with all controllers" {
    eventually idle
    systemctl is-active remuda-controller remuda-node
    systemctl status "$(basename "$(scope)")" --no-pager
    [ "$(systemctl show -p Delegate --value "$(basename "$(scope)")")" = yes ]
    run remuda status
    [[ "$output" =~ "enforced by cgroup v2: cores, memory, swap, devices, number of processes, the end of all processes"($'\n'|$) ]]
}

@test "jobs are in the scope, and held there" {
    begun --mem=60 -c1 'cat /proc/self/cgroup; sleep 1; python3 -c "x = bytearray(300 << 20)"; exit 3'
    eventually is "$id" OUT_OF_ME*
    [[ "$(cat out)" =~ ^0::/system.slice/remuda-vm\.[0-9a-f]+\.scope/remuda\.vm\.[0-9a-f]+/$id\.1/$id\.1\.batch$ ]]
    grep -Eq "process [0-9]+ \(python3, [3-6][0-9] MiB\) was ended" err
}

@test "systemctl restart: the job goes on, is found again, is still held, and its steps join it" {
    begun --mem=60 -c1 'until [ -e go ]; do sleep 0.2; done; srun -n1 --mem=30 cat /proc/self/cgroup; python3 -c "x = bytearray(300 << 20)"; exit 3'
    systemctl daemon-reload
    systemctl restart remuda-node
    systemctl is-active remuda-node
    systemctl restart remuda-controller
    kill -0 "$(cat pid)"
    eventually answers
    [ "$(scope | wc -l)" = 1 ]
    touch go
    eventually is "$id" OUT_OF_ME*
    cat out err
    [[ "$(cat out)" == 0::*/"$id.1/$id.1.0" ]]
    journalctl -u remuda-node | grep -q "found step"
}

began_again() { [ "$(systemctl show -p NRestarts --value remuda-node)" -ge 1 ] && systemctl is-active -q remuda-node; }

@test "the daemon is killed: systemd starts it again, and the job goes on" {
    begun --mem=60 -c1 'until [ -e go ]; do sleep 0.2; done; echo over'
    systemctl kill -s KILL --kill-whom=main remuda-node
    eventually began_again
    systemctl is-active remuda-node
    touch go
    eventually is "$id" COMPLETED
    [ "$(cat out)" = over ]
}

@test "stopped with a job running: the job ends by itself and is told of later; stopped with none running: nothing is left" {
    begun --mem=60 -c1 'until [ -e go ]; do sleep 0.2; done; echo over'
    systemctl stop remuda-node
    touch go
    eventually grep -q over out
    systemctl start remuda-node
    eventually is "$id" COMPLETED
    eventually idle
    systemctl stop remuda-node
    eventually no_scope
    [ -z "$(pgrep -f '^sleep infinity')" ]
    systemctl start remuda-node
    eventually idle
    [ -n "$(scope)" ]
}

# as_ann COMMAND…: in her user manager's realm.
as_ann() { setpriv --reuid=4242 --regid=4242 --clear-groups env -u REMUDA_STATE HOME=/tmp/ann USER=ann XDG_RUNTIME_DIR=/run/user/4242 REMUDA_STATE=/tmp/ann/state PATH="$PATH" "$@" 3>&-; }
ann_is() { [[ "$(as_ann sacct -X -n -P -o State)" == $1 ]]; }
in_scope() { as_ann systemd-run --user --scope --quiet -p Delegate=yes "$@"; }

@test "an ordinary user in a delegated scope: what systemd delegated is enforced, what it did not is said" {
    systemctl is-active user@4242.service
    cat "/sys/fs/cgroup/user.slice/user-4242.slice/user@4242.service/cgroup.controllers"
    in_scope remuda up -q --nodes 1 --cpus 2 --mem 1000
    run as_ann remuda status
    echo "$output"
    as_ann sh -c 'cd && sbatch -W -o out -e err --mem=60 --wrap "cat /proc/self/cgroup; python3 -c \"x = bytearray(300 << 20)\"; exit 3"' || true
    cat /tmp/ann/out /tmp/ann/err
    as_ann sacct -X -n -P -o State | grep -q OUT_OF_MEMORY
    [[ "$(cat /tmp/ann/out)" =~ ^0::/user.slice/user-4242.slice/user@4242.service/ ]]
    [[ "$output" =~ "enforced by cgroup v2: memory, swap, number of processes, the end of all processes" ]]
    [[ "$output" =~ "jobs are kept on their cores by affinity only (the cpuset controller is not delegated to /user.slice/user-4242.slice/user@4242.service/" ]]
    [[ "$output" =~ "devices of other jobs are not hidden" ]]
    [[ ! "$(cat /tmp/ann/err)" =~ "cannot enter" ]]
    as_ann remuda down
    rm -rf /tmp/ann/state /tmp/ann/out /tmp/ann/err
}

@test "an ordinary user without a delegated group: one sentence for each thing that is missing" {
    as_ann remuda up -q
    run as_ann remuda status
    as_ann remuda down
    echo "$output"
    [[ "$output" =~ "jobs are kept on their cores by affinity only (".*"): programs can change it; memory is not limited by the kernel (".*"): jobs over their memory are found by sampling and ended; devices of other jobs are not hidden (that takes root); the number of processes is not limited (".*"); processes of a job are found by descent to end them (" ]]
    rm -rf /tmp/ann/state
}

@test "an ordinary user to whom cores are delegated, too: they are enforced; a job goes on over remuda down and up, and its next step joins it" {
    mkdir -p /etc/systemd/system/user@.service.d
    printf '[Service]\nDelegate=cpu cpuset io memory pids\n' >/etc/systemd/system/user@.service.d/delegate.conf
    systemctl daemon-reload
    systemctl restart user@4242.service
    in_scope remuda up -q
    run as_ann remuda status
    echo "$output"
    [[ "$output" =~ "enforced by cgroup v2: cores, memory, swap, number of processes, the end of all processes; devices of other jobs are not hidden (that takes root)"($'\n'|$) ]]
    cat >/tmp/ann/job <<'S'
#!/bin/bash
cat /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cpuset.cpus.effective
until [ -e go ]; do sleep 0.2; done
srun -n1 --mem=30 sed -n 's/^0:://p' /proc/self/cgroup >step
python3 -c 'x = bytearray(300 << 20)'
exit 3
S
    as_ann sh -c 'cd && sbatch --no-requeue --parsable -o out -e err -c1 --mem=60 job'
    eventually grep -q . /tmp/ann/out
    as_ann remuda down
    in_scope remuda up -q
    touch /tmp/ann/go
    eventually ann_is OUT_OF_ME*
    cat /tmp/ann/err
    [[ "$(cat /tmp/ann/out)" =~ ^[01]$ ]]
    [[ "$(cat /tmp/ann/step)" == */user@4242.service/*/1.1/1.1.0 ]]
    [[ ! "$(cat /tmp/ann/err)" =~ "cannot enter" ]]
    as_ann remuda down
}
