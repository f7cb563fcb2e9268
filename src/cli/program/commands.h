/* Every command of the one client binary. `remuda NAME …` runs it; those of a system that people
 * come from also run under their own name (a link to the binary), as its users type them. A command
 * gets its own argv (argv[0] is its name) and returns the exit status. */
#ifndef REMUDA_CLI_PROGRAM_COMMANDS_H
#define REMUDA_CLI_PROGRAM_COMMANDS_H

#include "script/options/option.h"

#include <stdbool.h>
#include <stddef.h>

/* Whose name it is: ours, or one that is a link. */
enum command_family { OWN, SLURM, LSF, PBS };
#define COMMAND_FAMILIES 4
/* "slurm", "lsf", "pbs"; "" of our own. */
const char *command_family_name(enum command_family f);
/* The names of the family's links, those that are not there, too; NULL past the last. */
const char *command_link_at(enum command_family f, size_t i);

/* X(name, function, family, one line of help) */
// clang-format off
#define COMMANDS(X)                                                                                          \
    X("up", cmd_up, OWN, "start a cluster on this machine, or what of it does not run")                      \
    X("down", cmd_down, OWN, "stop its daemons; running jobs go on")                                         \
    X("status", cmd_status, OWN, "what runs, since when, with what")                                         \
    X("why", cmd_why, OWN, "why jobs wait, when they will start, what would let them start sooner")          \
    X("extend", cmd_extend, OWN, "more time for a running job, as much as delays nobody")                    \
    X("plot", cmd_plot, OWN, "what a job did with its GPUs, CPUs and bytes: charts, CSV, JSON, SVG")         \
    X("top", cmd_top, OWN, "the cluster now: how busy each GPU is, and whose job it does")                   \
    X("report", cmd_report, OWN, "how well jobs used what they had, and what to ask for next time")          \
    X("may", cmd_may, OWN, "what you may use: partitions, accounts, QOS, what is left of their limits, free GPUs") \
    X("accounts", cmd_accounts, OWN, "who is in which account, with which limits, and how much of them is used") \
    X("config", cmd_config, OWN, "check a configuration before it is taken: what it means here, what it does not") \
    X("import", cmd_import, OWN, "take a site over from Slurm: its configuration, its accounts")             \
    X("gpus", cmd_gpus, OWN, "what GPUs there are, how each is and why, who has it; let go of them")         \
    X("token", cmd_token, OWN, "print a token with which another machine joins; list and revoke them")       \
    X("join", cmd_join, OWN, "make this machine a host of a cluster that runs elsewhere")                    \
    X("leave", cmd_leave, OWN, "take this machine out of the cluster it joined")                             \
    X("hosts", cmd_hosts, OWN, "list the machines that joined; shut some out")                               \
    X("backup", cmd_backup, OWN, "write the cluster to one file, while it runs")                             \
    X("restore", cmd_restore, OWN, "put a cluster back from such a file")                                    \
    X("repair", cmd_repair, OWN, "make a new store of what can be read of a damaged one")                    \
    X("env", cmd_env, OWN, "shell lines that put the commands on PATH: eval \"$(remuda env)\"")              \
    X("logs", cmd_logs, OWN, "show or follow (-f) the output of a job")                                      \
    X("lint", cmd_lint, OWN, "what the lines of a job script are understood as, and what looks wrong")      \
    X("translate", cmd_translate, OWN, "a job script in the words of another system: of Slurm, LSF or PBS")  \
    X("adopt", cmd_adopt, OWN, "let users in by ssh where their jobs run, and into these (for PAM)")                 \
    X("version", cmd_version, OWN, "versions of this release")                                               \
    X("docs", cmd_docs, OWN, "write the reference pages that are made from the tables")                      \
    X("sbatch", cmd_sbatch, SLURM, "submit a batch script")                                                  \
    X("srun", cmd_srun, SLURM, "run tasks in an allocation, or in one made for them")                        \
    X("salloc", cmd_salloc, SLURM, "allocate resources and start a shell or a command")                      \
    X("sattach", cmd_sattach, SLURM, "connect to the streams of a running step")                             \
    X("sbcast", cmd_sbcast, SLURM, "copy a file to the nodes of a job")                                      \
    X("sstat", cmd_sstat, SLURM, "what the steps of running jobs use")                                       \
    X("shell", cmd_shell, OWN, "a shell inside a running job")                                               \
    X("squeue", cmd_squeue, SLURM, "list jobs that wait or run")                                             \
    X("scancel", cmd_scancel, SLURM, "cancel or signal jobs")                                                \
    X("sinfo", cmd_sinfo, SLURM, "list partitions and nodes")                                                \
    X("sacct", cmd_sacct, SLURM, "accounting of jobs and steps")                                             \
    X("sacctmgr", cmd_sacctmgr, SLURM, "accounts, users, QOS and their limits")                              \
    X("sreport", cmd_sreport, SLURM, "what was used, by account, user, size of job: hours, days, years")     \
    X("seff", cmd_seff, SLURM, "how much of what a job had it used")                                         \
    X("sprio", cmd_sprio, SLURM, "what the priorities of waiting jobs are made of")                          \
    X("sshare", cmd_sshare, SLURM, "who used how much, and the fair share that follows")                     \
    X("sdiag", cmd_sdiag, SLURM, "what the controller has done, and how fast")                               \
    X("scontrol", cmd_scontrol, SLURM, "look at everything in detail; change jobs and nodes")                \
    X("scrontab", cmd_scrontab, SLURM, "a table of jobs that run again and again")                           \
    X("strigger", cmd_strigger, SLURM, "programs that run when something happens")                                    \
    X("bsub", cmd_bsub, LSF, "submit a job in the words of LSF: bsub < FILE")                                \
    X("bjobs", cmd_bjobs, LSF, "LSF: list jobs")                                                             \
    X("bkill", cmd_bkill, LSF, "LSF: end or signal jobs")                                                    \
    X("bstop", cmd_bstop, LSF, "LSF: hold what waits, suspend what runs")                                    \
    X("bresume", cmd_bresume, LSF, "LSF: let it go on")                                                      \
    X("brequeue", cmd_brequeue, LSF, "LSF: put jobs back into the queue")                                    \
    X("bswitch", cmd_bswitch, LSF, "LSF: move waiting jobs to another queue")                                \
    X("btop", cmd_btop, LSF, "LSF: a job before one's others")                                               \
    X("bbot", cmd_bbot, LSF, "LSF: a job behind one's others")                                               \
    X("bmod", cmd_bmod, LSF, "LSF: change what jobs ask for")                                                \
    X("bhist", cmd_bhist, LSF, "LSF: how long jobs were in which state")                                     \
    X("bacct", cmd_bacct, LSF, "LSF: sums over jobs that ended")                                             \
    X("bqueues", cmd_bqueues, LSF, "LSF: list queues")                                                       \
    X("bhosts", cmd_bhosts, LSF, "LSF: list hosts")                                                          \
    X("lsload", cmd_lsload, LSF, "LSF: load of hosts")                                                       \
    X("lshosts", cmd_lshosts, LSF, "LSF: what hosts are and have")                                           \
    X("jsrun", cmd_jsrun, LSF, "LSF: tasks on resource sets (CSM)")                                          \
    X("blaunch", cmd_blaunch, LSF, "LSF: a command on hosts of the job, in the place of rsh")                \
    X("lsclusters", cmd_lsclusters, LSF, "LSF: name and state of the cluster")                               \
    X("badmin", cmd_badmin, LSF, "LSF: settings of the site (showconf)")                                     \
    X("lsadmin", cmd_lsadmin, LSF, "LSF: settings of the site (showconf)")                                   \
    X("bparams", cmd_bparams, LSF, "LSF: parameters of the site")                                            \
    X("lsid", cmd_lsid, LSF, "LSF: name of the cluster")                                                     \
    X("bpeek", cmd_bpeek, LSF, "LSF: what a running job has written")                                        \
    X("bstat", cmd_bstat, LSF, "DTU: one line a job")                                                        \
    X("classstat", cmd_classstat, LSF, "DTU: slots of each queue")                                           \
    X("nodestat", cmd_nodestat, LSF, "DTU: state, slots and load of hosts")                                  \
    X("showstart", cmd_showstart, LSF, "DTU: when waiting jobs are planned to start")                        \
    X("qsub", cmd_qsub, PBS, "submit a job in the words of PBS")                                             \
    X("qstat", cmd_qstat, PBS, "PBS: list jobs")                                                             \
    X("qdel", cmd_qdel, PBS, "PBS: end jobs")                                                                \
    X("qhold", cmd_qhold, PBS, "PBS: hold waiting jobs")                                                     \
    X("qrls", cmd_qrls, PBS, "PBS: let them go")                                                             \
    X("qsig", cmd_qsig, PBS, "PBS: send jobs a signal")                                                      \
    X("qrerun", cmd_qrerun, PBS, "PBS: put jobs back into the queue")                                        \
    X("qmove", cmd_qmove, PBS, "PBS: move waiting jobs to another queue")                                    \
    X("qmsg", cmd_qmsg, PBS, "PBS: a line for the error output of jobs")                                     \
    X("qalter", cmd_qalter, PBS, "PBS: change what jobs ask for")                                            \
    X("qselect", cmd_qselect, PBS, "PBS: ids of jobs that are so")                                           \
    X("pbsnodes", cmd_pbsnodes, PBS, "PBS: list nodes, take them out and back")                              \
    X("pbsdsh", cmd_pbsdsh, PBS, "PBS: a command for each line of PBS_NODEFILE")                             \
    X("qenable", cmd_qenable, PBS, "PBS: queues take jobs")                                                  \
    X("qdisable", cmd_qdisable, PBS, "PBS: queues take no jobs")                                             \
    X("qstart", cmd_qstart, PBS, "PBS: queues start jobs")                                                   \
    X("qstop", cmd_qstop, PBS, "PBS: queues start no jobs")                                                  \
    X("qmgr", cmd_qmgr, PBS, "PBS: list server, queues and nodes; open and close them")                      \
    X("pbs_tmrsh", cmd_pbs_tmrsh, PBS, "PBS: a command on a node of the job, in the place of rsh")           \
    X("tracejob", cmd_tracejob, PBS, "PBS: what has happened to a job")
// clang-format on

#define X(name, function, linked, doc) int function(int argc, char **argv);
COMMANDS(X)
#undef X
/* `remuda complete COMMAND WORDS…`, for the completion of shells (shells/). argv[1]: the command's
 * name, for remuda's own "remuda" and the name behind it; then the words so far, the last of which
 * is being written and may be empty. Prints what may stand there, a line each, with what it is
 * behind a tab; a line that is a tab alone: the name of a file. Always 0. */
int cmd_complete(int argc, char **argv);

/* `remuda container OPTIONS -- PROGRAM ARGUMENTS`: what the tasks of srun --container-image run on
 * their node: makes the container, runs the program in it and ends as that did. 127: there is no
 * container, and why was said. */
int cmd_container(int argc, char **argv);

/* The commands with an option table of their own (sbatch, salloc and srun share that of
 * script/options/options.h). */
// clang-format off
#define OPTION_TABLES(X)                                                                                     \
    X(sattach) X(sbcast) X(sstat) X(squeue) X(scancel) X(sinfo) X(sacct) X(sprio) X(sshare) X(sdiag)         \
    X(scontrol) X(scrontab) X(strigger) X(sacctmgr) X(sreport) X(seff) X(bsub) X(bjobs)       \
    X(bkill) X(bstop) X(bresume) X(brequeue) X(bswitch) X(btop) X(bqueues) X(bhosts) X(lsid) X(bpeek) X(bstat) X(classstat) \
    X(bmod) X(bhist) X(bacct) X(lsload) X(nodestat) X(showstart) X(lsclusters) X(badmin) X(bbot) \
    X(lsadmin) X(bparams) X(lshosts) X(blaunch) X(jsrun) \
    X(qsub) X(qstat) X(qdel) X(qhold) X(qrls) X(qsig) X(qrerun) X(qmove) X(qmsg) \
    X(qalter) X(qselect) X(pbsnodes) X(pbsdsh) X(tracejob) \
    X(qenable) X(qdisable) X(qstart) X(qstop) X(qmgr) X(pbs_tmrsh)
/* The same of those that are remuda's own: "remuda NAME". */
#define OWN_OPTION_TABLES(X)                                                                                 \
    X(up) X(down) X(status) X(why) X(extend) X(plot) X(top) X(report) X(may) X(accounts) X(config) X(lint) X(translate) X(import) X(gpus) X(token) X(join) X(leave)  \
    X(hosts) X(backup) X(restore) X(repair) X(env) X(logs) X(shell) X(adopt) X(version) X(docs)
// clang-format on
#define X(name) extern const struct option_table name##_options;
OPTION_TABLES(X)
OWN_OPTION_TABLES(X)
#undef X

#endif
