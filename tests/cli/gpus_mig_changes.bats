#!/usr/bin/env bats
# Instances that are destroyed, made anew and put elsewhere while jobs have them: each job's curve is that of its own instance or has a gap, never another's, and nothing falls over.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-mig-changes-XXXXXX)
    export TOP REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_GPU_PERCENT=20
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    play
    cluster <<< "JobAcctGatherFrequency=1
NodeName=$(hostname -s) CPUs=4 RealMemory=2000 Gres=gpu:a100_3g.20gb:1,gpu:a100_1g.5gb:2,gpu:a100:1
PartitionName=main Nodes=ALL Default=YES"
    cd "$WORK"
}

setup() { cd "$WORK"; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

# play FACT…: what is in use of the memory of an instance is its activity as well, in hundredths: 1111 MiB, 11.1 %.
play() {
    { printf '%s\n' "machine a100mig" "gpm 0 999 0" "$@"; printf '%s\n' "$@" | sed -n 's/^used \(1[0-9]*\) \([0-9]*\)[0-9]$/gpm \1 \2 0/p'; } >"$TOP/gpus.new"
    mv "$TOP/gpus.new" "$TOP/gpus"
}
activity() { remuda plot "$1" -a --csv=nounits 2>/dev/null | python3 -c '
import csv, sys
print("\n".join(v for v in (r.get("sm_activity [%]", "") for r in csv.DictReader(sys.stdin, skipinitialspace=True)) if v not in ("", "[N/A]")))'; }
memory() { remuda plot "$1" -a --csv=nounits 2>/dev/null | python3 -c '
import csv, sys
print("\n".join(r["memory.used [MiB]"] for r in csv.DictReader(sys.stdin, skipinitialspace=True)))'; }
rows() { memory "$1" | grep -c .; }
more() { # JOB N: rows, within a minute
    local wanted=$(($(rows "$1") + $2))
    enough() { [ "$(rows "$1")" -ge "$2" ]; }
    eventually enough "$1" "$wanted"
}
only() { [ "$(memory "$1" | grep -vx 4 | sort -u)" = "$2" ] || { memory "$1" | uniq -c; return 1; }; }

@test "instances change while jobs have them: nobody has another's samples, and what comes back goes on" {
    first=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:1 -o /dev/null --wrap 'until [ -e over ]; do sleep 0.2; done')
    wait_state "$first" RUNNING
    second=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:1 -o /dev/null --wrap 'until [ -e over ]; do sleep 0.2; done')
    wait_state "$second" RUNNING
    play "used 101 1111" "used 102 2222"
    memory_is() { memory "$1" | grep -qx "$2"; }
    eventually memory_is "$first" 1111
    eventually memory_is "$second" 2222
    daemon=$(pgrep -f "remudad node.*$REMUDA_STATE")
    more "$first" 2
    more "$second" 2
    # The two change their places, again and again: what was at a place is the other's now.
    for _ in 1 2 3 4; do
        play "named 101 103" "used 101 2222" "named 102 102" "used 102 1111"
        more "$first" 2
        play "used 101 1111" "used 102 2222"
        more "$second" 2
    done
    # The first is destroyed, and another one, that nobody has, stands in its place.
    play "named 101 999" "used 101 4000" "used 102 2222"
    more "$second" 4
    play "gone 101" "used 102 2222"
    more "$second" 4
    # It is made anew: the curve goes on.
    play "used 101 1111" "used 102 2222"
    more "$first" 2
    # None of the GPU's at all: MIG is off for a while.
    play "gone 100" "gone 101" "gone 102"
    sleep 3
    play "used 101 1111" "used 102 2222"
    more "$first" 2
    more "$second" 2
    only "$first" 1111
    only "$second" 2222
    # While it was not there its curve had a gap.
    remuda plot "$first" -a --csv=nounits | python3 -c '
import csv, sys
from datetime import datetime
at = [datetime.strptime(r["timestamp"], "%Y/%m/%d %H:%M:%S.%f") for r in csv.DictReader(sys.stdin, skipinitialspace=True)]
gaps = [(b - a).total_seconds() for a, b in zip(at, at[1:])]
assert max(gaps) >= 5, gaps'
    [ "$(pgrep -f "remudad node.*$REMUDA_STATE")" = "$daemon" ]
    # What its processors did is its own as well. An instance of which nothing is said any more has what its whole GPU has.
    activity "$first" | sort | uniq -c | sort -rn
    activity "$second" | sort | uniq -c | sort -rn
    [ "$(activity "$first" | grep -vx 99.9 | sort -u)" = 11.1 ]
    [ "$(activity "$second" | grep -vx 99.9 | sort -u)" = 22.2 ]
    play
    sleep 2
    touch over
    wait_state "$first" COMPLETED
    wait_state "$second" COMPLETED
    only "$first" 1111
    only "$second" 2222
    most=$(sacct -n -P -j "$first.batch,$second.batch" -o TRESUsageInMax | tr ',' '\n' | sed -n 's/^gres\/gpumem=//p')
    # Without what the driver has for itself.
    [ "$most" = $'1107M\n2218M' ]
    # Given again: nothing of it stays out of use.
    in_use() { ! scontrol show node | grep -q DeviceOut; }
    eventually in_use
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:2 -o /dev/null --wrap true)
    wait_state "$id" COMPLETED
}
