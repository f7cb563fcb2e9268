# A job runs and ends; a failing one keeps its code; one killed for memory is OUT_OF_MEMORY.
nodes n[1-2] cpus=2 mem=2000
submit runs=30
submit runs=10 exit=3
submit runs=5 oom
run 60
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:01] 3 PENDING > RUNNING on n2
[00:00:06] 3 RUNNING > OUT_OF_MEMORY 0:125 (OutOfMemory)
[00:00:11] 2 RUNNING > FAILED 3:0 (NonZeroExitCode)
[00:00:31] 1 RUNNING > COMPLETED
