# A cluster of virtual nodes for the rows of spec/dialects.md, and jobs of bsub and qsub that wait there.
setup_file() {
    cluster <<'END'
ClusterName=head
KillWait=1
NodeName=n[1-2] CPUs=16 RealMemory=64000 Gres=gpu:2 Feature=bigmem,XeonA Virtual=YES
NodeName=s1 CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=256000 Gres=gpu:4 Feature=power9 Virtual=YES
PartitionName=workq Nodes=n[1-2],s1 Default=YES MaxTime=1-00:00:00
PartitionName=endless Nodes=s1
PartitionName=closed Nodes=s1 AllowGroups=nobody-is-in-it
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

# Runs bsub with these words, held; its job is $id.
held() {
    run -0 --separate-stderr bsub -H -o /dev/null "$@" sleep 100
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
}
shown() { squeue -h -j "$id" -O "$1:100" | sed 's/ *$//'; }
queued() {
    run -0 --separate-stderr qsub -h "$@" <<< 'sleep 100'
    id=${output%%[.[]*}
}
over() { [ "$(qstat -x "$1" | tail -1 | awk '{print $5}')" = F ]; }
