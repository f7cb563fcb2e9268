# What a reservation's job would free stays the reservation's: no job outside it takes such victims. Inside, tiers count as elsewhere, and its jobs may stop what stands on its nodes.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
nodes n[1-2] cpus=2 mem=2000
submit tasks=2 runs=900 limit=30:00 norequeue        # 1: on n1, before the reservation is made over it
reserve class start=10 length=20:00 nodes=n1 flags=IGNORE_JOBS
reserve part start=10 length=20:00 nodes=n2
at 20
submit tasks=2 runs=300 limit=10:00 reservation=part # 2: n2
at 60
submit tasks=2 runs=60 limit=5:00 partition=high     # 3: neither: n2 is kept for part, n1 for class
at 100
submit tasks=2 runs=60 limit=5:00 partition=high reservation=part  # 4: stops 2
at 200
submit tasks=2 runs=60 limit=5:00 partition=high reservation=class # 5: stops 1
run 3000
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] reservation class keeps n1 from 00:00:10 to 00:20:10
[00:00:01] reservation part keeps n2 from 00:00:10 to 00:20:10
[00:00:20] 2 PENDING > RUNNING on n2
[00:01:40] 2 RUNNING > REQUEUED (Preempted)
[00:01:40] 2 REQUEUED > PENDING
[00:01:40] 4 PENDING > RUNNING on n2
[00:02:40] 4 RUNNING > COMPLETED
[00:02:40] 2 PENDING > RUNNING on n2
[00:03:20] 1 RUNNING > COMPLETING (Preempted)
[00:03:20] 1 COMPLETING > PREEMPTED 0:15 (Preempted)
[00:03:20] 5 PENDING > RUNNING on n1
[00:04:20] 5 RUNNING > COMPLETED
[00:07:40] 2 RUNNING > COMPLETED
[00:20:10] reservation class is gone
[00:20:10] reservation part is gone
[00:20:10] 3 PENDING > RUNNING on n1
[00:21:10] 3 RUNNING > COMPLETED
