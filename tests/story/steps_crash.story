# Steps go on while the controller and a node's daemon are away; a lost machine ends its step, and the job that goes on without it makes another.
AttachGrace=1000
KillWait=2
nodes n[1-3] cpus=2 mem=2000
alloc nodes=3 tasks=6 nokill
at 2
step 1 tasks=6 runs=20
at 5
crash 3
crash-agent n2 30
at 45
step 1 tasks=3 exact runs=500
step 1 tasks=3 exact runs=200 nokill
at 50
lose n3 100
at 60
cut n1 5
at 150
step 1 tasks=1 runs=5
run 300
----
[00:00:01] 1 PENDING > RUNNING on n[1-3]
[00:00:02] 1.0 RUNNING on n[1-3]: n1 cpus=0-1 mem=1 tasks=2 ids=0,1; n2 cpus=0-1 mem=1 tasks=2 ids=2,3; n3 cpus=0-1 mem=1 tasks=2 ids=4,5
[00:00:35] 1.0 COMPLETED
[00:00:45] 1.1 RUNNING on n[1-3]: n1 cpus=0 mem=1 tasks=1 ids=0; n2 cpus=0 mem=1 tasks=1 ids=1; n3 cpus=0 mem=1 tasks=1 ids=2
[00:00:45] 1.2 RUNNING on n[1-3]: n1 cpus=1 mem=1 tasks=1 ids=0; n2 cpus=1 mem=1 tasks=1 ids=1; n3 cpus=1 mem=1 tasks=1 ids=2
[00:01:50] 1.1 NODE_FAIL 0:15
[00:04:05] 1.2 CANCELLED 0:9
[00:04:05] 1.3 RUNNING on n1: n1 cpus=0-1 mem=1 tasks=1 ids=0
[00:04:10] 1.3 COMPLETED
