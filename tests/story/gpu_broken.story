# A GPU that breaks is out of use until somebody says that it is mended: the job on it goes on, the node's other GPU serves the rest. A new daemon of the node and a new controller know
# of it. What is asked back too early is out again at once.
nodes n1 cpus=8 mem=2000 gres=gpu:v100:2
submit gres=gpu:1 runs=20 limit=1:00
at 5
break-gpu n1 0
submit gres=gpu:1 runs=10 limit=1:00
submit gres=gpu:1 runs=10 limit=1:00
submit gres=gpu:2 runs=10 limit=1:00
submit exclusive runs=5 limit=1:00
at 50
crash 2
crash-agent n1 3
at 60
resume-node n1
at 70
mend-gpu n1 0
at 75
resume-node n1
run 120
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:05] 2 PENDING > RUNNING on n1
[00:00:05] n1: gpu 0 is not used: it has fallen off the bus
[00:00:15] 2 RUNNING > COMPLETING
[00:00:15] 2 COMPLETING > COMPLETED
[00:00:21] 1 RUNNING > COMPLETED
[00:00:21] 5 PENDING > RUNNING on n1
[00:00:26] 5 RUNNING > COMPLETING
[00:00:26] 5 COMPLETING > COMPLETED
[00:00:26] 3 PENDING > RUNNING on n1
[00:00:36] 3 RUNNING > COMPLETING
[00:00:36] 3 COMPLETING > COMPLETED
[00:01:00] n1: gpu 0 is not used: it has fallen off the bus
[00:01:00] n1: gpu 0 is not used: it was broken and is being looked at again
[00:01:00] n1: gpu 0 is not used: it has fallen off the bus
[00:01:15] n1: gpu 0 is not used: it has fallen off the bus
[00:01:15] n1: gpu 0 is not used: it was broken and is being looked at again
[00:01:15] n1: all devices may be given
[00:01:15] 4 PENDING > RUNNING on n1
[00:01:25] 4 RUNNING > COMPLETING
[00:01:25] 4 COMPLETING > COMPLETED
