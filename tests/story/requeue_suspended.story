# What somebody suspended does not go on by itself: back in the queue, by hand or because its node was lost, it is held.
SlurmdTimeout=20
nodes n[1-2] cpus=1 mem=2000
submit runs=30
submit runs=30
at 5
suspend 1
suspend 2
at 10
requeue 1
lose n2 1000
at 60
release 1
release 2
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:00:05] 1 RUNNING > SUSPENDED
[00:00:05] 2 RUNNING > SUSPENDED
[00:00:10] 1 SUSPENDED > REQUEUED
[00:00:10] 1 REQUEUED > PENDING (JobHeldAdmin)
[00:00:30] 2 SUSPENDED > PENDING (JobHeldAdmin)
[00:01:00] 1 PENDING > RUNNING on n1
[00:01:30] 1 RUNNING > COMPLETED
[00:01:30] 2 PENDING > RUNNING on n1
[00:02:00] 2 RUNNING > COMPLETED
