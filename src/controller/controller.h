/* The controller daemon: the shell around core. It owns every input and output of the
 * controller's host and no decision.
 *
 * Parts: session (connections and who they are), turn (effects, commits, their release), query
 * and history (answers to reads), payload (scripts and environments for launches), config_file.
 * Each sees the whole through this struct. */
#ifndef REMUDA_CONTROLLER_CONTROLLER_H
#define REMUDA_CONTROLLER_CONTROLLER_H

#include "core/core.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/mail.h"
#include "io/net/listen.h"
#include "io/process/daemon.h"
#include "io/users.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct controller {
    struct loop *loop;
    struct log *log;
    const char *state_dir; /* absolute */
    const char *host;      /* this machine's name */
    struct arena *arena;   /* of the process: paths and the like */
    struct core *core;     /* what happens, and only there */
    struct config config;
    bool has_config;         /* it was read once */
    const char *config_path; /* NULL = none is read */
    int64_t start_us;        /* wall clock */
    struct users *users;
    struct owner_watch *owners; /* names of those whose jobs there are */
    struct mailer *mailer;
    const char *smtp_program;   /* path, whether it is there or not */
    const char *report_program; /* the commands' */
    struct program_runs *programs;
    struct pid_file *lock;        /* of the process, while it runs */
    struct place_watch *place;    /* its directory, looked after */
    struct listener *listener;    /* of clients of this host */
    struct hosts *hosts;          /* from other hosts, and what lets them join */
    struct metrics_port *metrics; /* NULL until the state is loaded */
    struct sessions *sessions;    /* one for each connection */
    struct turns *turns;          /* events, commits, what is let out */
    struct traffic *traffic;      /* counts of messages, for sdiag */
    struct questions *questions;  /* queries and what is asked without a change */
    struct amends *amends;
    struct submit_filters *submit_filters;
    struct foresight *foresight;  /* long forecasts, made in a copy of the process */
    struct payloads *payloads;    /* scripts and environments of jobs */
    struct reads *reads;          /* threads that read the store */
    struct answer_rooms *answers; /* room for answers that are made */
    struct past *past;            /* what is old goes */
    const char *past_damaged; /* why some of it cannot be read; NULL = as far as is known all can */
    struct series_store *series; /* samples that nodes sent */
    bool stopping;               /* told to end; no new session */
    bool killed;                 /* the last controller did not end by itself */
    struct timer *stop_timer;    /* how long it waits for the store */
};

/* remudad controller --state DIR [--foreground] [--verbose]; returns the exit status. */
int controller_main(int argc, char **argv);

/* Paths in the state directory, in c->arena. */
static inline const char *controller_path(struct controller *c, const char *name)
{
    return arena_printf(c->arena, "%s/%s", c->state_dir, name);
}

/* Reads the configuration and feeds EV_CONFIG; a bad one is logged, and the one in force stays. */
void controller_reconfigure(struct controller *c);
/* Who connects afterwards need not wait for its return: it was told to stop (client.h). */
void controller_down_mark(struct controller *c);
/* Ends the daemon: no new connections; what is under way is committed and answered, then loop_run
 * returns. */
void controller_stop(struct controller *c);

#endif
