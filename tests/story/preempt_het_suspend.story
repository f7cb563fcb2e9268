# The same with PreemptMode=SUSPEND,GANG: the victims of both components stop at once, and go on when it has ended.
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
nodes n[1-3] cpus=2 mem=2000
submit tasks=2 runs=300 limit=10:00                  # 1
submit tasks=2 runs=300 limit=10:00                  # 2
submit tasks=1 runs=300 limit=10:00                  # 3
at 50
submit tasks=2 runs=60 limit=5:00 partition=high : tasks=1 partition=high : tasks=1 partition=high # 4
run 900
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:00:01] 3 PENDING > RUNNING on n3
[00:00:50] 1 RUNNING > SUSPENDED
[00:00:50] 2 RUNNING > SUSPENDED
[00:00:50] 4+0 PENDING > RUNNING on n1
[00:00:50] 4+1 PENDING > RUNNING on n3
[00:00:50] 4+2 PENDING > RUNNING on n2
[00:01:50] 4+0 RUNNING > COMPLETED
[00:01:50] 4+1 RUNNING > COMPLETED
[00:01:50] 4+2 RUNNING > COMPLETED
[00:01:50] 1 SUSPENDED > RUNNING on n1
[00:01:50] 2 SUSPENDED > RUNNING on n2
[00:05:01] 3 RUNNING > COMPLETED
[00:06:01] 2 RUNNING > COMPLETED
[00:06:01] 1 RUNNING > COMPLETED
