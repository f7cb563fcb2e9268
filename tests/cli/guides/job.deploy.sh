HOST=$SLURMD_NODENAME
if [ "$HOST" = "$MASTER" ]; then node_rank=0; else node_rank=1; fi
echo python3 -m torch.distributed.run --nproc_per_node=1 --nnodes=2 --node_rank=$node_rank --rdzv_id=123 --rdzv_backend=c10d --rdzv_endpoint=$MASTER:12345
