# The controller dies during the grace of a victim and keeps to what it had said; one that is suspended for others goes on after a crash, too.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=low Nodes=n1 Default=YES GraceTime=30
PartitionName=soft Nodes=n2 PreemptMode=SUSPEND
PartitionName=high Nodes=ALL PriorityTier=2
nodes n[1-2] cpus=1 mem=2000
submit runs=100 limit=5:00
submit runs=100 limit=5:00 partition=soft mem=10
at 10
submit runs=40 limit=1:00 partition=high nodes=1
submit runs=40 limit=1:00 partition=high nodes=1
at 20
crash 5
run 400
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:00:10] 2 RUNNING > SUSPENDED
[00:00:10] 3 PENDING > RUNNING on n2
[00:00:40] 1 RUNNING > REQUEUED (Preempted)
[00:00:40] 1 REQUEUED > PENDING
[00:00:40] 4 PENDING > RUNNING on n1
[00:00:50] 3 RUNNING > COMPLETED
[00:00:50] 2 SUSPENDED > RUNNING on n2
[00:01:20] 4 RUNNING > COMPLETED
[00:01:20] 1 PENDING > RUNNING on n1
[00:02:21] 2 RUNNING > COMPLETED
[00:03:00] 1 RUNNING > COMPLETED
