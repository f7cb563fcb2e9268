/* Signal names: "USR1", "SIGUSR1", "usr1", "10" ↔ number (Linux numbers, the same on every host of
 * a cluster). */
#ifndef REMUDA_MODEL_SIGNALS_H
#define REMUDA_MODEL_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Those that the machines themselves speak of, which include no header of the system. */
#define SIGNAL_KILL 9
#define SIGNAL_USR1 10
#define SIGNAL_TERM 15
#define SIGNAL_CONT 18
#define SIGNAL_STOP 19
#define SIGNAL_TSTP 20

/* "15", "TERM", "SIGTERM", whatever the letter case; false = none of these, *ret as it was. */
bool signal_parse(const char *text, int *ret);
const char *signal_name(int signo); /* "USR1"; NULL if unknown */

/* What goes with a signal that a shepherd sends because all of a job are told (sigqueue(3)'s
 * value): an srun among them need not tell the tasks of its steps, who are told as it is. A process
 * that takes no notice sees a signal like any other. */
enum signal_word {
    SIGNAL_PLAIN, /* somebody sent it, to this process */
    SIGNAL_TOLD,  /* everybody has it */
    SIGNAL_ENDS   /* everybody has it, and the job ends */
};
/* for a signal's value (sigqueue) */
uint64_t signal_word_pack(enum signal_word word, uint64_t job_id);
/* PLAIN if `value` is none of ours; *ret_job_id then is 0. */
enum signal_word signal_word_read(uint64_t value, uint64_t *ret_job_id);

#endif
