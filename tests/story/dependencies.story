# ok, notok, any, singleton; what can never be satisfied waits or is cancelled.
nodes n1 cpus=8 mem=2000
submit runs=10 name=a
submit runs=10 exit=1 name=b
submit depends=afterok:1 name=c
submit depends=afternotok:2 name=d
submit depends=afterok:2 name=e
submit depends=afterok:2 killdep name=f
submit depends=afterany:1:2 name=g
submit depends=singleton name=c
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:11] 1 RUNNING > COMPLETED
[00:00:11] 3 PENDING > RUNNING on n1
[00:00:11] 2 RUNNING > FAILED 1:0 (NonZeroExitCode)
[00:00:11] 6 PENDING > CANCELLED (DependencyNeverSatisfied)
[00:00:11] 4 PENDING > RUNNING on n1
[00:00:11] 7 PENDING > RUNNING on n1
[00:00:21] 3 RUNNING > COMPLETED
[00:00:21] 8 PENDING > RUNNING on n1
[00:00:21] 4 RUNNING > COMPLETED
[00:00:21] 7 RUNNING > COMPLETED
[00:00:31] 8 RUNNING > COMPLETED
