#!/usr/bin/env bats
# A library that says what cannot be while a job runs: numbers beyond anything, counters that go back, a GPU that falls off the bus. Nothing of it is
# drawn, added up or told.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-lying-XXXXXX)
    export TOP REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus"
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    machine >"$TOP/gpus.idle"
    machine "rate 45" "mw 200000" "celsius 60" "smclock 1410" "energy 1" >"$TOP/gpus.well"
    machine "rate 250" "mw 4294967295" "celsius 100000" "smclock 4294967295" "energy 1" "encoder 700" "memtemp 4000000000" "ecc 99999999999" >"$TOP/gpus.absurd"
    machine "rate 40" "mw 1000" "celsius 60" "smclock 1410" "energy 1" >"$TOP/gpus.back"
    machine lost >"$TOP/gpus.lost"
    cp "$TOP/gpus.idle" "$TOP/gpus"
    cluster <<< "JobAcctGatherFrequency=1
NodeName=$(hostname -s) CPUs=4 RealMemory=2000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES"
    cd "$WORK"
}

# machine LINE…: all four GPUs are so; of "WORD NUMBER" the number stands behind the GPU's.
machine() {
    echo "machine a100x4"
    for gpu in 0 1 2 3; do
        for line in "$@"; do
            set -- $line
            echo "$1 $gpu ${2:-}"
        done
    done
}

setup() { cd "$WORK"; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

play() { cp "$TOP/$1" "$TOP/gpus.new"; mv "$TOP/gpus.new" "$TOP/gpus"; }
rows() { remuda plot "$1" --csv=nounits 2>/dev/null | tail -n +2 | wc -l; }
more_rows() { [ "$(rows "$1")" -ge "$2" ]; }

@test "what cannot be is not drawn, added up or told" {
    began=$SECONDS
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:1 --wrap 'until [ -e over ]; do sleep 0.2; done')
    wait_state "$id" RUNNING
    for what in well absurd back well absurd; do
        play "gpus.$what"
        eventually more_rows "$id" $(($(rows "$id") + 3))
    done
    play gpus.lost
    sleep 3
    play gpus.idle
    touch over
    eventually eval "[ \"\$(sacct -X -n -j $id -o end | tr -d ' ')\" != Unknown ]"
    remuda plot "$id" -a --csv=nounits >csv
    python3 - "$((SECONDS - began))" <<'P'
import csv, sys
most = {"utilization.gpu [%]": 100, "utilization.memory [%]": 100, "power.draw [W]": 5000, "temperature.gpu": 300, "clocks.current.sm [MHz]": 100000, "memory.used [MiB]": 81920, "temperature.memory": 300, "utilization.encoder [%]": 100}
rows = list(csv.DictReader(open("csv"), skipinitialspace=True))
assert len(rows) >= 12, len(rows)
seen = set()
for row in rows:
    for title, cell in row.items():
        if title in most and cell != "[N/A]":
            seen.add(title)
            assert 0 <= float(cell) <= most[title], (title, cell)
assert "utilization.gpu [%]" in seen and "power.draw [W]" in seen, seen
P
    # 200 W at most, however long it was; a counter that went back added nothing.
    joules=$(sacct -n -j "$id.batch" -o ConsumedEnergyRaw | tr -d ' ')
    echo "energy: $joules J in $((SECONDS - began)) s"
    [ "${joules:-0}" -ge 0 ]
    [ "${joules:-0}" -le $((220 * (SECONDS - began))) ]
    util=$(sacct -n -P -j "$id.batch" -o TRESUsageInMax | tr ',' '\n' | sed -n 's/^gres\/gpuutil=//p')
    [ -z "$util" ] || [ "$util" -le 100 ]
    run -0 remuda report "$id"
    ! grep -qE '[0-9]{7}|memory error|was slowed' <<< "$output" || false
}
