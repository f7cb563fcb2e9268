# Allocations belong to their commands: one is finished, one outlives a controller whose command does not come back, one loses its command while it waits.
AttachGrace=20
nodes n[1-2] cpus=2 mem=2000
alloc tasks=4 nodes=2
alloc tasks=4 nodes=2
alloc tasks=4 nodes=2
alloc tasks=1 array=0-1
at 5
hangup 3
at 10
finish 1 2
at 40
crash 2
run 100
----
[00:00:01] 1 PENDING > RUNNING on n[1-2]
refused: Invalid job array specification
[00:00:10] 1 RUNNING > FAILED 2:0 (NonZeroExitCode)
[00:00:10] 2 PENDING > RUNNING on n[1-2]
[00:00:25] 3 PENDING > CANCELLED (InactiveLimit)
[00:01:02] 2 RUNNING > CANCELLED (InactiveLimit)
