# Power fails in the whole room: no process is left, and soon all are back. What ran is run again, unless that is not wanted: an allocation, whose command is gone, or
# a job that said so. So is a job whose shepherds alone are killed, and an array's task and all components of a heterogeneous job.
# The nodes are there five seconds after the controller, which waits three more for daemons that would still have what ran (decision 0186).
KillWait=5
nodes n[1-3] cpus=4 mem=8000
submit runs=100 tasks=2
submit runs=100 norequeue
submit runs=100 array=1-2
submit runs=100 tasks=1 : tasks=1
at 10
lose n1 20
lose n2 20
lose n3 20
crash 15
at 60
kill-shepherds 1
run 600
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:01] 3_2 PENDING > RUNNING on n2
[00:00:01] 3_1 PENDING > RUNNING on n1
[00:00:01] 5+0 PENDING > RUNNING on n2
[00:00:01] 5+1 PENDING > RUNNING on n2
[00:00:33] 5+0 RUNNING > REQUEUED (NodeDown)
[00:00:33] 5+1 RUNNING > PENDING
[00:00:33] 1 RUNNING > REQUEUED (NodeDown)
[00:00:33] 3_2 RUNNING > REQUEUED (NodeDown)
[00:00:33] 3_2 REQUEUED > PENDING
[00:00:33] 3_2 PENDING > RUNNING on n2
[00:00:33] 5+0 REQUEUED > PENDING
[00:00:33] 5+0 PENDING > RUNNING on n2
[00:00:33] 5+1 PENDING > RUNNING on n2
[00:00:33] 1 REQUEUED > PENDING
[00:00:33] 1 PENDING > RUNNING on n1
[00:00:33] 2 RUNNING > COMPLETING (NodeDown)
[00:00:33] 2 COMPLETING > NODE_FAIL (NodeDown)
[00:00:33] 3_1 RUNNING > REQUEUED (NodeDown)
[00:00:33] 3_1 REQUEUED > PENDING
[00:00:33] 3_1 PENDING > RUNNING on n2
[00:01:00] 1 RUNNING > REQUEUED (NodeDown)
[00:01:00] 1 REQUEUED > PENDING
[00:01:00] 1 PENDING > RUNNING on n1
[00:02:13] 3_2 RUNNING > COMPLETED
[00:02:13] 5+0 RUNNING > COMPLETED
[00:02:13] 5+1 RUNNING > COMPLETED
[00:02:13] 3_1 RUNNING > COMPLETED
[00:02:40] 1 RUNNING > COMPLETED
