# A process that outlives its job keeps its GPU out of use, not the node: job 3 gets the other GPU and its CPUs, job 4 waits for the stuck one. The controller and the node's daemon
# die meanwhile; it is not forgotten.
nodes n1 cpus=8 mem=2000 gres=gpu:v100:2
submit gres=gpu:1 runs=10 stuck=60 limit=1:00
submit gres=gpu:1 runs=15 limit=1:00
submit gres=gpu:1 runs=10 limit=1:00
submit gres=gpu:2 runs=10 limit=1:00
at 30
crash 2
at 40
crash-agent n1 3
run 120
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:11] 1 RUNNING > COMPLETING
[00:00:14] n1: gpu 0 is not used: a process of job 1 still holds it
[00:00:14] 1 COMPLETING > COMPLETED
[00:00:16] 2 RUNNING > COMPLETING
[00:00:16] 2 COMPLETING > COMPLETED
[00:00:16] 3 PENDING > RUNNING on n1
[00:00:26] 3 RUNNING > COMPLETING
[00:00:26] 3 COMPLETING > COMPLETED
[00:00:43] n1: gpu 0 is not used: a process of job 1 still holds it
[00:01:20] n1: all devices may be given
[00:01:20] 4 PENDING > RUNNING on n1
[00:01:30] 4 RUNNING > COMPLETING
[00:01:30] 4 COMPLETING > COMPLETED
