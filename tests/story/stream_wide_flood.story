# One user submits 100 jobs of half the machine at once, beside others who half fill it. The controller is killed half an hour later, and again. In order of arrival the others wait a little more than the hour.
nodes pool cpus=64 mem=100000
stream wide-flood crash=6:30:00,12:00:00,1-00:00:00
stream wide-flood order=arrival
----
wide-flood crash=6:30:00,12:00:00,1-00:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
wide-flood order=arrival: others wait no longer in the mean than twice what they wait alone and an hour: does not hold
