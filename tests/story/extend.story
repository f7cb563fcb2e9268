# The owner has a running job's limit raised; the controller is killed, and the limit holds. What would delay the job behind it is refused.
nodes n1 cpus=1 mem=2000
submit runs=600 limit=1:00
at 20
extend 1 2:00
at 40
crash 10
at 60
submit runs=10 limit=1:00
at 90
extend 1 5:00
run 400
----
[00:00:01] 1 PENDING > RUNNING on n1
refused: Requested time limit is invalid (missing or exceeds some limit)
[00:03:01] 1 RUNNING > COMPLETING (TimeLimit)
[00:03:01] 1 COMPLETING > TIMEOUT 0:15 (TimeLimit)
[00:03:01] 2 PENDING > RUNNING on n1
[00:03:11] 2 RUNNING > COMPLETED
