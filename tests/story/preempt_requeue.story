# A partition of higher tier takes what it needs: the job that has run least is requeued, and starts again when the other has ended.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
PriorityType=priority/multifactor
nodes n[1-2] cpus=2 mem=2000
submit tasks=2 runs=300 limit=10:00
at 100
submit tasks=2 runs=300 limit=10:00
at 150
submit tasks=2 runs=60 limit=5:00 partition=high
at 152
submit tasks=1 runs=20 limit=1:00
run 700
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:01:40] 2 PENDING > RUNNING on n2
[00:02:30] 2 RUNNING > REQUEUED (Preempted)
[00:02:30] 2 REQUEUED > PENDING
[00:02:30] 3 PENDING > RUNNING on n2
[00:03:30] 3 RUNNING > COMPLETED
[00:03:30] 2 PENDING > RUNNING on n2
[00:05:01] 1 RUNNING > COMPLETED
[00:05:01] 4 PENDING > RUNNING on n1
[00:05:21] 4 RUNNING > COMPLETED
[00:08:30] 2 RUNNING > COMPLETED
