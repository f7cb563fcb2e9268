# Who has stopped another for its GPU gets both GPUs of the node, though the one that came free is held by a leftover for 20 seconds: meanwhile nobody takes the other, neither the
# victim, coming back, nor a third. A GPU that is still not clean after five minutes is no longer counted on: others go on, and it is used again when it is clean.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
PartitionName=low Nodes=ALL Default=YES PriorityTier=1
PartitionName=high Nodes=ALL PriorityTier=2
nodes n1 cpus=8 mem=4000 gres=gpu:v100:2
submit gres=gpu:1 mem=100 runs=300 stuck=20 limit=10:00         # 1: gives way
at 30
submit partition=high gres=gpu:1 mem=100 runs=60 limit=5:00 : partition=high gres=gpu:1 mem=100 # 2+0, 2+1
submit gres=gpu:1 mem=100 runs=300 limit=10:00                  # 4: waits like 1
at 700
submit gres=gpu:1 mem=100 runs=100 stuck=400 limit=10:00        # 5
at 710
submit partition=high gres=gpu:2 mem=100 runs=60 limit=5:00     # 6 stops 5, whose GPU stays held for long
run 1600
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:30] 1 RUNNING > REQUEUED (Preempted)
[00:00:33] n1: gpu 0 is not used: a process of job 1 still holds it
[00:00:33] 1 REQUEUED > PENDING
[00:01:02] n1: all devices may be given
[00:01:02] 2+0 PENDING > RUNNING on n1
[00:01:02] 2+1 PENDING > RUNNING on n1
[00:02:02] 2+0 RUNNING > COMPLETING
[00:02:02] 2+1 RUNNING > COMPLETED
[00:02:02] 4 PENDING > RUNNING on n1
[00:02:02] 2+0 COMPLETING > COMPLETED
[00:02:02] 1 PENDING > RUNNING on n1
[00:07:02] 4 RUNNING > COMPLETING
[00:07:02] 4 COMPLETING > COMPLETED
[00:07:02] 1 RUNNING > COMPLETING
[00:07:05] n1: gpu 0 is not used: a process of job 1 still holds it
[00:07:05] 1 COMPLETING > COMPLETED
[00:07:25] n1: all devices may be given
[00:11:40] 5 PENDING > RUNNING on n1
[00:11:50] 5 RUNNING > REQUEUED (Preempted)
[00:11:53] n1: gpu 0 is not used: a process of job 5 still holds it
[00:11:53] 5 REQUEUED > PENDING
[00:16:50] 5 PENDING > RUNNING on n1
[00:18:30] 5 RUNNING > COMPLETING
[00:18:30] n1: all devices may be given
[00:18:33] n1: gpu 1 is not used: a process of job 5 still holds it
[00:18:33] 5 COMPLETING > COMPLETED
[00:25:17] n1: all devices may be given
[00:25:17] 6 PENDING > RUNNING on n1
[00:26:17] 6 RUNNING > COMPLETING
[00:26:17] 6 COMPLETING > COMPLETED
