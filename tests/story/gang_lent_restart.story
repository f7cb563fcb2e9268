# Two jobs that share a CPU gave way to one of higher precedence; an operator stopped them and let them go on, beside that one. The controller that starts again finds one of
# them waiting for its turn, on a CPU that somebody has alone: that is as it was.
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
SchedulerTimeSlice=10
PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:2
PartitionName=high Nodes=ALL PriorityTier=9
nodes n1 cpus=1 mem=3000
submit runs=60 limit=10:00
submit runs=60 limit=10:00
at 5
submit partition=high runs=100 limit=5:00
at 20
suspend 1
suspend 2
resume 1
resume 2
at 33
crash 2
run 300
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > SUSPENDED
[00:00:05] 1 RUNNING > SUSPENDED
[00:00:05] 3 PENDING > RUNNING on n1
[00:00:20] 1 SUSPENDED > RUNNING on n1
[00:00:20] 2 SUSPENDED > RUNNING on n1
[00:00:20] 2 RUNNING > SUSPENDED
[00:00:30] 2 SUSPENDED > RUNNING on n1
[00:00:30] 1 RUNNING > SUSPENDED
[00:00:45] 1 SUSPENDED > RUNNING on n1
[00:00:45] 2 RUNNING > SUSPENDED
[00:00:55] 2 SUSPENDED > RUNNING on n1
[00:00:55] 1 RUNNING > SUSPENDED
[00:01:05] 1 SUSPENDED > RUNNING on n1
[00:01:05] 2 RUNNING > SUSPENDED
[00:01:15] 2 SUSPENDED > RUNNING on n1
[00:01:15] 1 RUNNING > SUSPENDED
[00:01:25] 1 SUSPENDED > RUNNING on n1
[00:01:25] 2 RUNNING > SUSPENDED
[00:01:35] 2 SUSPENDED > RUNNING on n1
[00:01:35] 1 RUNNING > SUSPENDED
[00:01:45] 1 SUSPENDED > RUNNING on n1
[00:01:45] 2 RUNNING > SUSPENDED
[00:01:45] 3 RUNNING > COMPLETED
[00:01:55] 2 SUSPENDED > RUNNING on n1
[00:01:55] 1 RUNNING > SUSPENDED
[00:02:05] 1 SUSPENDED > RUNNING on n1
[00:02:05] 2 RUNNING > SUSPENDED
[00:02:10] 1 RUNNING > COMPLETED
[00:02:10] 2 SUSPENDED > RUNNING on n1
[00:02:16] 2 RUNNING > COMPLETED
