# Limits by time of day: stories begin on a Monday at 14:13:20, so that 15:00 is second 2800. In peak time two jobs a user, one node each, at most 20 minutes.
nodes n[1-4] cpus=1 mem=2000
PartitionName=main Nodes=ALL Default=YES TimeWindows="weekdays 08:00-15:00 max_jobs_per_user=2 max_nodes=1 max_time=20:00"
submit limit=10:00 runs=300
submit limit=10:00 runs=300
submit limit=10:00 runs=300           # 3: when one of the two is over
submit nodes=2 limit=10:00 runs=300   # 4: after 15:00
submit limit=1:00:00 runs=300         # 5: after 15:00
submit limit=10:00 runs=300           # 6
run 5000
----
[00:00:01] 1 PENDING > RUNNING on n1
[00:00:01] 2 PENDING > RUNNING on n2
[00:05:01] 2 RUNNING > COMPLETED
[00:05:01] 3 PENDING > RUNNING on n2
[00:05:01] 1 RUNNING > COMPLETED
[00:05:01] 6 PENDING > RUNNING on n1
[00:10:01] 6 RUNNING > COMPLETED
[00:10:01] 3 RUNNING > COMPLETED
[00:46:40] 4 PENDING > RUNNING on n[1-2]
[00:46:40] 5 PENDING > RUNNING on n3
[00:51:40] 5 RUNNING > COMPLETED
[00:51:40] 4 RUNNING > COMPLETED
