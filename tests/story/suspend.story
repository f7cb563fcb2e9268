# A suspended job gives its CPU to another, and goes on later; its limit waits meanwhile.
nodes n1 cpus=1 mem=2000
submit runs=60 limit=2:00
submit runs=10 limit=1:00
at 5
suspend 1
at 30
resume 1
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:05] 1 RUNNING > SUSPENDED
[00:00:05] 2 PENDING > RUNNING on n1
[00:00:15] 2 RUNNING > COMPLETED
[00:00:30] 1 SUSPENDED > RUNNING on n1
[00:01:26] 1 RUNNING > COMPLETED
