/* Jobs as LSF's commands name, choose and show them. */
#ifndef REMUDA_CLI_LSF_JOBS_H
#define REMUDA_CLI_LSF_JOBS_H

#include "base/vec.h"
#include "cli/lsf/lsf.h"
#include "io/client/client.h"
#include "model/job/job.h"

#include <stdbool.h>
#include <stddef.h>

/* Which jobs are meant. */
struct lsf_filter {
    const char *users;     /* -u; NULL = one's own; "all" */
    const char *queue;     /* -q */
    const char *host;      /* -m */
    const char *name;      /* -J: '*' stands for any letters; "NAME[3]" for an element */
    const char *project;   /* -P */
    const char *group;     /* -g: "/a" has "/a/b", too */
    bool none;             /* what no job has was asked for: an application profile */
    VEC(const char *) ids; /* "12", "12[1-3]": whoever they are of */
    bool all;              /* -a: ended ones of the last hour, too */
    bool past;             /* of the whole history, in these times (0 = any) */
    int64_t from_us, to_us;
    bool runs; /* and former runs of those that ran again, each */
};

/* Elements of an array that wait and are not listed one by one. */
struct lsf_more {
    const struct job *job; /* one of them, which stands for all */
    size_t n;              /* how many */
};

struct lsf_job_list {
    VEC(const struct job *) job; /* elements of arrays each; by number and index */
    /* Components of heterogeneous jobs, each; above the first stands for them, with the hosts,
     * CPUs, memory and GPUs of all. */
    VEC(const struct job *) part;
    VEC(const char *) missing; /* ids that no job has */
    /* Of arrays with more waiting elements than are listed: one of the others, and how many there
     * are. */
    VEC(struct lsf_more) more;
    /* Numbers, once or several times: of what there is of them the filter left something out. */
    VEC(uint64_t) part_meant;
};

/* An operand, checked. For option_table.word, where the filter stands first in what is filled. */
bool lsf_id_take(void *to, const char *word, struct arena *a, struct err *ret_err);
/* The caller calls lsf_job_list_done. Texts live in the arena. */
bool lsf_jobs_read(struct client *c, const struct lsf_filter *f, struct arena *a,
                   struct lsf_job_list *ret, struct err *ret_err);
/* Is only some of what has this number in the list, or may that be so? */
bool lsf_job_list_is_part(const struct lsf_job_list *l, uint64_t number);
/* The lists alone: what they name lives in the arena. */
void lsf_job_list_done(struct lsf_job_list *l);
void lsf_filter_done(struct lsf_filter *f); /* the list of ids; its texts are the arena's */

/* "PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "DONE", "EXIT". */
const char *lsf_job_state(const struct job *j);
bool lsf_job_is_suspended(const struct job *j); /* it had started */
bool lsf_job_is_pending(const struct job *j);   /* waits, or is held after a special exit */
bool lsf_job_is_over(const struct job *j);      /* it ended, however */
/* What LSF's exit code of it is: 130 of one that was cancelled, 140 at its limit, 137 out of
 * memory. */
int lsf_job_exit_code(const struct job *j);
/* "TERM_OWNER: job killed by owner."; NULL = it ended by itself, or did not end. */
const char *lsf_job_term(const struct job *j);
/* "name[3]" of an element. */
const char *lsf_job_name(const struct job *j, struct arena *a);
/* As ctime has it without the day: "Mar  5 14:19"; "-" for none. */
const char *lsf_time(int64_t us, struct arena *a);
/* A sentence of why it waits, in LSF's words where it has some. */
const char *lsf_pending_reason(const struct job *j, struct arena *a);

/* Of a suspended one: why. */
const char *lsf_suspend_reason(const struct job *j);
/* As many characters: what is too long has its end, behind '*', the rest blanks behind it. */
const char *lsf_cut(const char *text, size_t width, struct arena *a);
/* At least as many characters, with blanks behind it. The arena's. */
const char *lsf_fill(const char *text, size_t width, struct arena *a);

struct past_jobs;
/* What the steps of these jobs used; the caller calls past_done. Asks for nothing if all of them
 * wait. False: *ret_err says why. */
bool lsf_past_read(struct client *c, const struct lsf_job_list *l, struct arena *a,
                   struct past_jobs *ret, struct err *ret_err);

/* Hosts it runs (ran) on, with its slots on each. */
struct lsf_host {
    const char *name;
    int32_t slots;   /* tasks */
    int32_t cpus;    /* on that host */
    int64_t mem_mib; /* 0 = not known */
    int64_t gpus;
};
/* Returns how many; *ret lives in the arena. 0: it has not started. */
size_t lsf_job_hosts(const struct job *j, struct arena *a, struct lsf_host **ret);
/* The same of a former run, whose record says that the job waits again. */
size_t lsf_run_hosts(const struct job *j, struct arena *a, struct lsf_host **ret);
/* "4*h1:2*h2"; "-" for none. */
const char *lsf_exec_host(const struct job *j, struct arena *a);
/* Tasks: those it runs with or, before, those it asks for; at least 1. */
int32_t lsf_job_slots(const struct job *j);

#endif
