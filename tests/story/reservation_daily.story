# A reservation that comes every day: jobs that do not fit into what is left of today's wait for tomorrow's; the store brings it back after a crash.
nodes n1 cpus=1 mem=2000
reserve daily start=100 length=10:00 nodes=n1 flags=DAILY
submit limit=8:00 runs=400 reservation=daily   # 1
submit limit=8:00 runs=400 reservation=daily   # 2: two minutes are left then
submit limit=23:00:00 runs=60                  # 3: between
submit limit=24:00:00 runs=60                  # 4: never fits: there is no day without it
at 1000
crash 5
run 200000
----
[00:00:01] reservation daily keeps n1 from 00:01:40 to 00:11:40
[00:01:40] 1 PENDING > RUNNING on n1
[00:08:20] 1 RUNNING > COMPLETED
[00:11:40] reservation daily keeps n1 from 1-00:01:40 to 1-00:11:40
[00:11:40] 3 PENDING > RUNNING on n1
[00:12:40] 3 RUNNING > COMPLETED
[1-00:01:40] 2 PENDING > RUNNING on n1
[1-00:08:20] 2 RUNNING > COMPLETED
[1-00:11:40] reservation daily keeps n1 from 2-00:01:40 to 2-00:11:40
[2-00:11:40] reservation daily keeps n1 from 3-00:01:40 to 3-00:11:40
