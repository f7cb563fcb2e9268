/* scontrol: what its files share. */
#ifndef REMUDA_CLI_SCONTROL_SCONTROL_H
#define REMUDA_CLI_SCONTROL_SCONTROL_H

#include "base/arena.h"
#include "base/str.h"
#include "cli/table/json_slurm.h"
#include "io/client/client.h"

#include <stdbool.h>

struct scontrol {
    struct arena *a;
    struct client *client;             /* opened when first needed */
    bool oneliner, all, quiet, future; /* of options without a value */
    enum json_form json;               /* --json, --yaml */
    int details;                       /* -d, -dd */
    int rc;                            /* exit status so far */
    bool leave;                        /* interactive: quit was said */
};

/* The connection, or NULL after "WHAT: Unable to contact slurm controller …" and where it should be
 * were printed. */
struct client *scontrol_connect(struct scontrol *s, const char *what);
/* "scontrol: error: …" or Slurm's "slurm_…" lines; sets rc = 1. */
void scontrol_fail(struct scontrol *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line of Slurm's own, as it is; sets rc = 1. What is better to know follows with
 * scontrol_fail. */
void scontrol_refuse(struct scontrol *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sends a changing request and prints what did not go, as Slurm does: "WHAT: …". Did all go? */
bool scontrol_change(struct scontrol *s, enum message_kind kind, const void *body,
                     const char *what);
/* The same of jobs, "… for job 4" each; then, where `what` is given, "WHAT error: …". */
bool scontrol_change_jobs(struct scontrol *s, enum message_kind kind, const void *body,
                          const char *ids, const char *what);

/* The commands; words are those after the command, options removed. */
void scontrol_show(struct scontrol *s, int n, char **word);
// clang-format off
#define SCONTROL_COMMANDS(X)                                                                                 \
    X(hold) X(holdu) X(uhold) X(release) X(requeue) X(requeuehold) X(suspend) X(resume) X(top)               \
    X(ping) X(reconfigure) X(shutdown) X(takeover) X(errnumstr) X(setdebug) X(setdebugflags)                 \
    X(schedloglevel) X(fsdampeningfactor) X(reboot) X(cancel_reboot) X(notify) X(token)                      \
    X(listpids) X(listjobs) X(liststeps) X(pidinfo)
// clang-format on
#define X(name) void scontrol_##name(struct scontrol *s, int n, char **word);
SCONTROL_COMMANDS(X)
#undef X
/* After a running job gave nodes back, inside a job: files that set the variables of its
 * environment anew. */
void scontrol_resize_files(struct scontrol *s, const char *ids);
/* The jobs a query finds, as references: "4,7_2"; NULL if there are none. */
const char *scontrol_job_labels(struct scontrol *s, const struct msg_query *q);
bool scontrol_any_job(struct scontrol *s, const struct msg_query *q); /* does it find one? */
/* Likewise, each with words of its own. What they cannot do is said, and sets rc. */
void scontrol_wait_job(struct scontrol *s, int n, char **word);
void scontrol_write(struct scontrol *s, int n, char **word); /* batch_script, config */
/* a line for each job that is COMPLETING; no words */
void scontrol_completing(struct scontrol *s, int n, char **word);
/* of what the first word names: job, node, partition, reservation */
void scontrol_update(struct scontrol *s, int n, char **word);
void scontrol_create(struct scontrol *s, int n, char **word); /* a partition or a reservation */
void scontrol_delete(struct scontrol *s, int n, char **word); /* likewise */
struct cell_env;
struct job;
/* What `show` prints of each kind. The text: job references, or names with ranges allowed, as the
 * command line has it; NULL = of all there are, but hidden ones. One that is not there is said,
 * and sets rc. */
void scontrol_show_jobs(struct scontrol *s, const char *ids);
/* one record, at once on stdout; -d adds what it has on each node */
void scontrol_job_print(struct scontrol *s, const struct job *j, const struct cell_env *env);
void scontrol_show_steps(struct scontrol *s, const char *ids); /* "12", "12.3" */
/* names, with ranges */
void scontrol_show_nodes(struct scontrol *s, const char *names);
/* hidden ones only where named, or with -a */
void scontrol_show_partitions(struct scontrol *s, const char *names);
/* every setting in Slurm's order, and what the cluster is */
void scontrol_show_config(struct scontrol *s);
/* NULL: where the cluster lives. */
void scontrol_write_config(struct scontrol *s, const char *path);
void scontrol_show_slurmd(struct scontrol *s, const char *name); /* NULL: of this host */
/* Of a switch, block or node; NULL = all. */
void scontrol_show_topology(struct scontrol *s, const char *name);
void scontrol_show_licenses(struct scontrol *s, const char *name); /* one, or all */
/* names of nodes on that host; NULL = this one */
void scontrol_show_aliases(struct scontrol *s, const char *host);
/* `kind`: hostnames (one a line) or hostlist (folded, and of a file); NULL: of the job at hand. */
void scontrol_show_hosts(struct scontrol *s, const char *kind, const char *list);

/* Nodes+= and Nodes-=: the nodes `old` with those of `more` (sign '+'), or without them ('-'), in
 * the arena; "ALL" and "" as the controller reads them. ERR_INVALID: not a list of names;
 * ERR_NOT_FOUND: one that is to go is not among them. */
bool scontrol_nodes_change(struct arena *a, const char *old, const char *more, char sign,
                           const char **ret, struct err *ret_err);

/* One record, fields in lines as Slurm breaks them; -o puts all of it into one line. */
struct record_text {
    struct str text;      /* all of it, printed at the end */
    bool oneliner, fresh; /* fresh: nothing stands on the line yet */
};
void record_begin(struct record_text *r, bool oneliner); /* empty; record_print frees */
void record_break(struct record_text *r);                /* a new line, three blanks deep */
/* NULL is written as (null) */
void record_add(struct record_text *r, const char *key, const char *value);
/* KEY=… */
void record_addf(struct record_text *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void record_print(struct record_text *r); /* with the blank line between records, and frees */
/* What is asked of GPUs, by job, node, socket and task; `whole`: the key of those of all of it,
 * TresPerJob or TresPerStep. */
struct job_request;
void scontrol_gpu_lines(struct record_text *r, const struct job_request *q, const char *gpu_bind,
                        const char *whole);

#endif
