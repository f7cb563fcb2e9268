# The grace of an allocation whose command is away goes on over a restart of the controller; a quarter of it is left after one, to come back in. Whose command was there to the end has all of it.
AttachGrace=20
nodes n[1-3] cpus=2 mem=2000
alloc tasks=2
alloc tasks=2
alloc tasks=2
at 5
hangup 1
at 20
hangup 2
at 24
crash 3
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:00:01] 3 PENDING > RUNNING on n3
[00:00:32] 1 RUNNING > CANCELLED (InactiveLimit)
[00:00:40] 2 RUNNING > CANCELLED (InactiveLimit)
[00:00:47] 3 RUNNING > CANCELLED (InactiveLimit)
