# Devices are never shared: the third job waits for one of two.
nodes n1 cpus=8 mem=2000 gres=gpu:v100:2
submit gres=gpu:1 runs=20 limit=1:00
submit gres=gpu:v100:1 runs=30 limit=1:00
submit gres=gpu:1 runs=10 limit=1:00
submit gres=gpu:3
run 100
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n1
refused: Requested node configuration is not available
[00:00:21] 1 RUNNING > COMPLETING
[00:00:21] 1 COMPLETING > COMPLETED
[00:00:21] 3 PENDING > RUNNING on n1
[00:00:31] 2 RUNNING > COMPLETING
[00:00:31] 2 COMPLETING > COMPLETED
[00:00:31] 3 RUNNING > COMPLETING
[00:00:31] 3 COMPLETING > COMPLETED
