/* The processes below one process, from /proc: whoever daemonised or began a session of its own is
 * still there, because shepherds are subreapers. */
#ifndef REMUDA_NODE_STEP_PROC_TREE_H
#define REMUDA_NODE_STEP_PROC_TREE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Room for processes. A number alone is not whose it was for long: it is another's as soon as its
 * process was waited for, so each is told apart by when it began. */
struct proc_list {
    pid_t *pid;
    pid_t *top;      /* the child of root that it descends from (itself, if it is one); NULL = not
                      * wanted */
    uint64_t *start; /* ticks since the boot; 0: it has ended, and was not waited for yet */
    size_t max;
};

/* All descendants of root (not root itself), parents before children; nobody else. Returns how many
 * were put into the list. */
size_t proc_tree(pid_t root, const struct proc_list *ret);
/* When it began, as in the list; 0 if it is gone, or has ended. */
uint64_t proc_start(pid_t pid);
/* A thread of its that has not ended: the first, or another where that has; 0 = there is none. */
pid_t proc_thread(pid_t pid);
/* The state of that thread, as the kernel has it in one letter; 'Z' = the process has ended, '?' =
 * it is gone. */
char proc_state(pid_t pid);
/* Does it run or wait, so that it is neither stopped nor gone? */
bool proc_goes_on(pid_t pid);
/* Sends a signal to the process that began then, with what it carries where `value` is given; to
 * nobody, if that one has ended. False with errno if it was not sent. */
bool proc_signal(pid_t pid, uint64_t start, int signo, const union sigval *value);

struct proc_usage {
    int64_t cpu_user_us, cpu_system_us; /* of itself and of its children that were waited for */
    int64_t rss_bytes, vm_bytes, major_faults; /* of a process now; faults since it began */
    int64_t read_bytes, write_bytes; /* through system calls, cached or not, as Slurm counts */
};
/* All but what it read and wrote; false if it is gone. */
bool proc_usage(pid_t pid, struct proc_usage *ret);
/* The same of the text of /proc/PID/stat, which is taken apart: the name in it may hold anything.
 * False if it is none. */
bool proc_usage_parse(char *stat, struct proc_usage *ret);
/* What it read and wrote; of one that ended and was not waited for, too. 0 if it is gone. A process
 * that executes a program may keep whoever asks for as long as it likes. */
void proc_io(pid_t pid, int64_t *ret_read_bytes, int64_t *ret_write_bytes);
/* Memory of the process with what it shares counted in parts (PSS); -1 if the kernel does not tell,
 * and where it has none.
 * Costs more than proc_usage. */
int64_t proc_share_bytes(pid_t pid);

#endif
