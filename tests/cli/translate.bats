#!/usr/bin/env bats
# remuda translate: a script goes to another system's words, and is taken by its command as the same job. Random scripts: tests/unit/script_translate_test.c.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=dcc
NodeName=n[1-2] CPUs=8 RealMemory=16000 Gres=gpu:v100:2 Virtual=YES
PartitionName=gpu Nodes=n[1-2] Default=YES
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}
setup() {
    cd "$WORK" || exit 1
    cat > job.sh <<'END'
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --hold --nodes=2 --ntasks-per-node=2 --cpus-per-task=2
#SBATCH --mem=1G --time=1:30:00 --gpus-per-node=v100:1
#SBATCH --output=out.%j --array=1-3
cd $SLURM_SUBMIT_DIR
echo "element $SLURM_ARRAY_TASK_ID"
END
}

# What the queue says of a job, whoever's words it came in.
shape() { squeue -h -r -j "$1" -o '%j %T %D %C %m %l %K' | sort; }

@test "the same job by sbatch, bsub and qsub" {
    sbatch --parsable job.sh > id
    shape "$(cat id)" > slurm
    [ "$(wc -l < slurm)" = 3 ]
    run -1 --separate-stderr remuda translate --to lsf job.sh
    printf '%s\n' "$output" > job.lsf
    [[ "$stderr" == *"remuda translate: job.sh: --output=out.%j: LSF puts in %J and %I only"* ]]
    id=$(bsub < job.lsf | grep -o 'Job <[0-9]*>' | tr -dc 0-9)
    shape "$id" | diff - slurm
    [ "$(scontrol show job "${id}_1" | grep -o 'TresPerNode=.*')" = "TresPerNode=gres/gpu:v100:1" ]
    run -1 --separate-stderr remuda translate --to=pbs -q job.sh
    [ -z "$stderr" ]
    printf '%s\n' "$output" > job.pbs
    grep -qx '# remuda translate: --gpus-per-node=v100:1: ngpus has no types; the type v100 is left out' job.pbs
    id=$(qsub job.pbs)
    shape "${id%%[*}" | diff - slurm
}

@test "back again, from standard input; what runs in it finds its variables" {
    remuda translate --to lsf -q job.sh > job.lsf || [ $? = 1 ]
    grep -qx 'cd $LS_SUBCWD' job.lsf
    grep -qx 'echo "element $LSB_JOBINDEX"' job.lsf
    remuda translate --to slurm -q - < job.lsf > back.sh || [ $? = 1 ]
    grep -v '#' back.sh | diff - <(grep -v '#' job.sh)
    sed -i 's/^#BSUB -H$//; s/^#BSUB -oo .*/#BSUB -oo x.%J.%I/; s/^#BSUB -gpu.*//' job.lsf
    id=$(bsub < job.lsf | grep -o 'Job <[0-9]*>' | tr -dc 0-9)
    eventually grep -qsx 'element 3' "x.$id.3"
}

@test "parts of PBS and LSF that differ become components" {
    printf '#PBS -l select=1:ncpus=4+2:ncpus=1:ngpus=1 -l walltime=60 -h -N parts\ntrue\n' > parts.pbs
    printf '#!/bin/sh\n#BSUB -R "1*{rusage[mem=1GB]} + 2*{span[hosts=1]}" -H -J parts -oo /dev/null\ntrue\n' > parts.lsf
    for from in pbs lsf; do
        remuda translate --to slurm -q parts.$from > parts.sh || [ $? = 1 ]
        if [ $from = pbs ]; then theirs=$(qsub parts.pbs); else theirs=$(bsub < parts.lsf | tr -dc '0-9 ' | awk '{print $1}'); fi
        ours=$(sbatch --parsable parts.sh)
        [ "$(squeue -h -j "$ours" | wc -l)" = 2 ]
        fields() { squeue -h -j "${1%%.*}" -o '%j %D %C %m %l %T %b' | sort; }
        fields "$ours" | diff - <(fields "$theirs")
    done
    run -2 remuda translate --to lsf parts.pbs
    [[ "$output" == *"a job of several components is translated to Slurm only"* ]]
}

@test "what is refused, and the statuses" {
    printf '#!/bin/sh\n#SBATCH -n 2 -o x\n' > plain.sh
    run -0 remuda translate --to lsf plain.sh
    run -2 remuda translate --to slurm plain.sh
    [[ "$output" == *"its lines are slurm already"* ]]
    run -2 remuda translate --to sge plain.sh
    run -2 remuda translate plain.sh
    [[ "$output" == *"--to=slurm, --to=lsf or --to=pbs"* ]]
    run -2 remuda translate --to lsf none.sh
    printf '#!/bin/sh\n#SBATCH --mem=1G --mem-per-cpu=1G\n' > bad.sh
    run -2 remuda translate --to lsf bad.sh
    [[ "$output" == *"the script is no job: --mem and --mem-per-cpu"* ]]
    run -1 remuda translate --to pbs --pbs=torque job.sh
    grep -qx '#PBS -t 1-3' <<< "$output"
    grep -qx '#PBS -l nodes=2:ppn=4:gpus=1' <<< "$output" # it has no select
    [[ "$output" != *select* && "$output" != *place* ]]
}
