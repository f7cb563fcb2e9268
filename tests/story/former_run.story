# A node is cut off for so long that its job goes back to the queue. When it comes back it still has the former run, which does not end on SIGTERM: until it is gone the job does not
# start again, here or on the node that is free.
nodes n[1-2] cpus=2 mem=1000
submit exclusive runs=2000 limit=1:00:00 stubborn
submit exclusive runs=410 limit=1:00:00
at 5
cut n1 400
run 800
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:01:05] 1 RUNNING > PENDING
[00:06:45] 1 PENDING > RUNNING on n1
[00:06:51] 2 RUNNING > COMPLETED
