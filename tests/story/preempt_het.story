# A heterogeneous job takes victims for all of its components together: none goes for a part of it alone, and no more than are needed.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
PriorityType=priority/multifactor
nodes n[1-3] cpus=2 mem=2000
submit tasks=2 runs=300 limit=10:00                  # 1
at 50
submit tasks=2 runs=300 limit=10:00                  # 2
at 100
submit tasks=2 runs=300 limit=10:00 norequeue        # 3
at 150
submit tasks=2 runs=60 limit=5:00 partition=high : tasks=2 partition=high # 4+0, 4+1: 2 and 3 have lost least
run 900
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:50] 2 PENDING > RUNNING on n2
[00:01:40] 3 PENDING > RUNNING on n3
[00:02:30] 3 RUNNING > COMPLETING (Preempted)
[00:02:30] 2 RUNNING > REQUEUED (Preempted)
[00:02:30] 3 COMPLETING > PREEMPTED 0:15 (Preempted)
[00:02:30] 2 REQUEUED > PENDING
[00:02:30] 4+0 PENDING > RUNNING on n2
[00:02:30] 4+1 PENDING > RUNNING on n3
[00:03:30] 4+0 RUNNING > COMPLETED
[00:03:30] 4+1 RUNNING > COMPLETED
[00:03:30] 2 PENDING > RUNNING on n2
[00:05:01] 1 RUNNING > COMPLETED
[00:08:30] 2 RUNNING > COMPLETED
