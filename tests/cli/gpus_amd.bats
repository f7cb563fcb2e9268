#!/usr/bin/env bats
# AMD's GPUs, as a fake ROCm SMI tells of them: types, files, variables, and what happens to them.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-amd-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_RSMI="$TOP/rsmi.so" REMUDA_FAKE_AMD="$TOP/gpus" REMUDA_KFD="$TOP/kfd" REMUDA_SYS="$TOP/sys" REMUDA_GPU_PERCENT=20
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/rsmi.so" "$BATS_TEST_DIRNAME/../fake/rsmi.c"
    : >"$TOP/gpus"
    mknod -m 666 "$TOP/kfd" c 239 7 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
    for minor in 128 129 130; do mknod -m 666 "$TOP/renderD$minor" c 226 "$minor"; done
    cat >"$TOP/seen" <<'S'
#!/bin/sh
# The files that are not forbidden (no driver answers, or one without such a device).
for file in kfd renderD128 renderD129 renderD130; do
    (: <"$(dirname "$0")/$file") 2>&1 | grep -q "Operation not permitted" || printf '%s ' "$file"
done
echo "| $ROCR_VISIBLE_DEVICES | $HIP_VISIBLE_DEVICES | $SLURM_JOB_GPUS"
S
    devices_up
}

@test "AMD's GPUs are found with memory, address and links" {
    [ "$(sinfo -h -o %G)" = "gpu:mi250x:2,gpu:mi210:1" ]
    run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"# gpu 0: mi250x, 65536 MiB, GPU-000000000000abc0, PCI 0000:40:00.0"*"linked with 1"* ]]
}

@test "a job opens the render nodes of its own GPUs and kfd, numbered from 0; one without GPUs opens none" {
    first=$(sbatch --parsable --mem=100 -c1 --gres=gpu:mi250x:1 -o first.out --wrap './seen; sleep 30')
    for _ in $(seq 300); do [ -s first.out ] && break; sleep 0.1; done
    second=$(sbatch --parsable --mem=100 -c1 --gpus=mi210:1 -o second.out --wrap './seen')
    over "$second"
    [ "$(head -1 first.out)" = "kfd renderD128 | 0 | 0 | 0" ]
    [ "$(cat second.out)" = "kfd renderD130 | 0 | 0 | 2" ]
    id=$(sbatch --parsable --mem=100 -c1 -o none.out --wrap './seen')
    over "$id"
    [ "$(cat none.out)" = "| NoDevFiles |  | " ]
    scancel "$first"
    over "$first"
}

@test "the curve of an AMD GPU by ROCm SMI; while a call hangs it has a gap, and the job goes on" {
    told='rate 2 65
membusy 2 31
milliwatts 2 300000
celsius 2 58 71
table 2 12 1700
slowed 2 1'
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:mi210:1 --acctg-freq=1 -o /dev/null --wrap 'sleep 14')
    until_true sh -c "squeue -h -j $id -o %T | grep -qx RUNNING"
    echo "$told" >gpus.new
    mv gpus.new gpus
    until_true sh -c "[ \$(remuda plot $id --csv=nounits 2>/dev/null | grep -c ', 1700') -ge 2 ]"
    printf '%s\nrsmi_dev_busy_percent_get 2 9999\n' "$told" >gpus.new
    mv gpus.new gpus
    over "$id" || over "$id"
    remuda plot "$id" --csv=nounits >curve.csv
    : >gpus
    python3 - <<'P'
import csv
rows = [r for r in csv.DictReader(open("curve.csv"), skipinitialspace=True) if r["clocks.current.sm [MHz]"] == "1700"]
for title, value in {"utilization.gpu [%]": 65, "utilization.memory [%]": 31, "memory.total [MiB]": 65536, "power.draw [W]": 300, "temperature.gpu": 58, "temperature.memory": 71,
                     "utilization.decoder [%]": 12}.items():
    assert float(rows[-1][title]) == value, (title, rows[-1])
assert rows[-1]["clocks_event_reasons.active"] == "0x0000000000000004", rows[-1]
P
    until_late shows_not DeviceOut
}

@test "memory that does not come back and a process that stays keep an AMD GPU out of use" {
    setsid sh -c 'REMUDA_STEP_DIR=/x SLURM_JOB_ID=78 exec sleep 60' 3>&- &
    pid=$!
    printf 'used 0 9000\nprocess 1 %s 10\n' "$pid" >gpus
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:3 --wrap 'true') || id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:mi250x:2 --wrap 'true')
    over "$id"
    until_true shows "DeviceOut=gpu:0 NOT_CLEAN .*9000 MiB of its memory"
    shows "DeviceOut=gpu:1 NOT_CLEAN .*process $pid .sleep. of job 78 still holds it"
    kill "$pid"
    : >gpus
    until_true shows_not DeviceOut
}

@test "new memory errors take a device out; one that does not answer is suspect as long as that lasts; a busy library says nothing" {
    printf 'ecc 1 3\nrsmi_dev_busy_percent_get 2 3\nrsmi_dev_busy_percent_get 0 16\nrsmi_dev_memory_usage_get 0 16\n' >gpus
    until_late shows "DeviceOut=gpu:1 BROKEN .*3 new uncorrectable memory errors"
    until_late shows "DeviceOut=gpu:2 NOT_CLEAN .*rsmi_dev_busy_percent_get: ROCm SMI answers 3 .RSMI_STATUS_FILE_ERROR."
    shows_not "DeviceOut=gpu:0"
    : >gpus
    until_late shows_not "DeviceOut=gpu:2"
    scontrol update nodename=ALL state=resume
    until_late shows_not DeviceOut
}
