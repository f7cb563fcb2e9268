# The same array comes after two days in which its user used nothing and all others something: what he has at the moment counts as well. The controller is killed half an hour later, and again.
nodes pool cpus=32 mem=100000
stream late-array,procs=32,jobs=1250 crash=2-00:30:00,2-12:00:00
stream late-array,procs=32,jobs=1250 as-array crash=2-00:30:00,2-12:00:00
stream late-array,procs=32,jobs=1250 as-array order=arrival
----
late-array,procs=32,jobs=1250 crash=2-00:30:00,2-12:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
late-array,procs=32,jobs=1250 as-array crash=2-00:30:00,2-12:00:00: others wait no longer in the mean than twice what they wait alone and an hour: holds
late-array,procs=32,jobs=1250 as-array order=arrival: others wait no longer in the mean than twice what they wait alone and an hour: does not hold
