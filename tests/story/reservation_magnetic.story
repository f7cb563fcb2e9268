# A magnetic reservation draws the jobs of its users, which did not ask for it: they run in it where it holds them, else elsewhere, and wait for nothing of it.
PriorityType=priority/multifactor
nodes n[1-3] cpus=1 mem=2000
reserve mag start=60 length=20:00 nodes=n3 flags=MAGNETIC
submit limit=10:00 runs=100 name=before             # 1: cannot end before it: n1
at 100
submit limit=10:00 runs=200 name=drawn              # 2: runs in it although n2 is free
submit limit=10:00 runs=200 name=beside             # 3: it is full: n1 or n2
submit limit=1:00:00 runs=200 name=long             # 4: does not fit into its time
submit nodes=3 limit=5:00 runs=60 name=wide         # 5: its nodes are too few: when it is over
at 400
submit runs=30 name=unlimited                       # 6: is not cut to its end: outside, after 5
at 500
rereserve mag flags=OVERLAP
submit limit=1:00 runs=30 name=after                # 7: draws nobody any more
run 3000
----
[00:00:01] reservation mag keeps n3 from 00:01:00 to 00:21:00
[00:00:01] 1 PENDING > RUNNING on n1
[00:01:40] 2 PENDING > RUNNING on n3
[00:01:40] 3 PENDING > RUNNING on n2
[00:01:41] 1 RUNNING > COMPLETED
[00:01:41] 4 PENDING > RUNNING on n1
[00:05:00] 2 RUNNING > COMPLETED
[00:05:00] 3 RUNNING > COMPLETED
[00:05:01] 4 RUNNING > COMPLETED
[00:08:20] reservation mag keeps n3 from 00:01:00 to 00:21:00
[00:08:20] 7 PENDING > RUNNING on n1
[00:08:50] 7 RUNNING > COMPLETED
[00:21:00] reservation mag is gone
[00:21:00] 5 PENDING > RUNNING on n[1-3]
[00:22:00] 5 RUNNING > COMPLETED
[00:22:00] 6 PENDING > RUNNING on n1
[00:22:30] 6 RUNNING > COMPLETED
