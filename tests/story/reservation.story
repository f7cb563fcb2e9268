# A reservation keeps its nodes: who would run into it waits until it is over; its own jobs wait for it, run in it and end with it.
PriorityType=priority/multifactor
nodes n[1-2] cpus=1 mem=2000
reserve class start=600 length=20:00 nodes=n1
submit limit=15:00 runs=900 name=long               # 1: does not end before the reservation: n2
submit limit=9:00 runs=300 name=short               # 2: does: n1
submit limit=10:00 runs=300 name=inside reservation=class # 3
submit runs=9999 name=unlimited reservation=class   # 4: gives no limit: is cut to the end
submit limit=2:00:00 runs=60 name=after             # 5: n2 is free first
submit nodes=2 limit=1:00:00 runs=60 name=both      # 6: when the reservation is over
submit limit=30:00 mintime=25:00 reservation=class  # refused: longer than the reservation
submit reservation=klass
run 4000
----
[00:00:01] reservation class keeps n1 from 00:10:00 to 00:30:00
[00:00:01] 1 PENDING > RUNNING on n2
[00:00:01] 2 PENDING > RUNNING on n1
refused: Requested time limit is invalid (missing or exceeds some limit)
refused: Requested reservation is invalid
[00:05:01] 2 RUNNING > COMPLETED
[00:10:00] 3 PENDING > RUNNING on n1
[00:15:00] 3 RUNNING > COMPLETED
[00:15:00] 4 PENDING > RUNNING on n1
[00:15:01] 1 RUNNING > COMPLETING (TimeLimit)
[00:15:01] 1 COMPLETING > TIMEOUT (TimeLimit)
[00:15:01] 5 PENDING > RUNNING on n2
[00:16:01] 5 RUNNING > COMPLETED
[00:30:00] reservation class is gone
[00:30:00] 4 RUNNING > COMPLETING (TimeLimit)
[00:30:00] 4 COMPLETING > TIMEOUT 0:15 (TimeLimit)
[00:30:00] 6 PENDING > RUNNING on n[1-2]
[00:31:00] 6 RUNNING > COMPLETED
