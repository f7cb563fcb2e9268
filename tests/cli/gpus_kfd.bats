#!/usr/bin/env bats
# AMD's GPUs as the kernel's files tell of them (tests/fake/amd_tree.c): found, given, looked at, sampled, and what happens to them. No library is there.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-kfd-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_RSMI=/nowhere/librocm_smi64.so REMUDA_KFD="$TOP/kfd" REMUDA_SYS="$TOP/sys" REMUDA_GPU_PERCENT=20
    chmod 755 "$TOP"
    cc -DAMD_TREE_PROGRAM -o "$TOP/tree" "$BATS_TEST_DIRNAME/../fake/amd_tree.c"
    "$TOP/tree" "$TOP/sys" mi300x mi300x mi210
    mknod -m 666 "$TOP/kfd" c 239 7 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
    for minor in 128 129 130; do mknod -m 666 "$TOP/renderD$minor" c 226 "$minor"; done
    cat >"$TOP/seen" <<'S'
#!/bin/sh
for file in kfd renderD128 renderD129 renderD130; do
    (: <"$(dirname "$0")/$file") 2>&1 | grep -q "Operation not permitted" || printf '%s ' "$file"
done
echo "| $ROCR_VISIBLE_DEVICES | $SLURM_JOB_GPUS"
S
    for minor in 1 2 3; do mknod -m 666 "$TOP/card$minor" c 226 "$minor"; done
    sed 's/^for file in .*;/for file in card1 card2 card3;/' "$TOP/seen" >"$TOP/cards"
    chmod 755 "$TOP/cards"
    # works GPU MIB PERCENT SECONDS: as if this process computed there
    cat >"$TOP/works" <<'S'
#!/bin/sh
mine=sys/class/kfd/kfd/proc/$$
mkdir -p "$mine/queues/0"
for gpu in 0 1 2; do echo 0 >"$mine/vram_100$gpu"; done
echo $(($2 << 20)) >"$mine/vram_100$1"
echo "100$1" >"$mine/queues/0/gpuid"
echo "$3" >"sys/bus/pci/devices/0000:4$(($1 + 1)):00.0/gpu_busy_percent"
sleep "$4"
rm -rf "$mine"
echo 0 >"sys/bus/pci/devices/0000:4$(($1 + 1)):00.0/gpu_busy_percent"
S
    chmod 755 "$TOP/works"
    devices_up
    echo "JobAcctGatherFrequency=1" >>"$REMUDA_STATE/remuda.conf"
    and_found scontrol reconfigure
}

BUS1=sys/bus/pci/devices/0000:42:00.0
BUS2=sys/bus/pci/devices/0000:43:00.0
KFD=sys/class/kfd/kfd
# of JOB.STEP COLUMN
of() { sacct -n -P -j "$1" -o "jobid,$2" | sed -n "s/^$1|//p"; }

@test "a node with AMD's driver and no library has its GPUs, and says nothing against them" {
    [ "$(sinfo -h -o %G)" = "gpu:mi300x:2,gpu:mi210:1" ]
    [ -z "$(sinfo -h -R)" ]
    run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"# gpu 2: mi210, 65536 MiB, GPU-000000000000abc2, PCI 0000:43:00.0, NUMA node 0, near CPUs 0"* ]]
    id=$(sbatch --parsable --mem=100 -c1 --gpus=mi210:1 -o one.out --wrap './seen')
    over "$id"
    [ "$(cat one.out)" = "kfd renderD130 | 0 | 2" ]
}

@test "files for displays of AMD GPUs are hidden as their others are" {
    id=$(sbatch --parsable --mem=100 -c1 --gpus=mi210:1 -o own.out --wrap './cards')
    none=$(sbatch --parsable --mem=100 -c1 -o none.out --wrap './cards')
    over "$id"
    over "$none"
    [ "$(cat own.out)" = "card3 | 0 | 2" ]
    grep -q "^|" none.out
}

@test "what steps use of AMD GPUs is in sacct: the memory of their processes, and how busy the GPUs are" {
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:mi300x:2 -o used.out --wrap 'srun -n1 --mem=50 --gres=gpu:mi300x:2 sh -c "./works 0 2048 80 3 & ./works 1 1024 40 3 & wait"; srun -n1 --mem=50 --gres=gpu:mi300x:1 sleep 1.5')
    until_true sh -c "sstat -n -P -j $id.0 -o tresusageinmax | grep -q 'gres/gpumem=3G,gres/gpuutil=120'"
    for _ in 1 2 3; do over "$id" && break; done
    [[ "$(of "$id.0" tresusageinmax)" == *",gres/gpumem=3G,gres/gpuutil=120,mem="* ]]
    [[ "$(of "$id.1" tresusageinmax)" == *",gres/gpumem=0,gres/gpuutil=0,mem="* ]]
}

@test "what a step used of AMD GPUs stands though the daemon that saw it was killed, and no later one looked" {
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:mi300x:1 -o /dev/null --wrap './works $SLURM_JOB_GPUS 2048 80 3600 & while ! test -e enough; do sleep 0.1; done; kill $!')
    until_late sh -c "sacct -n -P -j $id.batch -o tresusageinmax | grep -q 'gres/gpumem=2G,gres/gpuutil=80'"
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    touch enough
    sleep 1
    rm -rf "$KFD"/proc/*
    echo 0 | tee sys/bus/pci/devices/*/gpu_busy_percent >/dev/null
    remuda up -q 3>&-
    over "$id" || over "$id"
    [[ "$(of "$id.batch" tresusageinmax)" == *",gres/gpumem=2G,gres/gpuutil=80,mem="* ]]
}

@test "each AMD GPU of a job has its curve: sensors, the driver's table, XGMI; what is not told is absent" {
    for gpu in 1 2; do
        bus=sys/bus/pci/devices/0000:4$gpu:00.0
        mkdir -p "$bus/hwmon/hwmon$gpu"
        echo 31 >"$bus/mem_busy_percent"
        echo 425060000 >"$bus/hwmon/hwmon$gpu/power1_average"
        for row in temp1:junction:61000 freq1:sclk:1700000000; do
            IFS=: read -r what label value <<<"$row"
            echo "$label" >"$bus/hwmon/hwmon$gpu/${what}_label"
            echo "$value" >"$bus/hwmon/hwmon$gpu/${what}_input"
        done
    done
    # gpu_metrics 1.4: video engines, and counters of a link that grow by 2000 and 500 KiB a second.
    cat >table.py <<'P'
import os, struct, sys, time
begun = time.time()
while time.time() < begun + float(sys.argv[1]):
    table = bytearray(b"\xff" * 296)
    n = int((time.time() - begun) * 2)
    table[0:4] = struct.pack("<HBB", 296, 1, 4)
    table[16:18] = struct.pack("<H", 12)
    table[104:112] = struct.pack("<Q", 1000 * n)
    table[168:176] = struct.pack("<Q", 250 * n)
    for gpu in (1, 2):
        path = f"sys/bus/pci/devices/0000:4{gpu}:00.0/gpu_metrics"
        with open(path + ".new", "wb") as f:
            f.write(table)
        os.rename(path + ".new", path)
    time.sleep(0.1)
P
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:mi300x:1 -o /dev/null --wrap './works $SLURM_JOB_GPUS 2048 80 8 & python3 table.py 8; wait')
    over "$id" || over "$id"
    remuda plot "$id" --csv=nounits >curve.csv
    python3 - <<'P'
import csv
rows = list(csv.DictReader(open("curve.csv"), skipinitialspace=True))
assert len(rows) >= 4, rows
assert {r["name"] for r in rows} == {"mi300x"} and len({r["index"] for r in rows}) == 1, rows
def has(title, least, most=None):
    told = [float(r[title]) for r in rows if r[title] != "[N/A]"]
    assert any(least <= v <= (most or least) for v in told), (title, told)
has("utilization.gpu [%]", 80)
has("utilization.memory [%]", 31)
has("power.draw [W]", 425.0, 425.2)
has("temperature.gpu", 61)
has("clocks.current.sm [MHz]", 1700)
has("utilization.decoder [%]", 12)
has("nvlink.rx [KiB/s]", 1000, 3500)
has("nvlink.tx [KiB/s]", 250, 900)
has("ecc.errors.uncorrected.volatile.total", 0)
assert "clocks.current.memory [MHz]" not in rows[0] and "clocks_event_reasons.active" not in rows[0], rows[0]
P
    rm -f sys/bus/pci/devices/*/gpu_metrics
}

@test "a process that stays and memory that does not come back keep an AMD GPU out of use" {
    setsid sh -c 'REMUDA_STEP_DIR=/x SLURM_JOB_ID=78 exec sleep 60' 3>&- &
    pid=$!
    mkdir -p "$KFD/proc/$pid"
    echo 1048576 >"$KFD/proc/$pid/vram_1001"
    echo $((9000 << 20)) >"$BUS2/mem_info_vram_used"
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:3 --wrap 'true') || id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:mi300x:2,gpu:mi210:1 --wrap 'true')
    over "$id"
    until_late shows "DeviceOut=gpu:1 NOT_CLEAN .*process $pid .sleep. of job 78 still holds it"
    until_late shows "DeviceOut=gpu:2 NOT_CLEAN .*9000 MiB of its memory"
    shows_not "DeviceOut=gpu:0"
    kill "$pid"
    rm -rf "$KFD/proc/$pid"
    echo $((10 << 20)) >"$BUS2/mem_info_vram_used"
    until_late shows_not DeviceOut
}

@test "new memory errors in any block take a GPU out" {
    printf 'ue: 3\nce: 9\n' >"$BUS1/ras/mmhub_err_count"
    until_late shows "DeviceOut=gpu:1 BROKEN .*3 new uncorrectable memory errors"
    and_found scontrol update nodename=ALL state=resume
    until_late shows_not DeviceOut
}

@test "a GPU that the driver lets go is out, and comes back by itself" {
    mv "$KFD/topology/nodes/3" gone
    until_late shows "DeviceOut=gpu:2 .*its driver does not list it any more"
    mv gone "$KFD/topology/nodes/3"
    until_late shows_not DeviceOut
    # Who was told that it is gone need not say twice that he knows.
    mv "$KFD/topology/nodes/3" gone
    until_late shows "DeviceOut=gpu:2 .*its driver does not list it any more"
    scontrol update nodename=ALL state=resume
    until_true shows "Gres=gpu:mi300x:2( |$)"
    [ -z "$(sinfo -h -R)" ]
    mv gone "$KFD/topology/nodes/3"
    scontrol reconfigure
    until_true shows "Gres=gpu:mi300x:2,gpu:mi210:1"
    until_late shows_not DeviceOut
}

@test "a GPU whose driver hangs is out, the others are not" {
    mv "$BUS1/gpu_busy_percent" busy
    mkfifo "$BUS1/gpu_busy_percent"
    until_late shows "DeviceOut=gpu:1 .*its driver does not answer"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=mi210:1 -o other.out --wrap './seen')
    over "$id"
    [ "$(cat other.out)" = "kfd renderD130 | 0 | 2" ]
    shows_not "DeviceOut=gpu:[02]"
    fifo=$BUS1/gpu_busy_percent
    mv "$fifo" old
    mv busy "$fifo"
    echo 0 >old
    rm -f old
    until_late shows_not DeviceOut
}
