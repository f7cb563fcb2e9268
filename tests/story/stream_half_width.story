# A job of half the machine for 4 h comes every 12 h beside small jobs, load 0.87 in all. The controller is killed while some of them wait. By the shortest limit first they wait longer.
nodes pool cpus=64 mem=100000
stream half-width crash=6:20:00,18:20:00,2-06:30:00
stream half-width order=sjf
----
half-width crash=6:20:00,18:20:00,2-06:30:00: nobody it is about waits longer than twice what EASY has them wait and an hour: holds
half-width order=sjf: nobody it is about waits longer than twice what EASY has them wait and an hour: does not hold
