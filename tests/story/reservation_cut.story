# A limit beyond the end of the reservation: the job starts, and ends with it. One that gives a least time waits for that; in a reservation that comes again
# a job waits for the time it fits into.
nodes n[1-3] cpus=1 mem=2000
reserve once start=60 length=10:00 nodes=n1
reserve daily start=60 length=10:00 nodes=n2 flags=DAILY
submit limit=2:00:00 runs=9999 name=long reservation=once    # 1: longer than all of it
at 300
submit limit=6:00 runs=200 name=late reservation=daily       # 2: fits
submit limit=8:00 runs=100 name=tomorrow reservation=daily   # 3: less than eight minutes are left then
run 87500
----
[00:00:01] reservation once keeps n1 from 00:01:00 to 00:11:00
[00:00:01] reservation daily keeps n2 from 00:01:00 to 00:11:00
[00:01:00] 1 PENDING > RUNNING on n1
[00:05:00] 2 PENDING > RUNNING on n2
[00:08:20] 2 RUNNING > COMPLETED
[00:11:00] reservation daily keeps n2 from 1-00:01:00 to 1-00:11:00
[00:11:00] reservation once is gone
[00:11:00] 1 RUNNING > COMPLETING (TimeLimit)
[00:11:00] 1 COMPLETING > TIMEOUT 0:15 (TimeLimit)
[1-00:01:00] 3 PENDING > RUNNING on n2
[1-00:02:40] 3 RUNNING > COMPLETED
[1-00:11:00] reservation daily keeps n2 from 2-00:01:00 to 2-00:11:00
