# Steps of srun --async: no command stands behind them. They wait for room and for each other, live through a crash of the controller, are cancelled while they wait
# and while they run, stop with their job's suspension, and end with it; a requeued job has none of them.
KillWait=3
AttachGrace=1000
nodes n[1-2] cpus=4 mem=2000
alloc nodes=1 tasks=4 mem=100
at 2
step 1 tasks=4 async runs=20
step 1 tasks=4 async runs=10 exit=3 after=afterok:1.0
step 1 tasks=1 exact async runs=5 after=afternotok:1.1
step 1 tasks=1 exact async runs=5 after=afterok:1.1
step 1 tasks=1 exact async runs=50 after=after:1.1
step 1 tasks=9 async
step 1 tasks=1 async after=afterok:1.77
step 1 tasks=1 async after=afterok:7.0
step 1 tasks=4 async immediate
at 5
crash 3
at 33
cancel 1.4
at 50
step 1 tasks=4 async runs=20
step 1 tasks=4 async runs=20
step 1 tasks=4 async runs=20 after=afterok:1.6
at 55
cancel 1.6
at 58
suspend 1
at 60
resume 1
at 62
step 1 tasks=4 async runs=100
finish 1
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:02] 1.0 RUNNING on n1: n1 cpus=0-3 mem=100 tasks=4 ids=0-3
[00:00:02] 1.1 PENDING
[00:00:02] 1.2 PENDING
[00:00:02] 1.3 PENDING
[00:00:02] 1.4 PENDING
refused: More processors requested than permitted
refused: Job dependency problem
refused: Job dependency problem
refused: Requested nodes are busy
[00:00:22] 1.0 COMPLETED
[00:00:22] 1.1 RUNNING on n1: n1 cpus=0-3 mem=100 tasks=4 ids=0-3
[00:00:32] 1.1 FAILED 3:0
[00:00:32] 1.2 RUNNING on n1: n1 cpus=0 mem=100 tasks=1 ids=0
[00:00:32] 1.3 CANCELLED
[00:00:32] 1.4 RUNNING on n1: n1 cpus=1 mem=100 tasks=1 ids=0
[00:00:33] 1.4 CANCELLED 0:15
[00:00:37] 1.2 COMPLETED
[00:00:50] 1.5 RUNNING on n1: n1 cpus=0-3 mem=100 tasks=4 ids=0-3
[00:00:50] 1.6 PENDING
[00:00:50] 1.7 PENDING
[00:00:55] 1.6 CANCELLED
[00:00:55] 1.7 CANCELLED
[00:00:58] 1 RUNNING > SUSPENDED
[00:01:00] 1 SUSPENDED > RUNNING on n1
[00:01:02] 1.8 PENDING
[00:01:02] 1.8 CANCELLED
[00:01:02] 1 RUNNING > COMPLETING
[00:01:02] 1.5 CANCELLED 0:15
[00:01:02] 1 COMPLETING > COMPLETED
