#!/usr/bin/env bats
# Unmodified programs of Debian that submit to Slurm, PBS and LSF, against real daemons: what is replayed in tests/cli/clients.bats is here the program itself.
# Each needs its package (in the words of its test); what is not there is skipped by name.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work" FLOWS="$BATS_TEST_DIRNAME/clients"
    export USER="$(id -un)" LOGNAME="$(id -un)" PYTHONDONTWRITEBYTECODE=1
    export IPYTHONDIR="$BATS_FILE_TMPDIR/ipython"
    mkdir -p "$WORK"
    remuda up -q --nodes 4 --cpus 8 --mem 8G
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() {
    mkdir -p "$WORK/$BATS_TEST_NUMBER"
    cd "$WORK/$BATS_TEST_NUMBER" || exit 1
}

# needs PACKAGE COMMAND…: the command works, or the package is not there.
needs() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || skip "$package is not installed"
}

quiet() {
    local until=$((SECONDS + 60))
    until [ -z "$(squeue -h)" ]; do
        ((SECONDS < until)) || return 1
        sleep 0.2
    done
}

# The flavour is read with each call.
flavour() { sed -i "/^PbsFlavour/d; 1i PbsFlavour=$1" "$REMUDA_STATE/remuda.conf"; }

python=/usr/bin/python3

@test "snakemake --slurm: a rule for each of two files, and one of two tasks for both" {
    needs snakemake snakemake --version
    cat > Snakefile <<'END'
rule all:
    input: "sum.txt"
rule one:
    output: "{i}.txt"
    threads: 2
    resources: mem_mb=400, runtime=5
    shell: "echo $SLURM_CPUS_PER_TASK > {output}"
rule sum:
    input: expand("{i}.txt", i=range(2))
    output: "sum.txt"
    resources: mem_mb=600, runtime=5, tasks=2
    shell: "cat {input} > {output}"
END
    timeout 400 snakemake --slurm -j 4 --default-resources slurm_account="$USER" slurm_partition=main 2>&1
    [ "$(sort -u sum.txt)" = 2 ]
    [ "$(sacct -nX -S now-10minutes --format=state%20,jobname%20 | grep -c 'COMPLETED *snakejob')" -eq 3 ]
}

makeflow_of() {
    needs coop-computing-tools makeflow --version
    printf 'a.txt:\n\techo hello > a.txt\n\nb.txt: a.txt\n\tcat a.txt a.txt > b.txt\n\nc.txt: a.txt\n\tcat a.txt > c.txt\n\nd.txt: b.txt c.txt\n\tcat b.txt c.txt > d.txt\n' > flow.mf
    timeout 120 makeflow -T "$1" flow.mf
    [ "$(grep -c hello d.txt)" -eq 3 ]
}
@test "makeflow -T slurm" { makeflow_of slurm; }
@test "makeflow -T pbs" { makeflow_of pbs; }
@test "makeflow -T torque" { flavour torque; makeflow_of torque; flavour pro; }
@test "makeflow -T lsf" { makeflow_of lsf; }

toil_of() {
    needs toil "$python" -c 'import toil'
    timeout 300 "$python" "$FLOWS/toil_flow.py" --batchSystem "$1" --disableCaching --statePollingWait 2 ./store 2>&1 | tee said
    grep -q '^values \[0, 1, 4\]$' said
}
@test "toil: Slurm" { toil_of slurm; }
@test "toil: LSF" { toil_of lsf; }
@test "toil: Torque" { flavour torque; toil_of torque; flavour pro; }

nipype_of() {
    needs python3-nipype "$python" -c 'import nipype'
    timeout 120 "$python" "$FLOWS/nipype_flow.py" "$1" "$PWD" "$2" 2>&1
    quiet
    [ -n "$(find flow/c -name 'result_c.pklz')" ]
}
@test "nipype: SLURM" { nipype_of SLURM "--time=5 --mem=500M"; }
@test "nipype: SLURMGraph, which waits for nothing but leaves dependencies" { nipype_of SLURMGraph "--time=5 --mem=500M"; }
@test "nipype: PBS" { nipype_of PBS "-l walltime=00:05:00"; }
@test "nipype: PBSGraph" { nipype_of PBSGraph "-l walltime=00:05:00"; }
@test "nipype: LSF" { nipype_of LSF "-W 5"; }

batchtools_of() {
    needs r-cran-batchtools Rscript -e 'library(batchtools)'
    timeout 200 Rscript "$FLOWS/batchtools_flow.R" "$1" "$PWD/registry" 2>&1 | tee said
    grep -q '^values 1 4 9 16' said
}
@test "batchtools of R: Slurm, chunks as arrays" { batchtools_of slurm; }
@test "batchtools of R: LSF" { batchtools_of lsf; }

@test "rslurm of R" {
    needs r-cran-rslurm Rscript -e 'library(rslurm)'
    timeout 120 Rscript "$FLOWS/rslurm_flow.R" 2>&1 | tee said
    grep -q '^values 7 7 7 7 7 7' said
}

engines_of() {
    needs python3-ipyparallel "$python" -c 'import ipyparallel'
    timeout 200 "$python" "$FLOWS/ipyparallel_flow.py" "$1" 2>&1 | tee said
    grep -q '^engines 2$' said
    quiet
}
@test "ipyparallel: engines in a job of Slurm" { engines_of slurm; }
@test "ipyparallel: engines in an array of LSF" { engines_of lsf; }

@test "ClusterShell: groups of nodes by partition, state, job and user" {
    needs clustershell nodeset --version
    local conf=/etc/clustershell/groups.conf.d/slurm.conf.example
    [ -r "$conf" ] || skip "clustershell has no $conf"
    mkdir -p config/groups.conf.d
    cp "$conf" config/groups.conf.d/slurm.conf
    printf '[Main]\ndefault: sp\nconfdir: %s\n' "$PWD/config/groups.conf.d" > config/groups.conf
    id=$(sbatch --parsable -N2 --wrap 'sleep 60')
    until [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]; do sleep 0.1; done
    nodes() { CLUSTERSHELL_CFGDIR="$PWD/config" nodeset -f "$@"; }
    [ "$(nodes @sp:main)" = "node[1-4]" ]
    [ "$(nodes "@sj:$id")" = "node[1-2]" ]
    [ "$(nodes "@su:$USER")" = "node[1-2]" ]
    [ "$(nodes @st:idle)" = "node[3-4]" ]
    scancel "$id"
    quiet
}

arc_of() {
    needs nordugrid-arc-arex test -r /usr/share/arc/SLURM.pm
    id=$(sbatch --parsable -J arc -n3 -o /dev/null --wrap 'sleep 60')
    until [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]; do sleep 0.1; done
    perl "$FLOWS/arc_info.pl" "$1" "$(dirname "$(command -v sbatch)")" "$id$2" | tee said
    [ "$(grep -v '^job' said)" = "$(printf 'cluster 32 3\nqueue 32')" ]
    grep -q '^job R' said
    scancel "$id"
    quiet
}
@test "ARC's provider for Slurm" { arc_of SLURM ""; }
@test "ARC's provider for PBS" { arc_of PBS ".remuda"; }
@test "ARC's provider for LSF" { arc_of LSF ""; }

@test "MPICH's launcher of LSF: mpiexec -launcher lsf, through blaunch" {
    needs mpich mpiexec.hydra --version
    cat > job.sh <<'END'
#BSUB -n 4 -R "span[ptile=2]" -W 5
mpiexec.hydra -launcher lsf -rmk lsf -n 4 sh -c 'echo rank $PMI_RANK'
END
    timeout 100 bsub -K -o out < job.sh
    [ "$(grep -c '^rank [0-3]$' out)" -eq 4 ]
}
