# One user asks 12 h for jobs of a minute, so that all his jobs are predicted to be short, and then submits 128 that need the 12 h. No order can stop who comes to an idle machine, and the gate of the other streams, twice what the others wait alone and an hour, is missed here (docs/scheduling.md): they wait 2.5 and 2.8 h in the mean, since his jobs end in one second, each in a pass of its own, and each time one of the next is all that fits; 1.2 and 1.5 h where one pass sees all ends of a second. What is claimed is three hours, where by arrival they wait 4.5 and 5.8 h. The controller is killed between the lies and what follows: predictions survive.
nodes pool cpus=64 mem=100000
stream liar most=3:00:00 crash=13:30:00,14:10:00,20:00:00
stream liar,seed=2 most=3:00:00 crash=13:30:00,14:10:00,20:00:00
stream liar most=3:00:00 order=arrival
----
liar most=3:00:00 crash=13:30:00,14:10:00,20:00:00: those it is about wait no longer than 3:00:00: holds
liar,seed=2 most=3:00:00 crash=13:30:00,14:10:00,20:00:00: those it is about wait no longer than 3:00:00: holds
liar most=3:00:00 order=arrival: those it is about wait no longer than 3:00:00: does not hold
