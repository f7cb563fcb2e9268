# A store that was restored has a job that runs, and nobody knows for how long it has: GpuIdle counts by the GPUs, which its node tells.
PartitionName=main Nodes=ALL Default=YES GpuIdle=warn:20s,cancel:1m,grace:5s
nodes n1 cpus=4 mem=2000 gres=gpu:v100:1
submit runs=1000 gres=gpu:1
at 10
backup
at 20
restore 5
run 400
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:01:45] 1 RUNNING > COMPLETING (GpuIdle)
[00:01:45] 1 COMPLETING > CANCELLED 0:15 (GpuIdle)
