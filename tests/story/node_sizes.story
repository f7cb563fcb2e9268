# Of a list of numbers of nodes a job takes the largest that is free now; only where none is, the one that is free first.
nodes n[1-6] cpus=1 mem=2000
submit nodes=1-5:4 limit=10:00 runs=100             # 1: 5, not 6
submit nodes=2,4 limit=10:00 runs=100               # 2: waits, for 4
at 10
submit nodes=1,3 limit=1:00 runs=10                 # 3: one is free and not promised to anybody before it is over
at 200
submit nodes=2,6 limit=10:00 runs=50                # 4
submit nodes=7,9                                    # refused: there are six
submit nodes=3,3-1                                  # refused: no list
submit nodes=2,4 tasks=2 limit=10:00 runs=50        # 5: 2, for two tasks are no four nodes
run 3000
----
[00:00:01] 1 PENDING > RUNNING on n[1-5]
[00:00:10] 3 PENDING > RUNNING on n6
[00:00:20] 3 RUNNING > COMPLETED
[00:01:41] 1 RUNNING > COMPLETED
[00:01:41] 2 PENDING > RUNNING on n[1-4]
[00:03:20] 4 PENDING > RUNNING on n[5-6]
refused: Requested node configuration is not available
refused: Node count specification invalid
[00:03:21] 2 RUNNING > COMPLETED
[00:03:21] 5 PENDING > RUNNING on n[1-2]
[00:04:10] 4 RUNNING > COMPLETED
[00:04:11] 5 RUNNING > COMPLETED
