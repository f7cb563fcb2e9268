# A held job waits; released it runs. A begin time is waited for.
nodes n1 cpus=1 mem=2000
submit hold runs=5
submit begin=50 runs=5
at 20
release 1
run 100
----
[00:00:20] 1 PENDING > RUNNING on n1
[00:00:25] 1 RUNNING > COMPLETED
[00:00:50] 2 PENDING > RUNNING on n1
[00:00:55] 2 RUNNING > COMPLETED
