# An operator's resume puts a mended GPU back also when the word of it did not reach the node: its connection was cut. The node asks for it again with its hello, and a controller
# that was killed in between knows of it too.
nodes n1 cpus=8 mem=2000 gres=gpu:v100:2
at 5
break-gpu n1 0
submit gres=gpu:2 runs=10 limit=1:00
at 20
mend-gpu n1 0
cut n1 10
resume-node n1
at 22
crash 1
run 120
----
[00:00:05] 1 PENDING > RUNNING on n1
[00:00:05] n1: gpu 0 is not used: it has fallen off the bus
[00:00:05] 1 RUNNING > REQUEUED (JobLaunchFailure)
[00:00:05] 1 REQUEUED > PENDING
[00:00:20] n1: gpu 0 is not used: it has fallen off the bus
[00:00:23] n1: gpu 0 is not used: it was broken and is being looked at again
[00:00:23] n1: all devices may be given
[00:00:23] 1 PENDING > RUNNING on n1
[00:00:33] 1 RUNNING > COMPLETING
[00:00:33] 1 COMPLETING > COMPLETED
