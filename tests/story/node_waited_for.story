# With SlurmdTimeout=INFINITE a node that is silent is waited for: not down at its first word, nor ever.
SlurmdTimeout=INFINITE
nodes n[1-2] cpus=1 mem=2000
submit runs=100
at 10
cut n1 5000
submit runs=10
run 9000
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:10] 2 PENDING > RUNNING on n2
[00:00:20] 2 RUNNING > COMPLETED
[01:23:30] 1 RUNNING > COMPLETED
