# In the last minute of a reservation nobody starts whose run its end would cut to less than that; who fits into it whole does.
nodes n[1-2] cpus=1 mem=2000
reserve class start=60 length=10:00 nodes=n1
submit limit=9:30 runs=570 reservation=class         # 1: until half a minute before its end
at 100
submit limit=5:00 runs=200 reservation=class         # 2: would have half a minute
submit limit=0:20 runs=10 reservation=class         # 3: has its time
run 700
----
[00:00:01] reservation class keeps n1 from 00:01:00 to 00:11:00
[00:01:00] 1 PENDING > RUNNING on n1
[00:10:30] 1 RUNNING > COMPLETING (TimeLimit)
[00:10:30] 1 COMPLETING > TIMEOUT (TimeLimit)
[00:10:30] 3 PENDING > RUNNING on n1
[00:10:40] 3 RUNNING > COMPLETED
[00:11:00] reservation class is gone
