/* A job that a command made for itself (srun, salloc) or works in: asked for, waited for, held,
 * given back. The connection it belongs to is made again when the controller was restarted. */
#ifndef REMUDA_CLI_SUBMIT_ALLOCATION_H
#define REMUDA_CLI_SUBMIT_ALLOCATION_H

#include "cli/submit/command.h"
#include "io/client/client.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* A command of another system that an allocation is made for: its name, and who hears of it in that
 * system's words. */
struct allocation_told {
    const char *name; /* of the command, for its lines */
    enum dialect dialect;
    const char *dialect_site, *project, *job_group; /* as in job_spec */
    void (*submitted)(void *ctx, uint64_t job_id);  /* it has its number, and may wait */
    int (*over)(void *ctx, uint64_t job_id); /* it ended while it waited: what to exit with */
    void *ctx;
};

struct allocation {
    const char *name;      /* of the command, for its messages */
    const char *state_dir; /* NULL = the one that is found */
    bool quiet;
    bool ours;                          /* made by this command: given back at the end */
    const struct allocation_told *told; /* NULL = nobody wants to know */
    struct client *client;              /* NULL while the controller is away */
    int signal_fd;                      /* of command_signals; -1 = none */
    struct arena *a;
    uint64_t job_id;          /* 0 = none yet; of the leader */
    const struct job *job;    /* the components, running */
    size_t njobs;             /* components, 1 of a plain job */
    bool over;                /* it ended: end_state says how */
    enum job_state end_state; /* once it is over */
    int64_t retry_at_ms;      /* when to look for the controller again */
    uint64_t attach_call;     /* of the connection: it was held again by this call; 0 = not */
};

/* Submits and waits until it runs, saying so in Slurm's words. False: it does not run (said
 * already); *ret_status is what to exit with. Ctrl-C cancels it. `timeout_us`: give up after so
 * long (--immediate=seconds); 0 = never. */
bool allocation_make(struct allocation *al, const struct submit_command *c,
                     const struct msg_submit *m, int64_t timeout_us, int *ret_status);
/* A job that runs already, as the controller shows it now: "42" is the very job of that number, be
 * it an element that carries its array's, "42_7" and "42+1" elements and components. The number of
 * a heterogeneous job's leader gives all components. */
bool allocation_find(struct allocation *al, const char *ref, struct err *ret_err);
/* A message from the controller that is about the allocation as a whole; false if it is none. One
 * that the store is away lets go of the connection, and it is asked again later. */
bool allocation_hear(struct allocation *al, const struct message *m);
/* Is the controller there? If not, it is looked for once a second; after it came back the
 * allocation is held again, and true is returned with *ret_again set. */
bool allocation_connected(struct allocation *al, bool *ret_again);
/* The connection broke. */
void allocation_lost(struct allocation *al);
/* Gives it back with that wait status, if it is ours and not over, and closes the connection. */
void allocation_finish(struct allocation *al, int32_t wait_status);

/* A line on standard error, "NAME: …" and `end`, in one piece: lines of commands that say something
 * at the same time stay whole. */
void allocation_line_say(const char *name, const char *end, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Milliseconds of a clock that is never set. */
int64_t allocation_now_ms(void);

#endif
