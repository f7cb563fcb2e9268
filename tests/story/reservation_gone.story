# Who waits for a reservation that goes is held; with NO_HOLD_JOBS_AFTER it runs without it. One in which jobs run cannot be deleted.
nodes n[1-2] cpus=1 mem=2000
reserve a start=60 length=10:00 nodes=n1
reserve b start=60 length=10:00 nodes=n2 flags=NO_HOLD_JOBS_AFTER
submit limit=5:00 runs=100 reservation=a  # 1
submit limit=9:00 mintime=9:00 runs=10 reservation=a   # 2: what is left of it is too short then: held when it ends
submit limit=9:00 runs=200 reservation=b  # 3
submit limit=9:00 mintime=9:00 runs=10 reservation=b   # 4: runs after b
at 100
unreserve a
run 2000
release 2
run 2100
----
[00:00:01] reservation a keeps n1 from 00:01:00 to 00:11:00
[00:00:01] reservation b keeps n2 from 00:01:00 to 00:11:00
[00:01:00] 1 PENDING > RUNNING on n1
[00:01:00] 3 PENDING > RUNNING on n2
refused: Requested reservation is in use
[00:02:40] 1 RUNNING > COMPLETED
[00:04:20] 3 RUNNING > COMPLETED
[00:11:00] reservation a is gone
[00:11:00] reservation b is gone
[00:11:00] 4 PENDING > RUNNING on n1
[00:11:10] 4 RUNNING > COMPLETED
[00:33:20] 2 PENDING > RUNNING on n1
[00:33:30] 2 RUNNING > COMPLETED
