# What a step leaves on a GPU does not become the next step's: of the job's two GPUs one stays held after step 0. Step 1 gets the other, step 2, which needs both, waits until the
# first is clean; the batch script's hold on both is no hindrance. The same in an allocation, over a crash of the node's daemon.
nodes n1 cpus=8 mem=2000 gres=gpu:v100:2
submit mem=900 gres=gpu:2 runs=100 limit=5:00
at 5
step 1 tasks=1 mem=10 gres=gpu:1 runs=5 stuck=30 exact
at 20
step 1 tasks=1 mem=10 gres=gpu:1 runs=5 exact
step 1 tasks=1 mem=10 gres=gpu:2 runs=5 exact
at 25
crash-agent n1 3
at 150
alloc tasks=2 mem=900 gres=gpu:1 limit=5:00
step 2 tasks=1 mem=10 gres=gpu:1 runs=5 stuck=10
step 2 tasks=1 mem=10 gres=gpu:1 runs=5
at 210
finish 2 0
run 10
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:05] 1.0 RUNNING on n1: n1 cpus=0 mem=10 tasks=1 ids=0 gpu:v100=0
[00:00:10] 1.0 COMPLETED
[00:00:10] n1: gpu 0 is not used: a process of job 1 still holds it
[00:00:20] 1.1 RUNNING on n1: n1 cpus=0 mem=10 tasks=1 ids=0 gpu:v100=1
[00:00:28] n1: gpu 0 is not used: a process of job 1 still holds it
[00:00:28] 1.1 COMPLETED
[00:00:45] n1: all devices may be given
[00:00:45] 1.2 RUNNING on n1: n1 cpus=0 mem=10 tasks=1 ids=0 gpu:v100=0,1
[00:00:50] 1.2 COMPLETED
[00:01:41] 1 RUNNING > COMPLETING
[00:01:41] 1 COMPLETING > COMPLETED
[00:02:30] 2 PENDING > RUNNING on n1
[00:02:30] 2.0 RUNNING on n1: n1 cpus=0-1 mem=10 tasks=1 ids=0 gpu:v100=0
[00:02:35] 2.0 COMPLETED
[00:02:35] 2.1 RUNNING on n1: n1 cpus=0-1 mem=10 tasks=1 ids=0 gpu:v100=0
[00:02:35] n1: gpu 0 is not used: a process of job 2 still holds it
[00:02:38] 2.1 FAILED 1:0
[00:02:47] n1: all devices may be given
[00:03:30] 2 RUNNING > COMPLETING
