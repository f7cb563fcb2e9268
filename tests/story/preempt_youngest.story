# PreemptParameters=youngest_first: who has run least goes, though it is the larger.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PreemptParameters=youngest_first
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=20
PartitionName=high Nodes=ALL PriorityTier=2
nodes n1 cpus=6 mem=2000
submit tasks=2 runs=900 limit=30:00
at 40
submit tasks=4 runs=900 limit=30:00
at 100
submit tasks=2 runs=60 limit=5:00 partition=high
run 400
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:40] 2 PENDING > RUNNING on n1
[00:02:00] 2 RUNNING > REQUEUED (Preempted)
[00:02:00] 2 REQUEUED > PENDING
[00:02:00] 3 PENDING > RUNNING on n1
[00:03:00] 3 RUNNING > COMPLETED
[00:03:00] 2 PENDING > RUNNING on n1
