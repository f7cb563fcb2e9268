# A short job may pass a waiting wide one, if it cannot delay it.
nodes n[1-4] cpus=1 mem=2000
submit nodes=3 limit=2:00:00 runs=3600
submit nodes=4 limit=1:00:00 runs=60
submit nodes=1 limit=30:00 runs=1700
submit nodes=1 limit=3:00:00 runs=10
run 4000
----
[00:00:01] 1 PENDING > RUNNING on n[1-3]
[00:00:01] 3 PENDING > RUNNING on n4
[00:28:21] 3 RUNNING > COMPLETED
[01:00:01] 1 RUNNING > COMPLETED
[01:00:01] 2 PENDING > RUNNING on n[1-4]
[01:01:01] 2 RUNNING > COMPLETED
[01:01:01] 4 PENDING > RUNNING on n1
[01:01:11] 4 RUNNING > COMPLETED
