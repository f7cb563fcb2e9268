# Jobs lie below as few leaf switches as can be: in the leaf that fits best, and over several only when none has enough. --switches is insisted on for a while.
nodes n[1-9] cpus=1 mem=2000
SwitchName=a Nodes=n[1-4]
SwitchName=b Nodes=n[5-7]
SwitchName=c Nodes=n[8-9]
SwitchName=top Switches=a,b,c
PartitionName=main Nodes=ALL Default=YES
submit nodes=3 limit=10:00 runs=100              # 1: b fits best
submit nodes=2 limit=10:00 runs=100              # 2: c
submit nodes=2 limit=10:00 runs=50               # 3: a
submit nodes=2 limit=10:00 runs=20               # 4: the rest of a
run 40
submit nodes=3 limit=10:00 runs=10 switches=1@30 # 5: two nodes are free below a: it waits for one leaf
run 55
submit nodes=5 limit=10:00 runs=10               # 6: more than any leaf has
run 400
submit nodes=5 limit=10:00 runs=10 switches=1@30 # 7: no leaf is so large: after 30 s it takes two
run 900
----
[00:00:01] 1 PENDING > RUNNING on n[5-7]
[00:00:01] 2 PENDING > RUNNING on n[8-9]
[00:00:01] 3 PENDING > RUNNING on n[1-2]
[00:00:01] 4 PENDING > RUNNING on n[3-4]
[00:00:21] 4 RUNNING > COMPLETED
[00:00:51] 3 RUNNING > COMPLETED
[00:00:51] 5 PENDING > RUNNING on n[1-3]
[00:01:01] 5 RUNNING > COMPLETED
[00:01:41] 2 RUNNING > COMPLETED
[00:01:41] 6 PENDING > RUNNING on n[1-4,8]
[00:01:41] 1 RUNNING > COMPLETED
[00:01:51] 6 RUNNING > COMPLETED
[00:07:10] 7 PENDING > RUNNING on n[1-4,8]
[00:07:20] 7 RUNNING > COMPLETED
