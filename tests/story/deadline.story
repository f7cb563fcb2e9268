# What cannot begin by its deadline is over.
nodes n1 cpus=1 mem=2000
submit runs=100 limit=5:00
submit runs=10 limit=0:20 deadline=60
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:01:00] 2 PENDING > DEADLINE (DeadLine)
[00:01:41] 1 RUNNING > COMPLETED
