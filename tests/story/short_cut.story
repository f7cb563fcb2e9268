# A link that is cut for less than SlurmdTimeout loses nothing.
SlurmdTimeout=60
nodes n1 cpus=2 mem=2000
submit runs=30
at 10
cut n1 25
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:35] 1 RUNNING > COMPLETED
