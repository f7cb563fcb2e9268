# One user's array of one-hour jobs, 40 for each CPU, comes to a machine that others half fill (5,000 on 128 CPUs in docs/scheduling.md; a quarter of that here). What the user has had and has counts against him, so the others wait minutes. It comes once as so many jobs, and once as an array: of an array one element is the head, not all that are behind it. The controller is killed soon after it came and days later, and what was used survives. In order of arrival they wait half a day.
nodes pool cpus=32 mem=100000
stream array,procs=32,jobs=1250 crash=1:30:00,10:00:00,1-06:00:00
stream array,procs=32,jobs=1250 as-array crash=1:30:00,10:00:00,1-06:00:00
stream array,procs=32,jobs=1250 as-array order=arrival
----
array,procs=32,jobs=1250 crash=1:30:00,10:00:00,1-06:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
array,procs=32,jobs=1250 as-array crash=1:30:00,10:00:00,1-06:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
array,procs=32,jobs=1250 as-array order=arrival: others wait no longer in the mean than twice what they wait alone and an hour: does not hold
