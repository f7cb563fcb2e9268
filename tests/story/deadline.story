# What can no longer end by its deadline is over: a job of 20 seconds must begin by 0:40 to end by 1:00.
nodes n1 cpus=1 mem=2000
submit runs=100 limit=5:00
submit runs=10 limit=0:20 deadline=60
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:40] 2 PENDING > DEADLINE (DeadLine)
[00:01:41] 1 RUNNING > COMPLETED
