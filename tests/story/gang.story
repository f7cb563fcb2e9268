# OverSubscribe=FORCE with GANG: jobs that share CPUs run in turn, a slice each; the second CPU is never shared by more than two.
PreemptMode=GANG,SUSPEND
SchedulerTimeSlice=10
PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:2
nodes n1 cpus=1 mem=2000
submit runs=25 limit=2:00
submit runs=25 limit=2:00
submit runs=5 limit=2:00
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > SUSPENDED
[00:00:11] 2 SUSPENDED > RUNNING on n1
[00:00:11] 1 RUNNING > SUSPENDED
[00:00:21] 1 SUSPENDED > RUNNING on n1
[00:00:21] 2 RUNNING > SUSPENDED
[00:00:31] 2 SUSPENDED > RUNNING on n1
[00:00:31] 1 RUNNING > SUSPENDED
[00:00:41] 1 SUSPENDED > RUNNING on n1
[00:00:41] 2 RUNNING > SUSPENDED
[00:00:46] 1 RUNNING > COMPLETED
[00:00:46] 3 PENDING > SUSPENDED
[00:00:46] 2 SUSPENDED > RUNNING on n1
[00:00:51] 3 SUSPENDED > RUNNING on n1
[00:00:51] 2 RUNNING > SUSPENDED
[00:00:55] 3 RUNNING > COMPLETED
[00:00:55] 2 SUSPENDED > RUNNING on n1
[00:00:56] 2 RUNNING > COMPLETED
