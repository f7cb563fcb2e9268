# A drained node takes no new jobs.
nodes n[1-2] cpus=1 mem=2000
drain n1
submit runs=10
submit runs=10
at 5
resume-node n1
run 60
----
[00:00:01] 1 PENDING > RUNNING on n2
[00:00:05] 2 PENDING > RUNNING on n1
[00:00:11] 1 RUNNING > COMPLETED
[00:00:15] 2 RUNNING > COMPLETED
