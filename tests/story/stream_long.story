# Four jobs that ask a week (and run 6 h) come behind endless jobs of minutes. The controller is killed while they wait. By the shortest limit first they starve.
nodes pool cpus=32 mem=100000
stream long crash=12:30:00,1-00:30:00,1-12:20:00
stream long order=sjf
----
long crash=12:30:00,1-00:30:00,1-12:20:00: nobody it is about waits longer than twice what EASY has them wait and an hour: holds
long order=sjf: nobody it is about waits longer than twice what EASY has them wait and an hour: does not hold
