# One user keeps the queue full of jobs of minutes, the others run hours. The controller is killed twice meanwhile. In order of arrival the others wait for hours.
nodes pool cpus=8 mem=100000
stream flood,procs=8 crash=12:00:00,1-06:00:00
stream flood,procs=8 order=arrival
----
flood,procs=8 crash=12:00:00,1-06:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
flood,procs=8 order=arrival: others wait no longer in the mean than twice what they wait alone and an hour: does not hold
