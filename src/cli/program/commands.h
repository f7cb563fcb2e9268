/* Every command of the one client binary. `remuda NAME …` runs it; those with `linked` also run
 * under their own name (a link to the binary), as Slurm's users type them. A command gets its own
 * argv (argv[0] is its name) and returns the exit status. */
#ifndef REMUDA_CLI_PROGRAM_COMMANDS_H
#define REMUDA_CLI_PROGRAM_COMMANDS_H

#include "script/option.h"

#include <stdbool.h>

/* X(name, function, has a link of its own, one line of help) */
// clang-format off
#define COMMANDS(X)                                                                                          \
    X("up", cmd_up, false, "start a cluster on this machine, or what of it does not run")                    \
    X("down", cmd_down, false, "stop its daemons; running jobs go on")                                       \
    X("status", cmd_status, false, "what runs, since when, with what")                                       \
    X("why", cmd_why, false, "why jobs wait, when they will start, what would let them start sooner")        \
    X("report", cmd_report, false, "how well jobs used what they had, and what to ask for next time")        \
    X("may", cmd_may, false, "what you may use: partitions, accounts, QOS, what is left of their limits, free GPUs") \
    X("accounts", cmd_accounts, false, "who is in which account, with which limits, and how much of them is used") \
    X("config", cmd_config, false, "check a configuration before it is taken: what it means here, what it does not") \
    X("lint", cmd_lint, false, "what the lines of a job script are understood as, and what looks wrong")      \
    X("import", cmd_import, false, "take a site over from Slurm: its configuration, its accounts") \
    X("gpus", cmd_gpus, false, "what GPUs there are, how each is and why, who has it; let go of them")       \
    X("token", cmd_token, false, "print a token with which another machine joins; list and revoke them")     \
    X("join", cmd_join, false, "make this machine a host of a cluster that runs elsewhere")                  \
    X("leave", cmd_leave, false, "take this machine out of the cluster it joined")                           \
    X("hosts", cmd_hosts, false, "list the machines that joined; shut some out")                             \
    X("backup", cmd_backup, false, "write the cluster to one file, while it runs")                           \
    X("restore", cmd_restore, false, "put a cluster back from such a file")                                  \
    X("repair", cmd_repair, false, "make a new store of what can be read of a damaged one")                  \
    X("env", cmd_env, false, "shell lines that put the commands on PATH: eval \"$(remuda env)\"")            \
    X("logs", cmd_logs, false, "show or follow (-f) the output of a job")                                    \
    X("version", cmd_version, false, "versions of this release")                                             \
    X("docs", cmd_docs, false, "write the reference pages that are made from the tables")                    \
    X("sbatch", cmd_sbatch, true, "submit a batch script")                                                   \
    X("srun", cmd_srun, true, "run tasks in an allocation, or in one made for them")                         \
    X("salloc", cmd_salloc, true, "allocate resources and start a shell or a command")                       \
    X("sattach", cmd_sattach, true, "connect to the streams of a running step")                              \
    X("sbcast", cmd_sbcast, true, "copy a file to the nodes of a job")                                       \
    X("sstat", cmd_sstat, true, "what the steps of running jobs use")                                        \
    X("shell", cmd_shell, false, "a shell inside a running job")                                             \
    X("squeue", cmd_squeue, true, "list jobs that wait or run")                                              \
    X("scancel", cmd_scancel, true, "cancel or signal jobs")                                                 \
    X("sinfo", cmd_sinfo, true, "list partitions and nodes")                                                 \
    X("sacct", cmd_sacct, true, "accounting of jobs and steps")                                              \
    X("sacctmgr", cmd_sacctmgr, true, "accounts, users, QOS and their limits")                               \
    X("sreport", cmd_sreport, true, "what was used, by account, user, size of job: hours, days, years")      \
    X("seff", cmd_seff, true, "how much of what a job had it used")                                          \
    X("sprio", cmd_sprio, true, "what the priorities of waiting jobs are made of")                           \
    X("sshare", cmd_sshare, true, "who used how much, and the fair share that follows")                      \
    X("sdiag", cmd_sdiag, true, "what the controller has done, and how fast")                                \
    X("scontrol", cmd_scontrol, true, "look at everything in detail; change jobs and nodes")                 \
    X("scrontab", cmd_scrontab, true, "a table of jobs that run again and again")                            \
    X("strigger", cmd_strigger, true, "refused: there are no triggers") \
    X("bsub", cmd_bsub, true, "submit a job in the words of LSF: bsub < FILE") \
    X("bjobs", cmd_bjobs, true, "LSF: list jobs")                                                            \
    X("bkill", cmd_bkill, true, "LSF: end or signal jobs")                                                   \
    X("bstop", cmd_bstop, true, "LSF: hold what waits, suspend what runs")                                   \
    X("bresume", cmd_bresume, true, "LSF: let it go on")                                                     \
    X("brequeue", cmd_brequeue, true, "LSF: put jobs back into the queue")                                   \
    X("bswitch", cmd_bswitch, true, "LSF: move waiting jobs to another queue")                               \
    X("btop", cmd_btop, true, "LSF: a job before one's others")                                              \
    X("bmod", cmd_bmod, true, "LSF: change what jobs ask for")                                              \
    X("bhist", cmd_bhist, true, "LSF: how long jobs were in which state")                                    \
    X("bacct", cmd_bacct, true, "LSF: sums over jobs that ended")                                            \
    X("bqueues", cmd_bqueues, true, "LSF: list queues")                                                      \
    X("bhosts", cmd_bhosts, true, "LSF: list hosts")                                                         \
    X("lsload", cmd_lsload, true, "LSF: load of hosts")                                                     \
    X("lsid", cmd_lsid, true, "LSF: name of the cluster")                                               \
    X("bpeek", cmd_bpeek, true, "LSF: what a running job has written")                                       \
    X("bstat", cmd_bstat, true, "DTU: one line a job")                                                       \
    X("classstat", cmd_classstat, true, "DTU: slots of each queue")                                          \
    X("nodestat", cmd_nodestat, true, "DTU: state, slots and load of hosts")                               \
    X("qsub", cmd_qsub, true, "submit a job in the words of PBS")                                            \
    X("qstat", cmd_qstat, true, "PBS: list jobs")                                                            \
    X("qdel", cmd_qdel, true, "PBS: end jobs")                                                               \
    X("qhold", cmd_qhold, true, "PBS: hold waiting jobs")                                                    \
    X("qrls", cmd_qrls, true, "PBS: let them go")                                                            \
    X("qsig", cmd_qsig, true, "PBS: send jobs a signal")                                                     \
    X("qrerun", cmd_qrerun, true, "PBS: put jobs back into the queue")                                       \
    X("qmove", cmd_qmove, true, "PBS: move waiting jobs to another queue")                                   \
    X("qmsg", cmd_qmsg, true, "PBS: a line for the error output of jobs")                                   \
    X("qalter", cmd_qalter, true, "PBS: change what jobs ask for")                                           \
    X("qselect", cmd_qselect, true, "PBS: ids of jobs that are so")                                          \
    X("pbsnodes", cmd_pbsnodes, true, "PBS: list nodes, take them out and back")                             \
    X("pbsdsh", cmd_pbsdsh, true, "PBS: a command for each line of PBS_NODEFILE")                            \
    X("tracejob", cmd_tracejob, true, "PBS: what has happened to a job")
// clang-format on

#define X(name, function, linked, doc) int function(int argc, char **argv);
COMMANDS(X)
#undef X

/* The commands with an option table of their own (sbatch, salloc and srun share that of
 * script/options.h). */
// clang-format off
#define OPTION_TABLES(X)                                                                                     \
    X(sattach) X(sbcast) X(sstat) X(squeue) X(scancel) X(sinfo) X(sacct) X(sprio) X(sshare) X(sdiag)         \
    X(scontrol) X(scrontab) X(strigger) X(sacctmgr) X(sreport) X(seff) X(bsub) X(bjobs)       \
    X(bkill) X(bstop) X(bresume) X(brequeue) X(bswitch) X(btop) X(bqueues) X(bhosts) X(lsid) X(bpeek) X(bstat) X(classstat) \
    X(bmod) X(bhist) X(bacct) X(lsload) X(nodestat) \
    X(qsub) X(qstat) X(qdel) X(qhold) X(qrls) X(qsig) X(qrerun) X(qmove) X(qmsg) \
    X(qalter) X(qselect) X(pbsnodes) X(pbsdsh) X(tracejob)
/* The same of those that are remuda's own: "remuda NAME". */
#define OWN_OPTION_TABLES(X)                                                                                 \
    X(up) X(down) X(status) X(why) X(report) X(may) X(accounts) X(config) X(lint) X(import) X(gpus) X(token) X(join) X(leave)  \
    X(hosts) X(backup) X(restore) X(repair) X(env) X(logs) X(shell) X(version) X(docs)
// clang-format on
#define X(name) extern const struct option_table name##_options;
OPTION_TABLES(X)
OWN_OPTION_TABLES(X)
#undef X

#endif
