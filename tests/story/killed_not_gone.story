# Three jobs outlive their limit and SIGTERM, and go one after the other in the same moment. The one that waits for all their CPUs starts then: a short job of lower
# precedence does not slip in between, to be stopped at once.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=3
PartitionName=main Nodes=ALL Default=YES
PartitionName=high Nodes=ALL PriorityTier=9
nodes n1 cpus=3 mem=2000
submit array=0-3 mem=144 runs=10 limit=0:07 stubborn
at 5
submit partition=high tasks=3 mem=300 runs=30 limit=10:00
run 60
----
[00:00:01] 1_0 PENDING > RUNNING on n1
[00:00:01] 1_1 PENDING > RUNNING on n1
[00:00:01] 1_2 PENDING > RUNNING on n1
[00:00:08] 1_0 RUNNING > COMPLETING (TimeLimit)
[00:00:08] 1_2 RUNNING > COMPLETING (TimeLimit)
[00:00:08] 1_1 RUNNING > COMPLETING (TimeLimit)
[00:00:11] 1_0 COMPLETING > TIMEOUT 0:9 (TimeLimit)
[00:00:11] 1_2 COMPLETING > TIMEOUT 0:9 (TimeLimit)
[00:00:11] 1_1 COMPLETING > TIMEOUT 0:9 (TimeLimit)
[00:00:11] 5 PENDING > RUNNING on n1
[00:00:41] 5 RUNNING > COMPLETED
[00:00:41] 1_3 PENDING > RUNNING on n1
[00:00:48] 1_3 RUNNING > COMPLETING (TimeLimit)
[00:00:51] 1_3 COMPLETING > TIMEOUT 0:9 (TimeLimit)
