#!/usr/bin/env bats
# remuda lint and its kin beside a cluster: partitions, limits, types of GPUs, whether it would be taken; what it ends with, JSON. What it finds
# without a cluster: tests/unit/script_lint_test.c.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=dcc
EnforcePartLimits=NO
NodeName=n[1-2] CPUs=8 RealMemory=16000 Gres=gpu:v100:2 Virtual=YES
NodeName=s1 CPUs=4 RealMemory=8000 Virtual=YES
PartitionName=gpu Nodes=n[1-2] Default=YES MaxTime=1-00:00:00 DefaultTime=15 DefMemPerCPU=1000
PartitionName=cpu Nodes=s1
END
}

teardown_file() { remuda down; }
setup() { cd "$WORK" || exit 1; }

# script LINE…: a script of these, in job.sh.
script() { printf '%s\n' '#!/bin/bash' "$@" 'true' > job.sh; }
finds() { grep -q "$1" <<< "$output" || { echo "not found: $1"; echo "$output"; return 1; }; }

@test "a script without fault: what it becomes, what the cluster adds, when it would start; status 0 and nothing submitted" {
    script '#SBATCH --ntasks=2'
    run -0 remuda lint job.sh
    finds '^ *partition: gpu  *the default of the cluster$'
    finds '^ *time limit: 00:15:00  *DefaultTime of the partition$'
    finds '^ *memory: 1000M a CPU  *DefMemPerCPU of the partition$'
    finds '^submitted now it would start at .* with 2 CPUs on n1 in partition gpu$'
    finds '^nothing looks wrong$'
    [ -z "$(squeue -h)" ]
}

@test "what the cluster knows: partitions, limits, types of GPUs, in lines; status 2" {
    script '#SBATCH -p gpuu'
    run -2 remuda lint job.sh
    finds '^job.sh:2: error: there is no partition gpuu (did you mean gpu?); there are gpu, cpu \[partition\]$'
    script '#SBATCH --time=2-0'
    run -2 remuda lint -q job.sh
    finds '^job.sh:2: warning: 2-00:00:00 is more than partition gpu allows, which is 1-00:00:00 \[above-limit\]$'
    script '#SBATCH -p cpu' '#SBATCH --gpus-per-node=1'
    run -2 remuda lint --quiet job.sh
    finds '^job.sh:3: warning: no node of partition cpu has GPUs; they have no GPUs (line 2) \[gpu-type\]$'
    script '#SBATCH --gpus-per-node=a100:1'
    run -2 remuda lint job.sh
    finds '^job.sh:2: warning: no node of partition gpu has a GPU of type a100; they have v100 \[gpu-type\]$'
    finds '^job.sh:2: error: sbatch would be refused: .* did you mean gpu:v100? \[refused\]$'
}

@test "sbatch --lint, bsub -lint and qsub --lint: the command line counts, and nothing is submitted" {
    script '#SBATCH -n 2'
    SBATCH_TIMELIMIT=24:00 run -1 sbatch --lint --mem=1G job.sh
    finds '^ *--mem=1G '
    finds 'warning: 24:00 is minutes and seconds'
    script '#BSUB -n 2' '#BSUB -q cpu' '#BSUB -oo x.%J'
    run -0 bsub -lint -W 30 < job.sh
    finds '^ *--time=30  *30 minutes$'
    run -1 bsub -lint job.sh
    finds 'warning: bsub job.sh runs it as a command and reads none of its lines; bsub < job.sh reads them \[run-as-command\]$'
    script '#PBS -l nodes=1:ppn=2 -q cpu' 'cd $PBS_O_WORKDIR'
    run -0 qsub --lint -l walltime=1:00:00 job.sh
    finds '^ *--time=1:00:00  *1 hour$'
    run -1 sbatch --lint job.sh
    finds 'PBS_O_WORKDIR is not set in a job of sbatch; here it is $SLURM_SUBMIT_DIR'
    finds "^job.sh: a script of PBS's, read as sbatch reads it$"
    [ -z "$(squeue -h)" ]
}

@test "sbatch of a script in two other systems' words: refused where they contradict each other, with both lines" {
    script '#BSUB -W 10' '#PBS -l walltime=20:00'
    run -1 sbatch job.sh
    finds 'lines 2 and 3 contradict each other: .*--time=10 .*--time=0:20:00 here; write it in #SBATCH lines, which count'
    script '#BSUB -W 10' '#PBS -l walltime=10:00' '#PBS -A acct'
    run -0 sbatch job.sh
    finds "line 4: the #PBS line is not read .* --account=acct, which no other line says"
    script '#SBATCH -t 10' '#BSUB -W 20' '#PBS -l walltime=30:00'
    run -0 sbatch --hold job.sh
    [ "$(squeue -h -t all -o %l -j "${output##* }")" = 10:00 ]
    scancel -u "$(id -un)"
}

@test "JSON of several files, of a file that is not there, without a cluster; --rules" {
    script '#SBATCH --mem=16'
    cp job.sh other.sh
    run -1 --separate-stderr remuda lint --json job.sh other.sh
    python3 - "$output" <<'END'
import json, sys
d = json.loads(sys.argv[1])
assert d["schema"] == "remuda.lint/1" and d["status"] == 1 and len(d["files"]) == 2
f = d["files"][1]
assert (f["file"], f["dialect"], f["command"], f["cluster"]) == ("other.sh", "slurm", "sbatch", "dcc")
assert f["options"][0]["line"] == 2 and f["options"][0]["becomes"][0]["option"] == "mem"
assert [(x["rule"], x["level"], x["line"]) for x in f["findings"]] == [("tiny-memory", "warning", 2)]
assert f["job"][0]["mem_per_node_mib"] == 16 and (f["errors"], f["warnings"], f["notes"], f["status"]) == (0, 1, 0, 1)
END
    run -2 remuda lint none.sh
    finds 'none.sh: No such file'
    run -1 remuda lint --offline job.sh
    finds 'note: no cluster was asked, .* (--offline) \[no-cluster\]$'
    REMUDA_STATE=$WORK/nothing run -1 remuda lint job.sh
    finds 'note: no cluster was asked, .*controller not running'
    run -2 remuda lint --as sge job.sh
    finds 'slurm, lsf and pbs are allowed'
    printf '#!/bin/sh\n#SBATCH --job-name=\033[31m%%j\n' > job.sh
    run -1 remuda lint --offline job.sh
    [[ "$output" != *$'\033'* ]]
    [ "$(remuda lint --rules | wc -l)" -gt 35 ]
}
