# Waiting, running, stubborn.
KillWait=3
nodes n1 cpus=2 mem=2000
submit runs=100
submit runs=100 stubborn
submit runs=100
at 5
cancel 3
cancel 1
cancel 2
run 60
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:05] 3 PENDING > CANCELLED (Resources)
[00:00:05] 1 RUNNING > COMPLETING
[00:00:05] 2 RUNNING > COMPLETING
[00:00:05] 1 COMPLETING > CANCELLED 0:15
[00:00:08] 2 COMPLETING > CANCELLED 0:9
