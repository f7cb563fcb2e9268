# For a week more is submitted than the machine can do, then a week less: past the age bound the order is more than that of arrival. The controller is killed at the height of it and while it drains.
nodes pool cpus=128 mem=100000
stream backlog crash=3-00:00:00,6-12:00:00,9-00:00:00
stream backlog order=arrival
----
backlog crash=3-00:00:00,6-12:00:00,9-00:00:00: the slowdown of all is at most nine tenths of EASY's: holds
backlog order=arrival: the slowdown of all is at most nine tenths of EASY's: does not hold
