# SUSPEND: the victim stops, keeps its memory, and goes on when the other has ended; its limit waits.
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
nodes n1 cpus=2 mem=2000
submit tasks=2 runs=100 limit=3:00 mem=500
at 10
submit tasks=2 runs=60 limit=5:00 partition=high mem=500
at 20
submit tasks=1 runs=20 limit=1:00 mem=100
submit tasks=1 runs=20 limit=1:00 mem=1800 partition=high
run 700
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:10] 1 RUNNING > SUSPENDED
[00:00:10] 2 PENDING > RUNNING on n1
[00:01:10] 2 RUNNING > COMPLETED
[00:01:10] 1 SUSPENDED > RUNNING on n1
[00:02:41] 1 RUNNING > COMPLETED
[00:02:41] 4 PENDING > RUNNING on n1
[00:02:41] 3 PENDING > RUNNING on n1
[00:03:01] 4 RUNNING > COMPLETED
[00:03:01] 3 RUNNING > COMPLETED
