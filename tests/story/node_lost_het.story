# A machine dies under one component: all of its job are over, a script's that goes back as well as an allocation's. One that does without the node goes on.
SlurmdTimeout=20
KillWait=2
AttachGrace=1000
nodes n[1-7] cpus=2 mem=2000
alloc tasks=2 : tasks=2                               # 1+0, 1+1
submit tasks=2 runs=100 limit=10:00 : tasks=2         # 3+0, 3+1
alloc nodes=2 tasks=4 nokill : tasks=2 nokill        # 5+0, 5+1
at 5
step 1 tasks=2 runs=900
at 10
lose n1 1000
at 60
lose n4 1000
at 120
lose n6 1000
run 400
----
[00:00:01] 1+0 PENDING > RUNNING on n1
[00:00:01] 1+1 PENDING > RUNNING on n2
[00:00:01] 3+0 PENDING > RUNNING on n3
[00:00:01] 3+1 PENDING > RUNNING on n4
[00:00:01] 5+0 PENDING > RUNNING on n[5-6]
[00:00:01] 5+1 PENDING > RUNNING on n7
[00:00:05] 1.0 RUNNING on n1: n1 cpus=0-1 mem=1 tasks=2 ids=0,1
[00:00:30] 1.0 CANCELLED 0:9
[00:00:30] 1+0 RUNNING > NODE_FAIL (NodeDown)
[00:00:30] 1+1 RUNNING > NODE_FAIL (NodeDown)
[00:01:20] 3+0 RUNNING > REQUEUED (NodeDown)
[00:01:20] 3+1 RUNNING > PENDING
[00:01:20] 3+0 REQUEUED > PENDING
[00:01:20] 3+0 PENDING > RUNNING on n2
[00:01:20] 3+1 PENDING > RUNNING on n3
[00:03:00] 3+0 RUNNING > COMPLETED
[00:03:00] 3+1 RUNNING > COMPLETED
