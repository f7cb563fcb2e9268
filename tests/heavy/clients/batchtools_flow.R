# batchtools: four values in two chunks. Usage: batchtools_flow.R slurm|lsf DIRECTORY
library(batchtools)
words <- commandArgs(TRUE)
registry <- makeRegistry(file.dir = words[2], seed = 1)
registry$cluster.functions <- if (words[1] == "slurm") makeClusterFunctionsSlurm("slurm-simple", array.jobs = TRUE) else makeClusterFunctionsLSF("lsf-simple")
batchMap(function(x) x^2, x = 1:4)
ids <- findJobs()
ids$chunk <- c(1, 1, 2, 2)
# LSF's template has kilobytes; R writes 400000 as 4e+05.
memory <- if (words[1] == "slurm") 400 else 400001L
submitJobs(ids, resources = list(queue = "main", walltime = 300, memory = memory, ncpus = 1, chunks.as.arrayjobs = words[1] == "slurm"))
stopifnot(waitForJobs(sleep = 1, timeout = 120))
cat("values", unlist(reduceResultsList()), "\n")
