import os
rank = int(os.environ.get("RANK", os.environ["SLURM_PROCID"]))
local_rank = int(os.environ.get("LOCAL_RANK", os.environ["SLURM_LOCALID"]))
world_size = int(os.environ.get("WORLD_SIZE", os.environ["SLURM_NTASKS"]))
print(f"rank {rank} local {local_rank} of {world_size} on {os.environ['SLURMD_NODENAME']} gpus {os.environ['CUDA_VISIBLE_DEVICES']}"
      f" master {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}")
