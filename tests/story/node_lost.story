# A machine dies: its job is requeued, or NODE_FAIL if that is not wanted. Another node takes over.
SlurmdTimeout=20
nodes n[1-2] cpus=1 mem=2000
submit runs=100
submit runs=100 norequeue
at 10
lose n1 1000
lose n2 1000
run 400
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:00:30] 1 RUNNING > PENDING
[00:00:30] 2 RUNNING > NODE_FAIL (NodeDown)
