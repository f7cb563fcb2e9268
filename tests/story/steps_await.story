# A step with its command waits for one that is queued: it begins when that one begins (after) or can never begin (afterany), not only when something ends later. Steps that run when their script ends have KillWait to save what they have.
KillWait=5
nodes n1 cpus=4 mem=2000
submit tasks=4 runs=40
at 2
step 1 tasks=1 exact async runs=5
step 1 tasks=1 exact async after=afternotok:1.0 runs=5
step 1 tasks=1 exact after=afterany:1.1 runs=2
step 1 tasks=3 exact runs=3
step 1 tasks=2 exact async runs=4
step 1 tasks=1 overlap after=after:1.3 runs=3
at 30
step 1 tasks=1 exact stubborn runs=500
step 1 tasks=1 exact runs=500
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:02] 1.0 RUNNING on n1: n1 cpus=0 mem=1 tasks=1 ids=0
[00:00:02] 1.1 PENDING
[00:00:02] 1.2 RUNNING on n1: n1 cpus=1-3 mem=1 tasks=3 ids=0-2
[00:00:02] 1.3 PENDING
[00:00:05] 1.2 COMPLETED
[00:00:05] 1.3 RUNNING on n1: n1 cpus=1,2 mem=1 tasks=2 ids=0,1
[00:00:05] 1.4 RUNNING on n1: n1 cpus=0-3 mem=1 tasks=1 ids=0
[00:00:07] 1.0 COMPLETED
[00:00:07] 1.1 CANCELLED
[00:00:07] 1.5 RUNNING on n1: n1 cpus=0 mem=1 tasks=1 ids=0
[00:00:08] 1.4 COMPLETED
[00:00:09] 1.5 COMPLETED
[00:00:09] 1.3 COMPLETED
[00:00:30] 1.6 RUNNING on n1: n1 cpus=0 mem=1 tasks=1 ids=0
[00:00:30] 1.7 RUNNING on n1: n1 cpus=1 mem=1 tasks=1 ids=0
[00:00:41] 1 RUNNING > COMPLETING
[00:00:41] 1.7 CANCELLED 0:15
[00:00:46] 1.6 CANCELLED 0:9
[00:00:46] 1 COMPLETING > COMPLETED
