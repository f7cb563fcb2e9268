# Two at a time; the last element keeps the array's own number.
nodes n1 cpus=8 mem=2000
submit array=0-4%2 runs=10
at 2
cancel 1_4
run 60
----
[00:00:01] 1_0 PENDING > RUNNING on n1
[00:00:01] 1_1 PENDING > RUNNING on n1
[00:00:02] 1_4 PENDING > CANCELLED (JobArrayTaskLimit)
[00:00:11] 1_0 RUNNING > COMPLETED
[00:00:11] 1_2 PENDING > RUNNING on n1
[00:00:11] 1_1 RUNNING > COMPLETED
[00:00:11] 1_3 PENDING > RUNNING on n1
[00:00:21] 1_2 RUNNING > COMPLETED
[00:00:21] 1_3 RUNNING > COMPLETED
