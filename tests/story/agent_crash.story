# The node's daemon dies; the job ends meanwhile; its result arrives when the daemon is back.
nodes n1 cpus=1 mem=2000
submit runs=20 exit=4
at 5
crash-agent n1 40
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:45] 1 RUNNING > FAILED 4:0 (NonZeroExitCode)
