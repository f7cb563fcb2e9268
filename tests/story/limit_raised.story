# The limit of a running job is raised, then lowered.
nodes n1 cpus=1 mem=2000
submit runs=600 limit=0:30
at 20
limit 1 1:30
at 60
limit 1 1:10
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:01:11] 1 RUNNING > COMPLETING (TimeLimit)
[00:01:11] 1 COMPLETING > TIMEOUT 0:15 (TimeLimit)
