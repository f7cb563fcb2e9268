#!/usr/bin/env bats
# scontrol write config: what it writes is the configuration it was written of, key by key.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=rt
MailDomain="x#y"
DefCpuPerGPU=1,a100:2
NodeName=n[1-2] Boards=2 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000 MemSpecLimit=1000 CoreSpecCount=1 TmpDisk=500 Weight=3 CpuBind=core Gres=gpu:a100:2 Feature=x,y Virtual=YES
NodeName=n3 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000 Devices=gpu:v100:0:16384::G-0;gpu:v100:1:16384::G-1 Gres=gpu:v100:2 Virtual=YES
NodeName=f1 CPUs=4 RealMemory=1000 State=FUTURE
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=1-0 DefaultTime=1:00:00 MinNodes=1 MaxNodes=2 MaxCPUsPerNode=8 MaxCPUsPerSocket=4 \
  MaxMemPerNode=60000 DefMemPerNode=1000 DefMemPerGPU=500,a100:700 DefCpuPerGPU=4,a100:8 AllowGroups=root DenyAccounts=bad DenyQos=worse \
  AllocNodes=vm QOS=normal TimeWindows="weekdays 08:00-18:00 max_jobs_per_user=2 max_time=4:00:00" PriorityTier=5 PriorityJobFactor=7 \
  PreemptMode=REQUEUE GpuIdle=warn:1h GraceTime=30 OverTimeLimit=5 OverSubscribe=FORCE:2 ExclusiveUser=YES Hidden=YES RootOnly=YES \
  ReqResv=YES LLN=YES DisableRootJobs=YES CpuBind=socket TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu=2" State=DRAIN
PartitionName=b Nodes=n1 Alternate=all AllowAccounts=root AllowQos=normal DefMemPerCPU=10 MaxMemPerCPU=20 OverSubscribe=EXCLUSIVE
END
}

teardown_file() { remuda down; }

setup() { cd "$WORK" || exit 1; }

# All that is configured, as it is shown; what the daemons find out is left out.
shown() {
    scontrol show partition -a
    scontrol show config | grep -vE '^(BOOT_TIME|SLURM_CONF|StateSaveLocation|Configuration)'
    for node in n1 n3 f1; do
        scontrol show node "$node" 2>&1 | grep -E 'NodeName|CPUTot|Features|Gres=|RealMemory|Sockets|TmpDisk|CfgTRES|Spec|not found'
    done
    sinfo -h -a -N -o '%N %c %z %m %d %w %f %G' | sort -u
}

@test "show config has JobDefaults of the cluster" {
    [ "$(scontrol show config | sed -n 's/^JobDefaults *= //p')" = "DefCpuPerGPU=1,a100:2" ]
    scontrol show partition b | grep -q 'JobDefaults=DefCpuPerGPU=1,a100:2'
}

@test "write config: every key of nodes and partitions comes back, by a cluster of the file" {
    scontrol update PartitionName=b AllowAccounts=$'root,a\rb' DenyQos='worse\'
    shown > before
    scontrol write config "$WORK/conf"
    local key lacks=
    for key in Nodes Default State MaxTime DefaultTime MinNodes MaxNodes MaxCPUsPerNode MaxMemPerNode MaxMemPerCPU DefMemPerNode DefMemPerCPU JobDefaults \
        AllowGroups AllowAccounts DenyAccounts AllowQos DenyQos AllocNodes QOS Alternate TimeWindows PriorityTier PriorityJobFactor PreemptMode GpuIdle \
        GraceTime OverTimeLimit OverSubscribe ExclusiveUser Hidden RootOnly ReqResv LLN DisableRootJobs CpuBind MaxCPUsPerSocket TRESBillingWeights; do
        grep -q "^PartitionName=.* $key=" conf.2* || lacks+=" $key"
    done
    [ "$lacks" = "" ] || { echo "lacks$lacks"; false; }
    remuda down
    mkdir again
    mv conf.2* again/remuda.conf
    (
        export REMUDA_STATE="$WORK/again"
        remuda up -q 3>&-
        shown > after
        remuda down
    )
    remuda up -q 3>&-
    diff before after
}
