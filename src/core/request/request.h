/* What is asked of the controller. Only core/ includes this. */
#ifndef REMUDA_CORE_REQUEST_REQUEST_H
#define REMUDA_CORE_REQUEST_REQUEST_H

#include "core/load/load.h"

/* ---- sweep.c: requests about many jobs, a slice a wake -------------------------------------- */
typedef enum refusal (*job_act)(struct core *c, struct jobrec *r, const struct job_ref *ref,
                                void *ctx, const char **detail);
/* A request that does the same to each of the jobs it names, or that fit. */
struct sweep_kind {
    enum message_kind kind; /* of the requests that are done so */
    job_act act;            /* to one job; what it refuses is told with its number */
    /* Of what `act` gets, made of the message by `fill`; the message and the arena outlive it. */
    size_t ctx_size;
    /* reads the request once, before the first job */
    bool (*fill)(const struct core *c, void *ctx, const void *body, struct err *ret_err);
    void (*done)(void *ctx); /* NULL = nothing to be freed */
    /* Bytes of long texts of the request that are read anew for each job; NULL = none. */
    size_t (*texts)(const void *ctx);
    /* Where no jobs are named; *looks: what it took is added, where it was more than usual. */
    bool (*fits)(const void *ctx, const struct jobrec *r, size_t *looks);
    /* No jobs are named, but whose they are: others' are refused aloud. NULL = never. */
    bool (*of_named_users)(const void *ctx);
};
/* Resolves each reference of the list (or "name=NAME") and acts; collects results of those that did
 * not go, and replies DONE when all is done. refs NULL: all live jobs that fit and that the peer
 * may control. */
void sweep_begin(struct core *c, const struct sweep_kind *kind, const void *body, const char *refs);
/* The request is asked again while it is worked off: it is answered there. */
bool sweep_again(struct core *c, const struct message *m);
struct sweep;
/* In a wake: one slice of one of them, in turns by user. */
void sweeps_go(struct core *c);
/* When sweeps_go has something to do: 0 = now, INT64_MAX = nothing, or the store is away. */
int64_t sweeps_due(const struct core *c);
void sweeps_heed(struct core *c, const struct peer *asks); /* somebody else is there */
void sweeps_free(struct core *c); /* At the end of the controller: those at work. */

/* ---- top.c ---- */
/* Puts it before its user's other jobs in the same queue, behind those in `before`, by number,
 * which one request put there: it joins them. All jobs are looked at: that counts as work. */
enum refusal job_top(struct core *c, struct jobrec *r, struct map_u64 *before, const char **detail);

/* ---- requeue.c ---- */
enum refusal job_requeue(struct core *c, struct jobrec *r, bool hold, bool special,
                         const char **detail);

/* ---- submit.c ---- */
void req_submit(struct core *c, const struct msg_submit *m);
/* --exclude= names nodes that are there, and neither it nor --nodelist too many; fills why not. */
enum refusal node_lists_check(const struct core *c, const struct job_request *r,
                              struct str *detail);
/* The job's command, if it stays, is told of it from now on. */
void submission_attach(struct core *c, const struct msg_submit *m, uint64_t id);

/* A submission in parts, for who makes several jobs in one event: all are checked before one is
 * kept. The message outlives it. */
struct submission;
/* Never NULL; freed by submission_close. Nothing is looked at yet. */
struct submission *submission_open(const struct msg_submit *m);
/* May it be kept? Changes nothing but the submission. Refused: submission_detail says why, in the
 * nearest reason's words. */
enum refusal submission_check(struct core *c, struct submission *s);
/* The first of its jobs, with what is settled by the check: partition, account, QOS. */
const struct job_spec *submission_spec(const struct submission *s);
/* What was checked in the same event. Refused only for a dependency. */
enum refusal submission_keep(struct core *c, struct submission *s, uint64_t *ret_id);
const char *submission_detail(const struct submission *s);  /* why not */
const char *submission_warning(const struct submission *s); /* NULL = none */
void submission_close(struct submission *s); /* After reply or refusal: drafts, texts, itself. */

/* ---- before.c: "before:12" of a dependency's text; NULL or "" has none ---- */
bool before_check(const struct core *c, const struct jobrec *r, const char *text,
                  struct err *ret_err);
/* r is there, and before_check allowed the text: those whom it names wait for r from now on. */
void before_apply(struct core *c, const struct jobrec *r, const char *text);
/* May its components wait for as much as they are to wait for? It is looked at for each of them,
 * now and whenever one of the jobs ends. It is counted before anything is made of it. */
bool components_fit(const struct msg_submit *m, struct str *detail);

/* ---- crontab.c ---- */
void req_set_crontab(struct core *c, const struct msg_set_crontab *m);
/* The text as its owner wrote it; one's own, or for operators anybody's. */
void req_get_crontab(struct core *c, const struct msg_get_crontab *m);

/* ---- trigger.c ---- */
void req_set_trigger(struct core *c, const struct msg_set_trigger *m);
/* Those of a number, job or user that the peer may remove go, and are counted; a request that says
 * none of these is refused. */
void req_clear_trigger(struct core *c, const struct msg_clear_trigger *m);
/* Why scontrol does not change a job of scrontab. */
#define CRON_CHANGE_TEXT                                                                           \
    "it comes of a line of its owner's table: `scrontab -e` changes it, and a # before the line "  \
    "takes it out"

/* ---- choose.c ---- */
/* Account and QOS of a user's job: the defaults where none is given; those that he may use, where
 * that is insisted on. `detail`: why not, and what he may. */
enum refusal account_choose(struct core *c, struct job_request *req, const char *user,
                            struct str *detail);
/* Where workload keys are insisted on (else nothing): the key of a user's job, one of his own;
 * where none is given his default, written with a star before it, as Slurm does; root's may be
 * empty. `detail`: why not, and which he has. */
enum refusal wckey_choose(struct core *c, struct job_spec *spec, const char *user,
                          struct str *detail);
/* May the peer at hand have so many more jobs, and such a one? Fills the time limit of one that
 * gives none. `warning`: it may, but cannot run as it is. */
enum refusal limits_check(struct core *c, struct job_spec *spec, uint64_t elements,
                          struct str *detail, struct str *warning);
/* The second half of it, of a user's job: does its QOS refuse such a one (DenyOnLimit)? */
enum refusal limits_deny_check(struct core *c, struct job_spec *spec, const char *user,
                               struct str *detail, struct str *warning);

/* ---- cancel.c ---- */
void req_cancel(struct core *c, const struct msg_cancel *m);

/* ---- job_control.c ---- */
void req_job_control(struct core *c, const struct msg_job_control *m);

/* ---- accounts.c ---- */
void req_change_accounts(struct core *c, const struct msg_change_accounts *m);

/* ---- update_job.c ---- */
/* Its step_limit_us, of the steps that its ids name; *detail may be set. */
enum refusal step_limits_update(struct core *c, const struct msg_update_job *m,
                                const char **detail);
/* Changes fields, or the limits of steps; of several jobs each by itself, and who may is asked for
 * each field. */
void req_amend_jobs(struct core *c, const struct msg_amend_jobs *m);
/* Steps' limits and components at once; jobs by reference one after the other, over several
 * turns. */
void req_update_job(struct core *c, const struct msg_update_job *m);

/* ---- extend.c: more time for running jobs, where that delays nobody ---- */
void req_extend(struct core *c, const struct msg_extend *m);
/* All of it or nothing; nothing changes yet. */
enum refusal extend_check(struct core *c, struct jobrec *r, int64_t add_us, const char **detail);
/* The same of several at once, each with its own time (0 = it asks for nothing). */
enum refusal extend_check_each(struct core *c, const jobrec_vec *job, const int64_t *each_us,
                               const char **detail);

/* ---- update_node.c ---- */
void req_update_node(struct core *c, const struct msg_update_node *m);

/* ---- update_partition.c ---- */
void req_update_partition(struct core *c, const struct msg_update_partition *m);

/* ---- update_reservation.c ---- */
void req_update_reservation(struct core *c, const struct msg_update_reservation *m);

/* ---- misc.c ---- */
void req_get_script(struct core *c, const struct msg_get_script *m);
/* Asks the node of that run; the answer comes with req_output_read. Its owner alone may. */
void req_get_output(struct core *c, const struct msg_get_output *m);
/* A node's answer: passed on to who asked; one that nobody waits for is dropped. */
void req_output_read(struct core *c, const struct msg_output_read *m);
void outputs_closed(struct core *c, uint64_t conn); /* of a node or of who asked */
/* Reconfigure, stop, counters: an administrator's, all but the ping. */
void req_daemon(struct core *c, const struct msg_daemon *m);

/* ---- why.c ---- */
void req_why(struct core *c, const struct msg_why *m);

/* ---- may.c ---- */
void req_may(struct core *c, const struct msg_may *m);

/* ---- answered.c: what is asked again is not done again -------------------------------------- */
/* It was answered before: so it is now. */
bool answered_again(struct core *c, const struct message *m);
/* Keeps the answer to the request at hand, if it changed something; its effects begin at `from`. */
void answered_keep(struct core *c, size_t from);
/* To the request at hand, which changed something. */
void answered_keep_reply(struct core *c, const struct effect *reply);
/* A row of the store; rows come in the order of time, which the map keeps. */
void answered_load(struct core *c, const struct answered *row);
/* All rows are loaded: an older release may have kept more than there is room for. */
void answered_restore(struct core *c);
/* Those whose time is over go, some in each turn. */
void answered_expire(struct core *c);
int64_t answered_due(const struct core *c); /* when they do; INT64_MAX = nothing is kept */
/* The clock was set by so much: kept answers are as old as before, here and in the store. */
void answered_move(struct core *c, int64_t by_us);
void answered_begin(struct core *c); /* nothing is kept yet */
/* At the end of the controller. */
void answered_free(struct core *c);
/* Stops the program where what is counted is not what is kept; for tests. */
void answered_check(const struct core *c);

/* ---- host.c ---- */
void req_make_token(struct core *c, const struct msg_make_token *m);
/* A host asks to join with a token's secret; what is wrong with it is told in a sentence. */
void req_join(struct core *c, const struct msg_join *m);
/* Shuts out hosts, or takes back tokens, by name; the answer counts them and says which were not
 * there. */
void req_expel(struct core *c, const struct msg_expel *m);
/* Rows of the store. A token of a kind that this release does not know lets nobody in. */
void token_load(struct core *c, const struct token *row);
void tokens_move(struct core *c, int64_t by_us); /* the clock was set */
void tokens_forget(struct core *c);              /* the store is older than what was said last */
/* from the store, as the controller starts */
void host_load(struct core *c, const struct host *row);
/* Each with which a host may still join, to v->row. */
void tokens_show(const struct core *c, int64_t now_us, const struct view *v);
/* Those whose time is over go. */
void tokens_expire(struct core *c);
/* The configuration was read: of nodes that it has no line waits to be written any more. */
void hosts_described(struct core *c);
/* At the end of the controller. */
void host_records_free(struct core *c);

/* ---- past.c ---- */
void req_archive(struct core *c, const struct msg_archive *m);
/* Rows of what happened elsewhere (an import, an archive): all of them, or none where one may not
 * come. */
void req_add_past(struct core *c, const struct msg_add_past *m);
/* Removes rows of what is over; of a job that is still in memory, or is of an array or a
 * heterogeneous job that is, nothing. */
void past_remove(struct core *c, const struct past_rows *rows);

/* ---- step.c: making steps ---- */
void req_create_step(struct core *c, const struct msg_create_step *m);
/* The caller is told how the step is and, when it is over, how it ended. */
void req_attach_step(struct core *c, const struct msg_attach_step *m);

/* ---- queue_step.c ---- */
void req_queue_step(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                    uint64_t key_hash);

/* ---- alloc.c ---- */
void req_attach(struct core *c, const struct msg_attach *m);
/* The command of an allocation, or its owner, says that it is over; a batch job ends by itself. */
void req_finish_job(struct core *c, const struct msg_finish_job *m);

/* ---- submit/host.c ---- */
/* AllocNodes=. */
enum refusal submit_host_check(const struct core *c, const char *partitions, struct str *why);
/* The list without blanks, with each partition once if it names more than there are: each name is
 * looked at several times. Lives as long as the turn. */
const char *partitions_once(const struct core *c, const char *partitions);

/* ---- submit/try.c ---- */
/* When and where n records that are not kept would start, all together, if they were submitted
 * now; `now_only`: no later start is looked for. Nothing changes. Fills ret: planned_us 0 = no
 * start is known, and `warning` says why not now. */
void submission_try(struct core *c, const struct jobrec *r, size_t n, bool now_only,
                    struct msg_submitted *ret);

/* ---- submit/together.c ---- */

/* What the components of a submission may never have at once: refused with `why`, or let wait with
 * `warning`. Of the records only what is asked for and whose it is counts. */
enum refusal submit_together_check(const struct core *c, const struct jobrec *r, size_t n,
                                   struct str *why, struct str *warning);
/* The same of components that are all to ask for something else. */
enum refusal components_together_check(const struct core *c, const jobrec_vec *of,
                                       const struct job_spec *const *as, struct str *why);
/* The same of a component that is to ask for something else, with those beside it. */
enum refusal update_together_check(const struct core *c, const struct jobrec *r,
                                   const struct job_spec *changed, struct str *why);
/* The other components look whether they may still run, after a change of this one. */
void components_look(struct core *c, const struct jobrec *r);

#endif
