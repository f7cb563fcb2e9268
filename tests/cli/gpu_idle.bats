#!/usr/bin/env bats
# Jobs that do not use their GPUs (GpuIdle), and what all that is sampled sums up to: energy, utilisation. Through real daemons, on a fake NVML and a made /sys.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-idle-XXXXXX)
    export TOP REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_SYS="$TOP/sys"
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    # Of the machine's processors: a package that counts, its cores, which it counts too, and what has all.
    for zone in 0:package-0 0:0:core 1:psys; do
        dir="$TOP/sys/class/powercap/intel-rapl:${zone%:*}"
        mkdir -p "$dir"
        echo "${zone##*:}" >"$dir/name"
        echo 1000000 >"$dir/energy_uj"
        echo 262143328850 >"$dir/max_energy_range_uj"
    done
    echo "machine a100x4" >"$TOP/gpus.idle"
    {
        echo "machine a100x4"
        for gpu in 0 1 2 3; do printf 'rate %s 50\nmw %s 200000\nenergy %s 1\n' $gpu $gpu $gpu; done
    } >"$TOP/gpus.work"
    cp "$TOP/gpus.idle" "$TOP/gpus"
    printf '#!/bin/sh\n{ echo "$@"; cat; } >>"%s"\n' "$TOP/mails" >"$TOP/mail"
    cat >"$TOP/are" <<'S'
#!/bin/sh
# are WHAT: from now on the GPUs are so
cp "$TOP/gpus.$1" "$TOP/gpus.new"; mv "$TOP/gpus.new" "$TOP/gpus"
S
    chmod 755 "$TOP/mail" "$TOP/are"
    cluster <<< "JobAcctGatherFrequency=1
HeartbeatInterval=1
KillWait=1
MailProg=$TOP/mail
NodeName=$(hostname -s) CPUs=4 RealMemory=2000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES GpuIdle=warn:2s,notify:3s,cancel:5s,grace:0,interactive:0
PartitionName=back Nodes=ALL GpuIdle=warn:2s,requeue:4s,grace:0
PartitionName=free Nodes=ALL"
    cd "$WORK"
}

setup() { cd "$WORK"; "$TOP/are" idle; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

is_over() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
of() { sacct -n -P -j "$1" -o "jobid,$2" | sed -n "s/^$1|//p"; }

@test "who does not use his GPU is warned, told by mail and cancelled, and the accounting says why" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:2 -J lazy -o lazy.out --wrap 'sleep 120')
    eventually is_over "$id"
    [[ "$(sacct -n -P -X -j "$id" -o state,reason)" == "CANCELLED|GpuIdle" ]]
    [[ "$(sacct -n -P -X -j "$id" -o systemcomment)" == "run 1 was ended by GpuIdle: its 2 GPUs have done nothing for 00:00:"* ]]
    [ "$(grep -c 'its 2 GPUs have done nothing for' lazy.out)" -ge 1 ]
    grep -q 'after 00:00:05 it is cancelled (GpuIdle of partition main)' lazy.out
    grep -q 'DUE TO IDLE GPUS' lazy.out
    eventually grep -q "Job_id=$id Name=lazy GPUs idle" "$TOP/mails"
    remuda why "$id" | grep -q 'its 2 GPUs have done nothing'
}

@test "salloc without a step hears it on its terminal, before and when it is ended" {
    run salloc -K --mem=100 -c1 --gres=gpu:2 sleep 600
    id=$(grep -oE 'allocation [0-9]+' <<<"$output" | head -1 | grep -oE '[0-9]+')
    [[ "$output" == *"salloc: job $id: its 2 GPUs have done nothing for 00:00:"*"it is cancelled (GpuIdle of partition main)"* ]]
    [[ "$output" == *"allocation $id has been revoked"* ]]
    [[ "$(sacct -n -P -X -j "$id" -o state,reason)" == "CANCELLED|GpuIdle" ]]
}

@test "who uses it is left alone" {
    "$TOP/are" work
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 -o busy.out --wrap 'sleep 9')
    eventually is_over "$id"
    [ "$(sacct -n -P -X -j "$id" -o state)" = COMPLETED ]
    [ ! -s busy.out ]
}

@test "sent back to the queue, where the partition says so; the run that was ended has its row" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 -p back -o back.out --wrap 'echo began; sleep 120')
    back() { [ "$(sacct -n -P -X -D -j "$1" -o state | head -1)" = REQUEUED ]; }
    eventually back "$id"
    [[ "$(sacct -n -P -X -j "$id" -o systemcomment)" == *"GpuIdle of partition back"* ]]
    scancel "$id"
}

@test "report --idle, squeue and why show it while it lasts; nothing is done without a policy" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 -p free -J quiet -o quiet.out --wrap 'sleep 120')
    listed() { remuda report --idle | grep -qE "^$1 .* free +1 +00:00:"; }
    eventually listed "$id"
    [[ "$(squeue -h -j "$id" -O GpuIdle)" == 00:00:* ]]
    [[ "$(remuda why "$id")" == *"its GPU has done nothing for 00:00:"* ]]
    remuda report --idle --json | python3 -c '
import json, sys
(job,) = [j for j in json.load(sys.stdin)["jobs"] if j["job_id"] == '"$id"']
assert job["gpus"] == 1 and job["idle_s"] > 0 and job["partition"] == "free", job'
    "$TOP/are" work
    works() { [ "$(squeue -h -j "$1" -O GpuIdle | xargs)" = N/A ]; }
    eventually works "$id"
    ! remuda report --idle | grep -q "^$id " || false
    scancel "$id"
    [ ! -s quiet.out ] || ! grep -q 'done nothing' quiet.out || false
}

@test "what GpuIdle cannot be is refused by name; scontrol and sacctmgr set it" {
    scontrol show partition back | grep -q 'GpuIdle=warn:2s,requeue:4s,grace:0'
    run ! scontrol update PartitionName=back GpuIdle=cancel:1h
    [[ "$output" == *"warn or notify"* ]]
    scontrol update PartitionName=back GpuIdle=warn:1h
    scontrol show partition back | grep -q 'GpuIdle=warn:1h'
    sacctmgr -i add qos thrifty GpuIdle=warn:30m,cancel:2h >/dev/null
    [ "$(sacctmgr -n -P show qos thrifty format=GpuIdle)" = warn:30m,cancel:2h ]
    sacctmgr -i modify qos thrifty set GpuIdle=none >/dev/null
    [ "$(sacctmgr -n -P show qos thrifty format=GpuIdle)" = none ]
    run ! sacctmgr -i modify qos thrifty set GpuIdle=warn:30
    [[ "$output" == *"unit s, m, h or d"* ]]
}

@test "energy and utilisation in sacct are those of the curves" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 -p free -o sum.out --wrap "$TOP/are work; sleep 8; $TOP/are idle")
    eventually is_over "$id"
    whole() { remuda plot "$id" --csv=nounits 2>/dev/null >csv && [ "$(grep -c ' 200.00' csv)" -ge 3 ]; }
    eventually whole
    sacct -P -j "$id" -o jobid,tresusageinmax,consumedenergyraw # for who reads a failure
    [[ "$(of "$id.batch" tresusageinmax)" == *",gres/gpuutil=50,mem="* ]]
    [[ "$(of "$id.batch" tresusageinmin)" == *",gres/gpuutil="* ]]
    of "$id.batch" tresusageinave,tresusageintot,consumedenergyraw,elapsedraw >sums
    of "$id" consumedenergyraw >job
    python3 - <<'P'
import csv
rows = list(csv.DictReader(open("csv"), skipinitialspace=True))
util = [float(r["utilization.gpu [%]"]) for r in rows]
watts = [float(r["power.draw [W]"]) for r in rows if r["power.draw [W]"] not in ("", "[N/A]")]
ave, tot, joules, elapsed = open("sums").read().strip().split("|")
told = int(ave.split("gres/gpuutil=")[1].split(",")[0])
assert max(util) == 50 and abs(told - sum(util) / len(util)) <= 20, (told, util)
assert max(watts) == 200, watts
assert 0.3 * 200 * 8 <= int(joules) <= 1.2 * 200 * int(elapsed), (joules, elapsed)
assert "energy=%s," % joules in tot, tot
assert int(open("job").read()) == int(joules)
P
}

@test "its part of the energy of the processors, and their clock" {
    [ "$(id -u)" = 0 ] || chmod 666 "$TOP"/sys/class/powercap/*/energy_uj
    id=$(sbatch --parsable --mem=100 -c1 -p free -o cpu.out --wrap "python3 -c '
import time
zone = \"$TOP/sys/class/powercap/intel-rapl:0/energy_uj\"
for i in range(1, 30):
    t = time.time()
    while time.time() - t < 0.2: pass
    open(zone, \"w\").write(str(1000000 + i * 1000000000))'")
    eventually is_over "$id"
    # 29000 J in all: of other processes' work it has no part.
    joules=$(of "$id.batch" consumedenergyraw)
    [ "$joules" -gt 0 ]
    [ "$joules" -le 29000 ]
    [[ "$(of "$id.batch" consumedenergy)" =~ ^[0-9.]+K?$ ]]
    [[ "$(of "$id.batch" avecpufreq)" =~ ^[0-9.]+[KM]?$ ]]
}

@test "DisableGPUAcct: no figures, no curves, nobody is idle" {
    echo "JobAcctGatherParams=DisableGPUAcct" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 -o none.out --wrap 'sleep 8')
    eventually is_over "$id"
    [ "$(sacct -n -P -X -j "$id" -o state)" = COMPLETED ]
    [[ "$(of "$id.batch" tresusageinmax)" != *gres* ]]
    ! remuda plot "$id" --csv 2>/dev/null | head -1 | grep -q utilization.gpu || false
}
