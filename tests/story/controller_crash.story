# The controller dies while a job runs and one waits: both go on as if nothing had been.
nodes n1 cpus=1 mem=2000
submit runs=30
submit runs=10
at 5
crash 10
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:31] 1 RUNNING > COMPLETED
[00:00:31] 2 PENDING > RUNNING on n1
[00:00:41] 2 RUNNING > COMPLETED
