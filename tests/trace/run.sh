#!/bin/sh
# A run gives the same bytes twice, replays what it is told to, and refuses what it does not know. Usage: run.sh REMUDA_SIM; prints TAP.
sim=$1 here=$(dirname "$0") n=0 bad=0
is() { # WHAT GOT WANTED
    n=$((n + 1))
    if [ "$2" = "$3" ]; then echo "ok $n - $1"; else echo "not ok $n - $1: got '$2', wanted '$3'"; bad=1; fi
}
t=$here/m6-random400.swf
is "same input, same bytes" "$($sim run --untimed --json "$t")" "$($sim run --untimed --json "$t")"
is "starts have a line a job" "$($sim run --untimed --starts /dev/stderr "$t" 2>&1 >/dev/null | wc -l)" 401
is "a part of the jobs" "$($sim run --untimed --json --jobs 11..20 "$t" | grep -o '"jobs": [0-9]*')" '"jobs": 10'
is "wide jobs are counted" "$($sim run --untimed --json --machine 1 "$here/m1-tie.swf" | grep -o '"wide": [0-9]*')" '"wide": 7'
is "shaken differently" "$($sim run --untimed --json --shake 1,60 "$t" | grep -c "$($sim run --untimed --json "$t" | grep -o 'schedule": "[0-9a-f]*')")" 0
is "an unknown policy is refused" "$($sim run --policy sjff "$t" 2>&1 >/dev/null | grep -c sjff)" 1
is "an unknown estimate is refused" "$($sim run --estimates factor:0 "$t" 2>&1 >/dev/null | grep -c 'factor:N')" 1
is "the order is a setting" "$($sim run --untimed --json --set SchedulerParameters=order=sjf "$t" | grep -o 'schedule": "[0-9a-f]*')" \
    "$($sim run --untimed --json --policy sjf "$t" | grep -o 'schedule": "[0-9a-f]*')"
# ---- workloads that are made ----
is "a made workload is the same each time" "$($sim run --untimed --json made:all,jobs=300)" "$($sim run --untimed --json made:all,jobs=300)"
is "with another seed it is another" "$($sim run --untimed --json made:all,jobs=300,seed=2 | grep -c "$($sim run --untimed --json made:all,jobs=300 | grep -o 'schedule": "[0-9a-f]*')")" 0
is "a kind that is not there is refused" "$($sim run made:bach 2>&1 >/dev/null | grep -c 'made:bach: there is no such made workload')" 1
is "a value that cannot be is named" "$($sim run made:all,load=none 2>&1 >/dev/null | grep -c "'load=none' of a made workload: procs=N")" 1
is "gates are printed one by one" "$($sim score --workload made:all,jobs=200 --workload "$t" | grep -Ec '^S10 .*slowdown x [0-9.]+, longest [0-9.]+ (pass|FAIL), p99 [0-9.]+ (pass|FAIL), area [0-9.]+ (pass|FAIL)$')" 2
is "EASY against itself passes" "$($sim score --policy easy --workload made:all,jobs=200 | grep -c 'slowdown x 1.000, longest 1.000 pass, p99 1.000 pass, area 1.000 pass$')" 1
is "a stream of another seed has its own gate" "$($sim score --workload made:full-width,seed=5,procs=8 | grep -Ec '^S11 full-width,seed=5,procs=8 .*longest of them, s [0-9.]+ (pass|FAIL)$')" 1
# In builds with tests the planner asks the slow way, too, whether any of these could start earlier, or now if that is put off.
is "on several nodes no promise moves later" "$($sim run --untimed --json --machine 15x16 --set SchedulerParameters=promises=all --jobs 1..2500 \
    made:batch,procs=240,jobs=34000,users=200,seed=20500001,load=0.9 | grep -Ec '"made": [0-9]{5,}, "moved_later": 0}')" 1
# ---- pack: 2 nodes of 4 GPUs; tasks of a whole GPU and 12 CPUs, of a quarter and 1 CPU. ----
d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT
printf 'model,gpu,memory_mib,cpu_milli,sn\nA,4,65536,48000,n1\nB,4,65536,48000,n2\nB,0,65536,48000,n3\n' >"$d/nodes.csv"
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,12000,1024,1,1000,\nb,1000,1024,1,250,\nc,1000,1024,1,250,A|B\n' >"$d/tasks.csv"
is "pack reads its tables by their columns" "$($sim pack --json --machine "$d/nodes.csv" "$d/tasks.csv" | cut -c1-54)" '{"nodes": 2, "gpus": 8, "tasks": 3, "kinds": 3, "seeds'
is "all that fits is packed" "$($sim pack --json --seeds 3 --machine "$d/nodes.csv" "$d/tasks.csv" | grep -Eo 'least_lost": \{"percent": (9[0-9]|100)' | wc -l)" 1
printf 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1x,1024,1,1000\n' >"$d/wrong.csv"
is "a wrong cell is named" "$($sim pack --machine "$d/nodes.csv" "$d/wrong.csv" 2>&1 | grep -c "line 2: cpu_milli is '1x'")" 1
printf 'name,cpu_milli\na,1000\n' >"$d/short.csv"
is "a missing column is named" "$($sim pack --machine "$d/short.csv" "$d/tasks.csv" 2>&1 | grep -c "short.csv.*memory_mib")" 1
printf 'name,cpu_milli,memory_mib,gpu\na,1000\n' >"$d/short.csv"
is "a line that is too short is named" "$($sim pack --machine "$d/short.csv" "$d/tasks.csv" 2>&1 | grep -c "line 2 has 2 cells")" 1
is "a command that is not there is refused with the nearest" "$($sim pakc 2>&1 | grep -c "did you mean pack?")" 1
echo "1..$n"
exit $bad
