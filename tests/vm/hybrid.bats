#!/usr/bin/env bats
# In a virtual machine that systemd runs as it did for years: controllers in version 1, version 2 beside them without any.
bats_require_minimum_version 1.5.0
load under_systemd

@test "version 1 holds jobs to what they have, version 2 ends them" {
    eventually idle
    run remuda status
    echo "$output"
    [[ "$output" =~ "enforced by cgroup v1: cores, memory, swap, devices, number of processes; enforced by cgroup v2: the end of all processes"($'\n'|$) ]]
}

@test "systemctl restart: the job goes on, is found again and is still held; nothing is left of it" {
    begun --mem=60 -c1 'cat /proc/self/cgroup; until [ -e go ]; do sleep 0.2; done; srun -n1 --mem=30 cat /proc/self/cgroup >step; python3 -c "x = bytearray(300 << 20)"; exit 3'
    systemctl daemon-reload
    systemctl restart remuda-node
    systemctl is-active remuda-node
    kill -0 "$(cat pid)"
    eventually answers
    touch go
    eventually is "$id" OUT_OF_ME*
    cat out err step
    for which in memory cpuset pids; do
        grep -Eq ":([a-z_,]*,)?$which(,[a-z_]*)?:/(.*/)?remuda\.vm\.[0-9a-f]+/$id\.1/$id\.1\.batch$" out
        grep -Eq ":([a-z_,]*,)?$which(,[a-z_]*)?:/(.*/)?remuda\.vm\.[0-9a-f]+/$id\.1/$id\.1\.0$" step
    done
    grep -Eq "process [0-9]+ \(python3, [3-6][0-9] MiB\) was ended" err
    eventually no_groups "$id"
}

no_groups() { [ -z "$(find /sys/fs/cgroup -path "*/remuda.*/$1.*")" ]; }
