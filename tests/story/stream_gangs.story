# Jobs as wide as the machine (half an hour) come every 6 h beside small ones, load 0.9. The controller is killed while they wait, which is where a head that was forgotten would have to drain the machine once more. By the smallest area first they starve.
nodes pool cpus=32 mem=100000
stream gangs crash=4:00:00,9:30:00,15:20:00,1-03:10:00
stream gangs order=saf
----
gangs crash=4:00:00,9:30:00,15:20:00,1-03:10:00: nobody it is about waits longer than twice what EASY has them wait and an hour: holds
gangs order=saf: nobody it is about waits longer than twice what EASY has them wait and an hour: does not hold
