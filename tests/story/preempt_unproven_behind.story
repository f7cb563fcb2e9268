# The same for one that is not the first of its partition that waits: job 3 is promised the large node, job 4 behind it has stopped job 1 for the other node's GPUs, and gets them as soon as both are clean.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
nodes n1 cpus=4 mem=4000 gres=gpu:v100:2
nodes n2 cpus=16 mem=4000
submit gres=gpu:1 mem=100 runs=300 stuck=20 limit=10:00         # 1: gives way
submit partition=high tasks=16 mem=100 runs=400 limit=10:00     # 2
at 30
submit partition=high tasks=16 mem=100 runs=60 limit=5:00       # 3
submit partition=high gres=gpu:2 mem=100 runs=60 limit=5:00     # 4
run 600
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:00:30] 1 RUNNING > REQUEUED (Preempted)
[00:00:33] n1: gpu 0 is not used: a process of job 1 still holds it
[00:00:33] 1 REQUEUED > PENDING
[00:00:57] n1: all devices may be given
[00:00:57] 4 PENDING > RUNNING on n1
[00:01:57] 4 RUNNING > COMPLETING
[00:01:57] 4 COMPLETING > COMPLETED
[00:01:57] 1 PENDING > RUNNING on n1
[00:06:41] 2 RUNNING > COMPLETED
[00:06:41] 3 PENDING > RUNNING on n2
[00:06:57] 1 RUNNING > COMPLETING
[00:07:00] n1: gpu 0 is not used: a process of job 1 still holds it
[00:07:00] 1 COMPLETING > COMPLETED
[00:07:20] n1: all devices may be given
[00:07:41] 3 RUNNING > COMPLETED
