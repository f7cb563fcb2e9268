/* Commands of Slurm, LSF and PBS that are not there. Their names are links all the same: another
 * package's client of that name, found on PATH, would ask a daemon that does not run, and fail in
 * ways nobody understands. */
#ifndef REMUDA_CLI_PROGRAM_ABSENT_H
#define REMUDA_CLI_PROGRAM_ABSENT_H

/* X(name, family, what it does there, the nearest thing that works) */
// clang-format off
#define ABSENT_COMMANDS(X)                                                                                   \
    X("scrun", SLURM, "an OCI runtime that runs containers as jobs", "run them in a job: srun apptainer exec …") \
    X("sgather", SLURM, "copy a file from the nodes of a job", "srun cp FILE DIRECTORY/$SLURMD_NODENAME in the job; sbcast copies the other way") \
    X("sh5util", SLURM, "merge the files of the HDF5 profile", "there is no profile; sstat and sacct have what steps used") \
    X("sjobexitmod", SLURM, "change the exit code that accounting has", "scontrol update JobId=… Comment=…") \
    X("sjstat", SLURM, "jobs and partitions in short", "squeue and sinfo")                                   \
    X("slurmrestd", SLURM, "a server of HTTP requests", "every listing has --json")                          \
    X("smail", SLURM, "mail with what a job used", "--mail-type; seff JOB")                                  \
    X("sview", SLURM, "a window on the cluster", "squeue, sinfo, scontrol show")                             \
    X("bapp", LSF, "list application profiles", "there are none")                                            \
    X("bchkpnt", LSF, "checkpoint a job", "the program writes its own; bkill -s tells it when")              \
    X("bgadd", LSF, "make a job group", "bsub -g /NAME makes it")  \
    X("bgdel", LSF, "remove a job group", "it goes with its jobs")                                         \
    X("bgmod", LSF, "change a job group", "a group has no limits; an array's %5 bounds how many run")                                         \
    X("bgpinfo", LSF, "list global policies", "there is one cluster; sshare has fair shares")                \
    X("bhpart", LSF, "list fair share of host partitions", "sshare")                                         \
    X("bjdepinfo", LSF, "which jobs a job waits for", "bjobs -o \"jobid dependency\" 12; remuda why 12")     \
    X("bjgroup", LSF, "list job groups", "bjobs -u all -o \"job_group jobid stat\"")                                          \
    X("blimits", LSF, "list limits", "remuda may; sacctmgr show qos")                                        \
    X("bmgroup", LSF, "list groups of hosts", "sinfo")                                                       \
    X("bmig", LSF, "move a job to another host", "brequeue 12")                                              \
    X("bpost", LSF, "attach a message to a job", "scontrol update JobId=12 Comment=…")                       \
    X("bread", LSF, "read what is attached to a job", "bjobs -o \"jobid job_description\" 12")               \
    X("bresize", LSF, "give up slots of a running job", "scontrol update JobId=12 NumNodes=…")               \
    X("bresources", LSF, "list guarantees and reservations", "scontrol show reservation")                    \
    X("brestart", LSF, "restart from a checkpoint", "brequeue 12")                                           \
    X("brsvadd", LSF, "make a reservation", "scontrol create reservation …")                                 \
    X("brsvdel", LSF, "remove a reservation", "scontrol delete reservation …")                               \
    X("brsvmod", LSF, "change a reservation", "scontrol update ReservationName=…")                           \
    X("brsvs", LSF, "list reservations", "scontrol show reservation")                                        \
    X("brun", LSF, "start a job at once", "scontrol update JobId=12 Priority=…, by operators; btop")         \
    X("bsla", LSF, "list service classes", "there are none")                                                 \
    X("bslots", LSF, "slots that are free for backfill", "remuda why 12 says when a job can start")          \
    X("bugroup", LSF, "list groups of users", "sacctmgr show account")                                       \
    X("busers", LSF, "list users", "sacctmgr show user; sshare")                                             \
    X("bwait", LSF, "wait for jobs", "bsub -K waits for its own; bsub -w makes a job wait")                  \
    X("lseligible", LSF, "hosts that could run a task", "bhosts; sinfo -N")                                  \
    X("lsgrun", LSF, "run a command on several hosts", "srun -w HOSTS COMMAND")                              \
    X("lsinfo", LSF, "list names of resources", "nodestat -F shows the features of hosts")                   \
    X("lsmon", LSF, "watch the load of hosts", "watch lsload")                                               \
    X("lsplace", LSF, "hosts that are fit for a task", "bhosts; sinfo -N")                                   \
    X("lsrun", LSF, "run a command on a host", "srun -w HOST COMMAND")                                       \
    X("canceljob", PBS, "end a job (Moab)", "qdel 12")                                                       \
    X("checkjob", PBS, "why a job waits (Moab)", "remuda why 12; qstat -f 12")                               \
    X("mdiag", PBS, "look at everything (Moab)", "qstat -f, pbsnodes -a, scontrol show")                     \
    X("mjobctl", PBS, "change jobs (Moab)", "qdel, qhold, qrls, qalter")                                     \
    X("msub", PBS, "submit a job (Moab)", "qsub takes the same lines")                                       \
    X("showbf", PBS, "what is free for backfill (Moab)", "sinfo; remuda why 12")                             \
    X("showq", PBS, "list jobs (Moab)", "qstat; squeue")                                                     \
    X("momctl", PBS, "ask a node's daemon", "remuda status; scontrol show node")                             \
    X("pbs_ralter", PBS, "change a reservation", "scontrol update ReservationName=…")                        \
    X("pbs_rdel", PBS, "remove a reservation", "scontrol delete reservation …")                              \
    X("pbs_release_nodes", PBS, "give up nodes of a running job", "scontrol update JobId=12 NumNodes=…")     \
    X("pbs_rstat", PBS, "list reservations", "scontrol show reservation")                                    \
    X("pbs_rsub", PBS, "make a reservation", "scontrol create reservation …")                                \
    X("qchkpt", PBS, "checkpoint a job", "the program writes its own; qsig tells it when")                   \
    X("qorder", PBS, "two jobs change places", "btop and scontrol top move a job")                           \
    X("qrun", PBS, "start a job at once", "scontrol update JobId=12 Priority=…, by operators")               \
    X("qterm", PBS, "end the server", "remuda down")
// clang-format on

#endif
