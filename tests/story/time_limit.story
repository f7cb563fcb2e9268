# The limit: SIGTERM, KillWait, SIGKILL; who ignores SIGTERM is killed.
KillWait=5
nodes n1 cpus=2 mem=2000
submit runs=600 limit=0:20
submit runs=600 limit=0:20 stubborn
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:21] 1 RUNNING > COMPLETING (TimeLimit)
[00:00:21] 2 RUNNING > COMPLETING (TimeLimit)
[00:00:21] 1 COMPLETING > TIMEOUT 0:15 (TimeLimit)
[00:00:26] 2 COMPLETING > TIMEOUT 0:9 (TimeLimit)
