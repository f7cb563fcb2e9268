# Steps of one allocation: side by side, waiting for each other, too large, over their limit, cancelled, and ended with the job.
KillWait=3
nodes n[1-2] cpus=4 mem=2000
alloc nodes=2 tasks=8 mem=100
at 2
step 1 tasks=2 nodes=1 exact runs=10
step 1 tasks=6 exact runs=5 exit=4
step 1 tasks=1 runs=5
step 1 tasks=9
step 1 nodes=3
step 1 tasks=1 immediate
step 1 tasks=1 overlap runs=3
at 30
step 1 tasks=2 limit=0:10 runs=60
at 50
step 1 tasks=2 runs=100 stubborn
at 55
cancel 1.5
at 70
step 1 tasks=8 runs=100
finish 1
run 100
----
[00:00:01] 1 PENDING > RUNNING on n[1-2]
[00:00:02] 1.0 RUNNING on n1: n1 cpus=0,1 mem=100 tasks=2 ids=0,1
[00:00:02] 1.1 RUNNING on n[1-2]: n1 cpus=2,3 mem=100 tasks=2 ids=0,1; n2 cpus=0-3 mem=100 tasks=4 ids=2-5
refused: More processors requested than permitted
refused: More processors requested than permitted
refused: Requested nodes are busy
[00:00:02] 1.2 RUNNING on n1: n1 cpus=0-3 mem=100 tasks=1 ids=0
[00:00:05] 1.2 COMPLETED
[00:00:07] 1.1 FAILED 4:0
[00:00:07] 1.3 RUNNING on n2: n2 cpus=0-3 mem=100 tasks=1 ids=0
[00:00:12] 1.0 COMPLETED
[00:00:12] 1.3 COMPLETED
[00:00:30] 1.4 RUNNING on n[1-2]: n1 cpus=0-3 mem=100 tasks=1 ids=0; n2 cpus=0-3 mem=100 tasks=1 ids=1
[00:00:40] 1.4 TIMEOUT 0:15
[00:00:50] 1.5 RUNNING on n[1-2]: n1 cpus=0-3 mem=100 tasks=1 ids=0; n2 cpus=0-3 mem=100 tasks=1 ids=1
[00:00:55] 1.5 CANCELLED 0:9
[00:01:10] 1.6 RUNNING on n[1-2]: n1 cpus=0-3 mem=100 tasks=4 ids=0-3; n2 cpus=0-3 mem=100 tasks=4 ids=4-7
[00:01:10] 1 RUNNING > COMPLETING
[00:01:10] 1.6 CANCELLED 0:15
[00:01:10] 1 COMPLETING > COMPLETED
