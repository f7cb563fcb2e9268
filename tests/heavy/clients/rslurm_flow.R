# rslurm: six sums in an array of three, and its status. Usage: rslurm_flow.R
library(rslurm)
job <- slurm_apply(function(a, b) a + b, data.frame(a = 1:6, b = 6:1), jobname = "sums", nodes = 3, cpus_per_node = 2, slurm_options = list(time = "5", mem = "400M"))
values <- get_slurm_out(job, outtype = "table", wait = TRUE)
stopifnot(get_job_status(job)$completed)
cat("values", unlist(values), "\n")
