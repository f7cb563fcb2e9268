# CANCEL with a grace: the victim is told, goes on while it lasts, and is ended; what cannot be requeued is cancelled, too. Only as much as is needed goes.
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=20
PartitionName=fast Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE
PartitionName=safe Nodes=ALL PriorityTier=1 PreemptMode=OFF
PartitionName=high Nodes=ALL PriorityTier=2
nodes n1 cpus=4 mem=2000
submit runs=300 limit=10:00
submit runs=300 limit=10:00 partition=safe
submit runs=300 limit=10:00 partition=fast norequeue
at 10
submit runs=300 limit=10:00
at 20
submit tasks=1 runs=30 limit=5:00 partition=high
submit tasks=1 runs=60 limit=5:00 partition=high
submit tasks=2 runs=30 limit=5:00 partition=high
run 700
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:01] 3 PENDING > RUNNING on n1
[00:00:10] 4 PENDING > RUNNING on n1
[00:00:40] 4 RUNNING > COMPLETING (Preempted)
[00:00:40] 1 RUNNING > COMPLETING (Preempted)
[00:00:40] 4 COMPLETING > PREEMPTED 0:15 (Preempted)
[00:00:40] 5 PENDING > RUNNING on n1
[00:00:40] 1 COMPLETING > PREEMPTED 0:15 (Preempted)
[00:00:40] 6 PENDING > RUNNING on n1
[00:01:10] 5 RUNNING > COMPLETED
[00:01:10] 3 RUNNING > COMPLETING (Preempted)
[00:01:10] 3 COMPLETING > PREEMPTED 0:15 (Preempted)
[00:01:10] 7 PENDING > RUNNING on n1
[00:01:40] 6 RUNNING > COMPLETED
[00:01:40] 7 RUNNING > COMPLETED
[00:05:01] 2 RUNNING > COMPLETED
