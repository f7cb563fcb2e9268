#!/usr/bin/env bats
# PrivateData and request rates, through the commands, as an ordinary user beside root.
bats_require_minimum_version 1.5.0
load common

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$SHARED/home" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    SHARED=$(mktemp -d /tmp/remuda-private-XXXXXX)
    export SHARED REMUDA_STATE="$SHARED/state"
    chmod 755 "$SHARED"
    mkdir -m 777 "$SHARED/home"
    mkdir -m 755 "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf" <<EOF2
NodeName=v1 CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=v1 Default=YES
EOF2
    remuda up -q 3>&-
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    scancel -u root,nobody || true
    remuda down
    rm -rf "$SHARED"
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd "$SHARED/home" || exit 1
}

is_past() { [ -n "$(sacct -n -X -P -j "$1" -o JobID -s CD,F)" ]; }

is_running() { [ "$(squeue -h -j "$1" -o %T)" = RUNNING ]; }

configured() {
    sed -i '/^PrivateData=\|^SlurmctldParameters=/d' "$REMUDA_STATE/remuda.conf"
    printf '%s\n' "$@" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

@test "with PrivateData=jobs others' jobs are not there: waiting, running, past, by number" {
    past=$(sbatch --parsable --wrap true)
    mine=$(as_nobody sbatch --parsable --wrap true)
    eventually is_past "$past"
    eventually is_past "$mine"
    hers=$(sbatch --parsable -H --wrap true)
    own=$(as_nobody sbatch --parsable -H --wrap true)
    run -0 as_nobody squeue -h -o %i
    [[ "$output" == *"$hers"* ]]
    configured PrivateData=jobs,usage
    run -0 scontrol show config
    [[ "$output" == *"PrivateData             = jobs,usage"* ]]
    run -0 as_nobody squeue -h -o %i
    [ "$output" = "$own" ]
    run -1 as_nobody squeue -h -j "$hers"
    [[ "$output" == *"Invalid job id specified"* ]]
    run ! as_nobody scontrol show job "$hers"
    run ! as_nobody remuda why "$hers"
    run -0 as_nobody sacct -a -n -X -P -o JobID
    [ "$output" = "$mine" ]
    run -0 as_nobody sacct -n -P -o JobID -j "$past"
    [ -z "$output" ]
    run -0 sacct -a -n -X -P -o JobID
    [ "$output" = "$past"$'\n'"$mine" ]
    run -0 as_nobody squeue --json
    [[ "$output" != *"\"job_id\": $hers,"* ]]
}

@test "with PrivateData=nodes,partitions sinfo and its kin are refused" {
    configured PrivateData=nodes,partitions
    run ! as_nobody sinfo
    [[ "$output" == *"Access/permission denied"* ]]
    run ! as_nobody scontrol show node
    run ! as_nobody scontrol show partition
    run -0 as_nobody remuda status
    [[ "$output" != *v1* ]]
    run -0 sinfo
    configured PrivateData=none
    run -0 as_nobody sinfo
}

@test "who asks too often waits, silently, and root does not" {
    configured SlurmctldParameters=rl_enable,rl_bucket_size=3,rl_refill_rate=2,rl_log_freq=0
    # Far more than the bucket holds, and all of it is answered.
    run -0 --separate-stderr as_nobody bash -c 'for i in 1 2 3 4 5 6 7 8; do squeue -h -o x >/dev/null || exit 1; done'
    [ -z "$stderr" ]
    grep -q "requests of uid $(id -u nobody) come faster" "$REMUDA_STATE/log/controller.log"
    for i in 1 2 3 4 5 6 7 8; do squeue -h -o x >/dev/null; done
    ! grep -q "requests of uid 0 " "$REMUDA_STATE/log/controller.log" || false
    configured
}

@test "what is said of a job afterwards is its owner's and operators'; a refused listing has no headings" {
    theirs=$(sbatch --parsable -o /dev/null --wrap true)
    own=$(as_nobody sbatch --parsable -o /dev/null --wrap true)
    eventually is_past "$theirs"
    eventually is_past "$own"
    run -1 as_nobody sacctmgr -i modify job jobid="$theirs,$own" set comment=mine
    [[ "$output" == *"job $theirs is another user's"* ]]
    [ "$(sacct -nPX -j "$theirs,$own" -o comment)" = "" ]
    run -0 as_nobody sacctmgr -i modify job jobid="$own" set comment=mine
    [ "$(sacct -nPX -j "$own" -o comment)" = mine ]
    run -1 as_nobody sacctmgr -i modify job jobid="$own" set admincomment=mine
    [[ "$output" == *"only operators may set AdminComment and SystemComment"* ]]
    configured PrivateData=users,events
    run -1 --separate-stderr as_nobody sacctmgr show transaction
    [ -z "$output" ]
    run -1 --separate-stderr as_nobody sacctmgr show event
    [ -z "$output" ]
}

# used AS FIELDS: what was used by those, of the last hour and this, as a client by hand asks for it.
used() {
    "$1" python3 -Bc '
import sys, time
sys.path.insert(0, sys.argv[1])
from frames import Connection
now = int(time.time()) * 10**6
print(Connection(sys.argv[2]).query(what="USED", fields=sys.argv[3], from_us=now - 3600 * 10**6, to_us=now + 7200 * 10**6))
' "$SHARED" "$REMUDA_STATE" "$2"
}

@test "what workload keys and reservations used is not told by their names alone" {
    cp "$BATS_TEST_DIRNAME/controller_frames.py" "$SHARED/frames.py"
    configured PrivateData=none
    scontrol create reservation=secretresv start=now duration=10 nodes=v1 users=root
    theirs=$(sbatch --parsable --wckey=secretkey --reservation=secretresv -o /dev/null --wrap 'sleep 2')
    eventually is_past "$theirs"
    scontrol delete reservation=secretresv
    # Without privacy it is told, with it to who may see all.
    for private in none usage usage,users,accounts usage,reservations; do
        configured "PrivateData=$private"
        run -0 used command wckey,cpu_s
        [[ "$output" == *secretkey* ]]
        run -0 used command reservation,cpu_s
        [[ "$output" == *secretresv* ]]
        run -0 used as_nobody wckey,cpu_s
        [[ "$private" == none && "$output" == *secretkey* || "$private" != none && "$output" != *secretkey* ]]
        run -0 used as_nobody wckey,reservation,cpu_s
        [[ "$private" == none || "$output" != *secret* ]]
        run -0 used as_nobody reservation,cpu_s
        [[ "$private" == *reservations* && "$output" != *secretresv* || "$private" != *reservations* && "$output" == *secretresv* ]]
        run -0 used as_nobody partition,cpu_s
        [[ "$output" == *main* ]]
    done
    configured PrivateData=none
}

@test "one's own job gets more time whatever is private, and others' do not" {
    configured PrivateData=accounts,events,jobs,nodes,partitions,reservations,usage,users
    hers=$(sbatch --parsable -n1 -t 10 -o /dev/null --wrap 'sleep 60')
    own=$(as_nobody sbatch --parsable -n1 -t 10 -o /dev/null --wrap 'sleep 60')
    eventually is_running "$own"
    run -0 as_nobody remuda extend "$own" +10m
    [ "$output" = "job $own: 10 min granted" ]
    run -1 as_nobody remuda extend "$hers" +10m
    [[ "$output" =~ "Access/permission denied" ]]
    scancel "$hers" "$own"
    configured PrivateData=none
}

@test "values of variables, given with a job or while it waits, are its owner's and operators' to read, running and past" {
    as_root() { "$@"; }
    printf '#PBS -v KEY=secret\ntrue\n' > job.sh
    id=$(as_nobody qsub -h job.sh) id=${id%%.*}
    hers=$(qsub -h job.sh) hers=${hers%%.*}
    run -0 qalter -v KEY=secret2 "$hers"
    shows() { "$1" qstat $2 -f "$3" | grep -c "KEY=secret" || true; }
    [ "$(shows as_nobody "" "$id") $(shows as_root "" "$id") $(shows as_root "" "$hers") $(shows as_nobody "" "$hers")" = "1 1 1 0" ]
    qrls "$id" "$hers"
    eventually is_past "$id"
    eventually is_past "$hers"
    [ "$(shows as_nobody -x "$id") $(shows as_root -x "$id") $(shows as_root -x "$hers") $(shows as_nobody -x "$hers")" = "1 1 1 0" ]
}
