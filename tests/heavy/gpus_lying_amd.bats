#!/usr/bin/env bats
# ROCm SMI that says what cannot be, or does not come back, about one GPU while jobs run: nothing of it is drawn, added up or told, the other GPUs have their
# curves as before, and the node's daemon goes on.
bats_require_minimum_version 1.5.0
load ../cli/devices

setup_file() {
    export WHY_NOT=
    TOP=$(mktemp -d /tmp/remuda-lying-amd-XXXXXX)
    # What does not answer is waited for for as long as elsewhere; the clock of what is looked at runs five times as fast.
    export TOP REMUDA_STATE="$TOP/state" REMUDA_RSMI="$TOP/rsmi.so" REMUDA_FAKE_AMD="$TOP/gpus" REMUDA_KFD=/dev/full REMUDA_SYS="$TOP/sys" REMUDA_GPU_PERCENT=20
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/rsmi.so" "$BATS_TEST_DIRNAME/../fake/rsmi.c"
    well >"$TOP/gpus"
    mkdir -p "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf" <<C
JobAcctGatherFrequency=1
NodeName=$(hostname -s) CPUs=4 RealMemory=2000 Gres=gpu:mi250x:2,gpu:mi210:1
PartitionName=main Nodes=ALL Default=YES
C
    remuda up -q 3>&-
}

# What is told of all three when nothing is wrong.
well() { for gpu in 0 1 2; do told $gpu 45 30 200000 60 12 1700; done; echo "ecc 2 5"; }
told() { printf 'rate %s %s\nmembusy %s %s\nmilliwatts %s %s\ncelsius %s %s %s\ntable %s %s %s\n' "$1" "$2" "$1" "$3" "$1" "$4" "$1" "$5" "$5" "$1" "$6" "$7"; }
# lies LINE…: so it is besides; of what is well of GPU 2 nothing stays that these lines say otherwise (the first line about something counts).
lies() { { printf '%s\n' "$@"; well; } >gpus.new; [[ "$*" != *"ecc 2 "* ]] || sed -i '/^ecc 2 5$/d' gpus.new; mv gpus.new gpus; }
rows() { remuda plot "$1" --csv=nounits 2>/dev/null | tail -n +2 | wc -l; }
# more JOB N: so many rows more than there are now, within a minute
more() {
    local before until=$((SECONDS + 60))
    before=$(rows "$1")
    until [ "$(rows "$1")" -ge $((before + $2)) ]; do
        [ "$SECONDS" -lt "$until" ] || { echo "job $1 has no more rows"; return 1; }
        sleep 0.3
    done
}
daemon() { pgrep -f "remudad node.*$REMUDA_STATE" | sort; }
helper() { pgrep -x remudad-gpus -P "$(daemon | tr '\n' ',' | sed 's/,$//')"; }

begin() {
    lies
    scancel -u "$(id -un)"
    until_late shows_not DeviceOut
    rm -f over
    other=$(sbatch --parsable --mem=100 -c1 --gres=gpu:mi250x:1 -o /dev/null --wrap 'until [ -e over ]; do sleep 0.2; done')
    lied=$(sbatch --parsable --mem=100 -c1 --gres=gpu:mi210:1 -o /dev/null --wrap 'until [ -e over ]; do sleep 0.2; done')
    more "$other" 2
    more "$lied" 2
}
finish() {
    touch over
    over "$other"
    over "$lied"
    state=$(sacct -X -n -P -j "$other,$lied" -o State | sort -u)
    [ "$state" = COMPLETED ]
}
# believed CSV: no cell of it is what cannot be
believed() {
    python3 - "$1" <<'P'
import csv, sys
most = {"utilization.gpu [%]": 100, "utilization.memory [%]": 100, "power.draw [W]": 5000, "temperature.gpu": 300, "clocks.current.sm [MHz]": 10000,
        "memory.used [MiB]": 65536, "memory.total [MiB]": 65536, "temperature.memory": 300, "utilization.decoder [%]": 100}
rows = list(csv.DictReader(open(sys.argv[1]), skipinitialspace=True))
seen = set()
for row in rows:
    for title, cell in row.items():
        if title in most and cell != "[N/A]":
            seen.add(title)
            assert 0 <= float(cell) <= most[title], (title, cell)
assert seen == set(most), set(most) - seen
P
}

@test "what cannot be is not drawn, added up or told; the other GPU's curve is whole" {
    began=$SECONDS
    begin
    for lie in 'rate 2 250' 'rate 2 4294967295' 'membusy 2 900' 'milliwatts 2 9999999999999' 'celsius 2 100000 100000' 'celsius 2 18446744073709551000 18446744073709551000' \
        'table 2 65535 65535' 'table 2 3000 60000' 'used 2 99999999' 'used 2 17592186044415' 'total 2 17592186044415' 'total 2 0' 'listed 0 4294967295'; do
        lies "$lie"
        more "$lied" 2 || { echo "$lie"; false; }
    done
    # A count of errors that cannot be is none, and what is counted after it is no news.
    lies "ecc 2 99999999999"
    sleep 7 # each block of a device is asked each five seconds
    lies
    sleep 7
    scontrol show node | grep DeviceOut && false
    remuda plot "$lied" -a --csv=nounits >csv
    believed csv
    remuda plot "$other" -a --csv=nounits | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin, skipinitialspace=True):
    assert float(row["utilization.gpu [%]"]) == 45, row'
    finish
    passed=$((SECONDS - began))
    joules=$(sacct -n -j "$lied.batch" -o ConsumedEnergyRaw | tr -d ' ')
    echo "energy: $joules J in $passed s"
    [ "${joules:-0}" -gt 0 ]
    [ "${joules:-0}" -le $((220 * passed)) ]
    max=$(sacct -n -P -j "$lied.batch" -o TRESUsageInMax | tr ',' '\n')
    util=$(sed -n 's/^gres\/gpuutil=//p' <<< "$max")
    [ -z "$util" ] || [ "$util" -le 100 ]
    run -0 remuda report "$lied"
    ! grep -qE '[0-9]{7}|memory error|was slowed' <<< "$output" || false
}

@test "how many devices there are changes while jobs run: those that are listed have their curves" {
    begin
    before=$(daemon)
    for count in 2 0 4294967295 300 1; do
        lies "count 0 $count"
        [ "$count" = 0 ] || more "$other" 2 || { echo "count $count"; false; }
        sleep 0.5
        lies
        more "$lied" 2 || { echo "after count $count"; false; }
    done
    [ "$(daemon)" = "$before" ]
    finish
    scontrol update nodename=ALL state=resume
    until_late shows_not DeviceOut
}

@test "each call in turn does not come back for one GPU: the other has its curve, and when it comes back all is as before" {
    begin
    before=$(daemon)
    for call in rsmi_dev_busy_percent_get rsmi_dev_memory_busy_percent_get rsmi_dev_memory_total_get rsmi_dev_memory_usage_get rsmi_dev_power_get rsmi_dev_power_ave_get \
        rsmi_dev_temp_metric_get rsmi_dev_gpu_metrics_info_get rsmi_dev_ecc_count_get rsmi_compute_process_info_by_device_get; do
        lies "$call 2 9999"
        more "$other" 3 || { echo "$call hangs"; false; }
        lies
        more "$lied" 2 || { echo "after $call"; false; }
    done
    # Of all devices at once: then nothing is told, and nothing else stands still.
    for call in rsmi_num_monitor_devices rsmi_compute_process_info_get; do
        lies "$call 0 9999"
        sleep 2
        srun -Q --jobid="$other" --overlap -n1 true
        lies
        more "$lied" 2 || { echo "after $call"; false; }
    done
    [ "$(daemon)" = "$before" ]
    threads=$(ls "/proc/$(helper)/task" | wc -l)
    echo "$threads threads of the helper"
    [ "$threads" -le 6 ]
    finish
    until_late shows_not DeviceOut
}

@test "a library without what is newer, and one without what must be there" {
    cd "$TOP"
    lies
    cc -shared -fPIC -DLACKS_PROCESSES -o old.so "$BATS_TEST_DIRNAME/../fake/rsmi.c"
    REMUDA_RSMI="$TOP/old.so" run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"gpu:mi250x:2"* && "$output" == *"gpu:mi210:1"* ]]
    echo 'int rsmi_init(unsigned long f) { return f ? 1 : 0; }' | cc -shared -fPIC -o none.so -x c -
    REMUDA_RSMI="$TOP/none.so" run -0 remudad node --print-config
    [[ "$output" != *"mi250x"* && "$output" == *"rsmi_"* ]]
}
