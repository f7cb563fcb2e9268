#!/usr/bin/env bats
# What programs of LSF and PBS sites ask of servers, queues and hosts (ARC's information providers do), what operators set there, and what launchers
# of MPI call in the place of rsh.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'CONF'
ClusterName=site
KillWait=1
NodeName=n[1-2] CPUs=4 RealMemory=4000 Feature=fast,gold Virtual=YES
NodeName=n3 CPUs=4 RealMemory=512 Virtual=YES
PartitionName=workq Nodes=n[1-3] Default=YES MaxTime=1-00:00:00 DefaultTime=10
PartitionName=batch Nodes=n[1-2]
CONF
}

setup() { cd "$WORK" || exit 1; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

@test "lshosts: a line each, wide, long, some of them" {
    run -0 lshosts
    [ "${lines[0]}" = "HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES" ]
    [ "$(cut -c 20- <<<"${lines[1]}")" = "     fast   1.0     4   3.9G      -    Yes (fast gold)" ]
    [ "$(lshosts -w | awk 'NR > 1 {print $1, $5, $6}')" = "n1 4 3.9G
n2 4 3.9G
n3 4 512M" ]
    [ "$(lshosts -noheader n3 | awk '{print $1, $3}')" = "n3 DEFAULT" ]
    [ "$(lshosts -w -noheader -R 'select[gold]' | wc -l)" -eq 2 ]
    lshosts -l n1 | grep -q '^RESOURCES: (fast gold)$'
    run -255 lshosts nosuch
    [ "$output" = "nosuch: Bad host name" ]
}

@test "qmgr: lists and prints server, queues and nodes, whole and in part" {
    run -0 qmgr -c "list server"
    [ "${lines[0]}" = "Server site" ]
    [[ "$output" == *"    default_queue = workq"* ]]
    [ "$(qmgr -c 'l q @default' | grep -c '^Queue ')" -eq 2 ]
    run -0 qmgr -c "list queue workq resources_max.walltime,enabled"
    run -0 qmgr -c "list queue workq resources_max,enabled"
    [ "$output" = "$(printf 'Queue workq\n    resources_max.walltime = 24:00:00\n    enabled = True\n')" ]
    run -0 qmgr -c "print queue workq"
    [[ "$output" == *"create queue workq"*"set queue workq resources_max.walltime = 24:00:00"* ]]
    [[ "$output" != *state_count* ]]
    [ "$(qmgr -c 'p s' | grep -c '^create queue')" -eq 2 ]
    # A node has there what pbsnodes says of it.
    [ "$(qmgr -c 'list node n1' | sed 1d | sed 's/^ *//')" = "$(pbsnodes n1 | sed 1d | sed 's/^ *//')" ]
    [ "$(printf 'list queue batch enabled\n# nothing\nquit\nlist queue workq\n' | qmgr | head -n 2)" = "$(printf 'Queue batch\n    enabled = True')" ]
}

@test "qmgr and qenable, qdisable, qstart, qstop: a queue takes jobs and starts them, or not" {
    part_state() { scontrol show partition "${1:-workq}" | grep -o 'State=[A-Z]*'; }
    qmgr -c "set queue workq enabled = False"
    [ "$(part_state)" = State=DRAIN ]
    run ! sbatch --wrap true
    qmgr -c "set queue workq enabled=True, started=f"
    [ "$(part_state)" = State=DOWN ]
    id=$(sbatch --parsable --wrap true)
    [ "$(squeue -h -j "$id" -o %T)" = PENDING ]
    qdisable workq
    [ "$(part_state)" = State=INACTIVE ]
    qenable -a
    [ "$(part_state)" = State=DOWN ]
    qstart workq batch
    [ "$(part_state)" = State=UP ]
    wait_state "$id" COMPLETED
    qstop batch
    [ "$(part_state batch)" = State=DOWN ]
    qstart batch
    run -170 qstop nosuch
    [ "$output" = "qstop: Unknown queue nosuch" ]
    run -2 qstop
}

@test "qmgr: a node offline, with the reason, and back" {
    qmgr -c 'set node n2 state = offline, comment = "a disk, broken"'
    [ "$(pbsnodes -l | tr -s ' ')" = "n2 offline a disk, broken" ]
    qmgr -c 'set node n2 state -= offline'
    [ -z "$(pbsnodes -l)" ]
    qmgr -c 'set node n1,n2 state=offline'
    [ "$(pbsnodes -l | wc -l)" -eq 2 ]
    qmgr -c 'set node @default state=free'
    [ -z "$(pbsnodes -l)" ]
}

@test "qmgr: what it does not set says what does; nonsense changes nothing" {
    before=$(scontrol show partition; scontrol show node)
    run -2 qmgr -c "set queue workq resources_max.walltime=1:00:00"
    [[ "$output" == *"scontrol update PartitionName=workq MaxTime="* ]]
    run -2 qmgr -c "create queue other queue_type=e"
    [[ "$output" == *"scontrol create"* ]]
    run -2 qmgr -c "set server scheduling=False"
    run -2 qmgr -c "list hook"
    [[ "$output" == *SubmitFilter* ]]
    run -2 qmgr -c "list queue nosuch"
    [ "$output" = "qmgr obj=nosuch svr=default: Unknown queue" ]
    run -1 qmgr -c "frob queue workq"
    [ "$output" = "qmgr: frob is no command; there are: list, print, set, help, quit" ]
    run -1 qmgr -c "list nonsense"
    run -1 qmgr -c "set queue workq enabled = maybe"
    run -1 qmgr -c "set queue workq enabled"
    run -1 qmgr -c "set queue workq"
    run -1 qmgr -c 'set node n1 comment = "never closed'
    run -1 qmgr -c "set node n1 state = upside-down"
    run -0 qmgr -n -c "set queue workq enabled = False"
    # -a: the first that fails is the last
    run -1 --separate-stderr sh -c 'printf "frob\nlist server server_state\n" | qmgr -a'
    [ -z "$output" ]
    run -1 --separate-stderr sh -c 'printf "frob\nlist server server_state\n" | qmgr -z'
    [ -z "$stderr" ]
    [[ "$output" == *"server_state = Active"* ]]
    [ "$(scontrol show partition; scontrol show node)" = "$before" ]
}

@test "blaunch: on each host of the job, on several at once, with input, with the status" {
    cat > "$WORK/bl.sh" <<'SH'
#BSUB -n 4 -R "span[ptile=2]" -W 5
#BSUB -J bl
for h in $(echo $LSB_HOSTS | tr ' ' '\n' | sort -u); do blaunch $h 'echo on $SLURMD_NODENAME'; done
blaunch -z "$(echo $LSB_HOSTS)" echo each '$SLURMD_NODENAME' | sort
echo $LSB_HOSTS | tr ' ' '\n' | sort -u > hosts
blaunch -u hosts echo file | sort
blaunch -no-shell ${LSB_HOSTS%% *} echo '$HOME' 'a  b'
echo input | blaunch ${LSB_HOSTS%% *} cat
echo input | blaunch -n ${LSB_HOSTS%% *} cat
blaunch ${LSB_HOSTS%% *} exit 7 2>/dev/null
echo status $?
blaunch n3 true 2>/dev/null
echo elsewhere $?
SH
    bsub -K -o bl.out < bl.sh
    cat bl.out
    sed -n '/^on n1/,/^elsewhere/p' bl.out > bl.seen
    [ "$(cat bl.seen)" = "on n1
on n2
each n1
each n2
file
file
\$HOME a  b
input
status 7
elsewhere 1" ]
}

@test "blaunch and pbs_tmrsh in a job of parts that differ: each host's component" {
    cat > parts.sh <<'SH'
#PBS -l select=1:ncpus=4:mem=100mb+1:ncpus=3:mem=200mb
#PBS -j oe -o parts.out
for h in $(sort -u $PBS_NODEFILE); do pbs_tmrsh $h echo tm '$SLURMD_NODENAME'; done
blaunch -z "$(sort -u $PBS_NODEFILE | tr '\n' ' ')" echo lsf '$SLURMD_NODENAME' | sort
pbs_tmrsh $(head -n 1 $PBS_NODEFILE) -n cat < /etc/passwd
pbs_tmrsh $(head -n 1 $PBS_NODEFILE) -l nosuchuser true
echo other $?
SH
    id=$(qsub parts.sh)
    wait_state "${id%%.*}" COMPLETED
    run cat parts.out
    [ "$(grep -c '^tm n' parts.out)" -eq 2 ]
    [ "$(grep '^lsf' parts.out | sort -u | wc -l)" -eq 2 ]
    [[ "$output" == *"as its user"* ]]
    grep -q '^other 188$' parts.out
    [ "$(grep -c : parts.out)" -eq 1 ]
}

@test "blaunch and pbs_tmrsh outside of a job, and without a command" {
    run -1 blaunch n1 true
    [ "$output" = "blaunch: this is no job: it runs inside one, on its hosts" ]
    run -1 pbs_tmrsh n1 true
    run -255 blaunch n1
    run -2 pbs_tmrsh n1
}

@test "jsrun: resource sets become tasks, with JSM's names" {
    cat > js.sh <<'SH'
#BSUB -n 8 -R "span[ptile=4]" -W 5
#BSUB -J js -o js.out
jsrun -n2 -a1 -c2 -r1 sh -c 'echo set $JSM_NAMESPACE_RANK of $JSM_NAMESPACE_SIZE at $JSM_NAMESPACE_LOCAL_RANK on $SLURMD_NODENAME with $SLURM_CPUS_PER_TASK' | sort
jsrun --nrs 2 --tasks_per_rs 2 --cpu_per_rs 4 -r 1 -d cyclic sh -c 'echo two $JSM_NAMESPACE_RANK $SLURM_CPUS_PER_TASK' | sort
jsrun -n ALL_HOSTS -E WORD=given sh -c 'echo all $WORD' | sort
for value in '{0,1},{2}' "a 'b', \"c\"" 'x",y' '"whole"' "'" ',' ''; do
    jsrun -n1 -E "VALUE=$value" -E AFTER=there sh -c 'echo "value <$VALUE> $AFTER"'
done
jsrun -p3 -e prepended true
jsrun -n2 -e individual -o each echo mine
jsrun -n1 -h / pwd
jsrun -n1 false
echo status $?
jsrun -n3 -a2 -g1 true
echo shared $?
jsrun -p 2 -a 2 true
jsrun -n zero true
jsrun -f app
jsrun -n 1
SH
    id=$(bsub < js.sh | tr -dc '0-9\n' | head -n 1)
    eventually sh -c '[ -z "$(squeue -h)" ]'
    cat js.out
    [ "$(sed '/^$/,$d' js.out | grep -v '^srun')" = "set 0 of 2 at 0 on n1 with 2
set 1 of 2 at 0 on n2 with 2
two 0 2
two 1 2
two 2 2
two 3 2
all given
all given
value <{0,1},{2}> there
value <a 'b', \"c\"> there
value <x\",y> there
value <\"whole\"> there
value <'> there
value <,> there
value <> there
/
status 1
jsrun: 2 tasks that share 1 GPU, several such sets on a host: here GPUs are one task's (-a 1) or of all tasks of a host (-r 1)
shared 255
jsrun: -p is sets of one task; -n and -a say other ones
jsrun: -n takes a number of resource sets or ALL_HOSTS, not zero
jsrun: --appfile: srun --multi-prog
jsrun: which command? usage: jsrun -n SETS -a TASKS -c CPUS -g GPUS command" ]
    [ "$(cat each.0 each.1)" = "$(printf 'mine\nmine')" ]
    run -255 jsrun -n1 true
    [ "$output" = "jsrun: this is no job: it runs inside one, on its hosts" ]
}
