# Cores of a node are reserved: others have the rest, its jobs have no more than it keeps.
nodes n1 cpus=8 mem=8000
reserve half start=0 length=1:00:00 nodes=n1 cores=4
submit tasks=3 limit=10:00 runs=100 mem=10 reservation=half # 1
submit tasks=2 limit=10:00 runs=100 mem=10 reservation=half # 2: one is left inside
submit tasks=5 limit=10:00 runs=100 mem=10                  # 3: four are left outside
submit tasks=4 limit=10:00 runs=200 mem=10                  # 4
submit tasks=1 limit=10:00 runs=50 mem=10                   # 5: none is left outside, though one inside is idle
run 4000
----
[00:00:01] reservation half keeps n1 cpu=4 mem=4000 from 00:00:01 to 01:00:01
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 4 PENDING > RUNNING on n1
[00:01:41] 1 RUNNING > COMPLETED
[00:01:41] 2 PENDING > RUNNING on n1
[00:03:21] 4 RUNNING > COMPLETED
[00:03:21] 5 PENDING > RUNNING on n1
[00:03:21] 2 RUNNING > COMPLETED
[00:04:11] 5 RUNNING > COMPLETED
[01:00:01] reservation half is gone
[01:00:01] 3 PENDING > RUNNING on n1
[01:01:41] 3 RUNNING > COMPLETED
