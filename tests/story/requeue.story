# Requeued by hand while it runs: it starts again; requeuehold holds it.
nodes n1 cpus=1 mem=2000
submit runs=30
at 10
requeue 1
at 20
requeuehold 1
at 60
release 1
run 200
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:10] 1 RUNNING > REQUEUED
[00:00:10] 1 REQUEUED > PENDING
[00:00:10] 1 PENDING > RUNNING on n1
[00:00:20] 1 RUNNING > REQUEUED (job_requeued_in_held_state)
[00:00:20] 1 REQUEUED > PENDING (job_requeued_in_held_state)
[00:01:00] 1 PENDING > RUNNING on n1
[00:01:30] 1 RUNNING > COMPLETED
