# A heterogeneous job, each component in a reservation of its own: both wait for the later one.
nodes n[1-2] cpus=2 mem=2000
reserve a start=60 length=20:00 nodes=n1
reserve b start=120 length=20:00 nodes=n2
submit tasks=2 runs=60 limit=5:00 reservation=a : tasks=2 limit=5:00 reservation=b
submit tasks=1 limit=30:00 runs=10
run 2000
----
[00:00:01] reservation a keeps n1 from 00:01:00 to 00:21:00
[00:00:01] reservation b keeps n2 from 00:02:00 to 00:22:00
[00:02:00] 1+0 PENDING > RUNNING on n1
[00:02:00] 1+1 PENDING > RUNNING on n2
[00:03:00] 1+0 RUNNING > COMPLETED
[00:03:00] 1+1 RUNNING > COMPLETED
[00:21:00] reservation a is gone
[00:21:00] 3 PENDING > RUNNING on n1
[00:21:10] 3 RUNNING > COMPLETED
[00:22:00] reservation b is gone
