# One user asks 12 h for jobs of a minute, so that all his jobs are predicted to be short, and then submits 128 that need the 12 h. He comes to a machine that is half idle, and has it; but who holds more than a quarter takes nothing behind the promised start of another's job of half his limit or less, and so what comes free goes to those who wait. His jobs end in one second, each in a pass of its own. The controller is killed between the lies and what follows: predictions survive. By arrival the others wait 4.5 and 5.8 h in the mean, and while he took one CPU after the other 2.5 and 2.8 h.
nodes pool cpus=64 mem=100000
stream liar crash=13:30:00,14:10:00,20:00:00
stream liar,seed=2 crash=13:30:00,14:10:00,20:00:00
stream liar order=arrival
----
liar crash=13:30:00,14:10:00,20:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
liar,seed=2 crash=13:30:00,14:10:00,20:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
liar order=arrival: others wait no longer in the mean than twice what they wait alone and an hour: does not hold
