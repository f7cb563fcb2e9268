# A cluster of virtual nodes shaped like DTU's and Satori's, and jobs of bsub there.
setup_file() {
    cluster <<'END'
ClusterName=dcc
KillWait=1
LsfReservePer=slot
NodeName=n[1-2] CPUs=32 RealMemory=384000 Gres=gpu:v100:2 Feature=gpu32gb,XeonGold6226R Virtual=YES
NodeName=satori[1-2] CPUs=160 RealMemory=1100000 Gres=gpu:4 Virtual=YES
PartitionName=hpc Nodes=n[1-2] Default=YES MaxTime=1-00:00:00
PartitionName=gpuv100 Nodes=n[1-2] MaxTime=1-00:00:00
PartitionName=normal Nodes=satori[1-2]
PartitionName=normalx Nodes=satori[1-2]
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

on_terminal() { script -qec "$1" /dev/null < /dev/null; }
id_of() { grep -o 'Job <[0-9]*>' <<< "$1" | tr -dc 0-9; }
not() { ! "$@"; }
reported() { grep -qs 'above this job summary' "$1"; }
# Runs bsub with these words; its job is $id.
submitted() {
    run -0 --separate-stderr bsub "$@"
    id=$(id_of "$output")
}
