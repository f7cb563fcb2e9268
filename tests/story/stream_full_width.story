# A job as wide as the machine (1 h) comes behind endless 1-CPU jobs, load 0.98: it becomes the head of its partition and stays first until it starts. The controller is killed twice while it waits, and later. By the shortest limit first it starves.
nodes pool cpus=16 mem=100000
stream full-width,procs=16 crash=12:20:00,12:40:00,1-12:00:00
stream full-width,procs=16 order=sjf
----
full-width,procs=16 crash=12:20:00,12:40:00,1-12:00:00: nobody it is about waits longer than twice what EASY has them wait and an hour: holds
full-width,procs=16 order=sjf: nobody it is about waits longer than twice what EASY has them wait and an hour: does not hold
