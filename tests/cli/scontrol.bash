# A cluster of two virtual nodes for scontrol.
setup_file() {
    cluster <<'END'
ClusterName=control
Licenses=matlab:4,ansys:2
KillWait=1
NodeName=n[1-2] CPUs=4 RealMemory=4000 Gres=gpu:v100:2 Feature=fast Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=short Nodes=n1 MaxTime=30 DefaultTime=1
PartitionName=secret Nodes=n2 Hidden=YES
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

# A field of a record in its one-line form.
field() { tr ' ' '\n' | sed -n "s|^$1=||p"; }
job() { scontrol show job "$1" -o | field "$2"; }
held() { sbatch --parsable --hold -o /dev/null "$@" --wrap 'sleep 30'; }
