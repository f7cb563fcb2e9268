# The first of the queue wants both GPUs of the node. While one is held by a leftover of job 1, job 4 does not take the other for ten minutes; job 5, short as the leftover is old by then, may pass.
nodes n1 cpus=8 mem=4000 gres=gpu:v100:2
submit gres=gpu:1 mem=100 runs=10 stuck=200 limit=1:00
submit gres=gpu:1 mem=100 runs=20 limit=1:00
submit gres=gpu:2 mem=100 runs=60 limit=5:00
submit gres=gpu:1 mem=100 runs=300 limit=10:00
at 90
submit gres=gpu:1 mem=100 runs=20 limit=1:00
run 700
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
[00:00:11] 1 RUNNING > COMPLETING
[00:00:14] n1: gpu 0 is not used: a process of job 1 still holds it
[00:00:14] 1 COMPLETING > COMPLETED
[00:00:21] 2 RUNNING > COMPLETING
[00:00:21] 2 COMPLETING > COMPLETED
[00:01:30] 5 PENDING > RUNNING on n1
[00:01:50] 5 RUNNING > COMPLETING
[00:01:50] 5 COMPLETING > COMPLETED
[00:03:32] n1: all devices may be given
[00:03:32] 3 PENDING > RUNNING on n1
[00:04:32] 3 RUNNING > COMPLETING
[00:04:32] 3 COMPLETING > COMPLETED
[00:04:32] 4 PENDING > RUNNING on n1
[00:09:32] 4 RUNNING > COMPLETING
[00:09:32] 4 COMPLETING > COMPLETED
