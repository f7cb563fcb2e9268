"""ipyparallel: two engines that a job starts, each with its own process. Usage: ipyparallel_flow.py slurm|lsf"""
import os
import sys

import ipyparallel

cluster = ipyparallel.Cluster(engine_launcher_class=sys.argv[1], n=2)
cluster.start_cluster_sync()
client = cluster.connect_client_sync()
client.wait_for_engines(2, timeout=120)
print("engines", len(set(client[:].apply_sync(os.getpid))))
cluster.stop_cluster_sync()
