# A job may wait for an element of an array by that element's own number: for it alone, and not for the array.
nodes n1 cpus=4 mem=2000
submit runs=10 array=1-3%1
at 2
submit runs=10 depends=afterany:2
submit runs=10 depends=afterok:1
submit runs=5 array=1-2 depends=aftercorr:2
run 100
----
[00:00:01] 1_1 PENDING > RUNNING on n1
[00:00:11] 1_1 RUNNING > COMPLETED
[00:00:11] 1_2 PENDING > RUNNING on n1
[00:00:11] 3 PENDING > RUNNING on n1
[00:00:11] 5_2 PENDING > RUNNING on n1
[00:00:11] 5_1 PENDING > RUNNING on n1
[00:00:16] 5_1 RUNNING > COMPLETED
[00:00:16] 5_2 RUNNING > COMPLETED
[00:00:21] 1_2 RUNNING > COMPLETED
[00:00:21] 1_3 PENDING > RUNNING on n1
[00:00:21] 3 RUNNING > COMPLETED
[00:00:31] 1_3 RUNNING > COMPLETED
[00:00:31] 4 PENDING > RUNNING on n1
[00:00:41] 4 RUNNING > COMPLETED
