/* What the planner knows: nodes and what is free on them, partitions, running work with its
 * expected ends, waiting work as classes of equal requests. The core owns one and keeps it up to
 * date; it is the only record of which resource is taken. */
#ifndef REMUDA_SCHED_CLUSTER_H
#define REMUDA_SCHED_CLUSTER_H

#include "base/err.h"
#include "base/str.h"
#include "model/job/alloc.h"
#include "model/job/job.h"
#include "model/record/node.h"
#include "model/record/partition.h"
#include "model/record/reservation.h"
#include "model/refusal.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster; /* opaque */
struct order_hook;

/* Empty, without nodes; it copies all that it is told. Freed with cluster_free (NULL is fine). */
struct cluster *cluster_new(void);
void cluster_free(struct cluster *cl); /* NULL is allowed */
/* Weights, flags, licences and planner parameters. */
void cluster_set_policy(struct cluster *cl, const struct settings *s);
/* A simulator's own order (order.h); copied. Stays until another is set. */
void cluster_set_hook(struct cluster *cl, const struct order_hook *hook);

/* How jobs of partitions that say nothing give way: never PREEMPT_UNSET. */
enum preempt_mode cluster_preempt_mode(const struct cluster *cl);

/* ---- nodes and partitions ---- */

/* Adds the node or changes its capacity (cpus, sockets…, memory, gres/devices, features, weight,
 * core_spec). What runs there stays; if it has less than is in use, nothing new starts until it
 * fits again. Availability is n->state == NODE_UP && !drain && !fail. Devices of n->devices_out are
 * given to nobody; who has one keeps it. */
bool cluster_put_node(struct cluster *cl, const struct node *n, struct err *ret_err);
void cluster_remove_node(struct cluster *cl, const char *name); /* only when nothing runs there */
/* ERR_NOT_FOUND names unknown nodes. */
bool cluster_put_partition(struct cluster *cl, const struct partition *p, struct err *ret_err);
/* Jobs that wait for it, or run in it, stay; a name that is not known is none. */
void cluster_remove_partition(struct cluster *cl, const char *name);

/* How nodes are connected; copied. */
struct topology;
/* As it was set last; the cluster's, until it is set again. */
const struct topology *cluster_topology(const struct cluster *cl);
/* n = 0: without switches and blocks. */
void cluster_set_topology(struct cluster *cl, const struct topology *t);

/* ---- reservations ---- */

/* Local time for recurring ones and time windows, as zone.h writes it. */
void cluster_set_zone(struct cluster *cl, const char *zone);
/* of times of day; valid until the next cluster_set_zone */
const struct zone *cluster_zone(const struct cluster *cl);
/* Keeps what r->nodes or r->holds say in r's time from anybody but its own jobs. Adds or
 * replaces. */
void cluster_put_reservation(struct cluster *cl, const struct reservation *r);
/* For oracles: exactly so. */
bool cluster_knows_reservation(const struct cluster *cl, const struct reservation *r);
/* Running jobs of it go on as if they had none. */
void cluster_remove_reservation(struct cluster *cl, const char *name);
/* Chooses the nodes, and what of them, that the reservation asks for, from what is free in its
 * time: fills nodes, node_count, holds, core_count, cpu_count (texts in the arena) and SPEC_NODES,
 * ALL_NODES. A reservation of that name that is there already does not stand in its own way. On
 * refusal `detail` says what is missing. */
enum refusal sched_reserve(struct cluster *cl, struct reservation *r, int64_t now_us,
                           struct arena *a, struct str *detail);
/* The job, which runs, does so inside that reservation; NULL or one that is gone: in none. */
void cluster_run_inside(struct cluster *cl, uint64_t job_id, const char *reservation);
/* The running job is a component of that heterogeneous one; 0 = of none. */
void cluster_run_het(struct cluster *cl, uint64_t job_id, uint64_t het_job_id);

/* The first of the reservations whose time is now that keep the node or a part of it, and whether
 * any of them is maintenance. */
struct node_kept {
    const char *reservation; /* NULL = none; the cluster's, until it changes */
    bool maint;              /* by one for maintenance */
};
/* by reservations, now; all 0: by none, or there is no such node */
void cluster_node_kept(struct cluster *cl, const char *node, int64_t now_us, struct node_kept *ret);

/* In use on a node now. `gres` gets Slurm's "gpu:v100:2(IDX:0-1)" text appended. */
struct node_use {
    int32_t cpus; /* that jobs have, as of memory */
    int64_t mem_mib;
    int32_t jobs;
    bool planned; /* part of a promised start */
};
/* What jobs have of it; `gres`, where given, gets "gpu:v100=2". All 0: no such node. */
void cluster_node_use(struct cluster *cl, const char *name, struct node_use *ret, struct str *gres);
/* "gpu:v100:2,nic:1": generic resources of the node that nobody has and anybody may be given,
 * appended. */
void cluster_node_free_gres(struct cluster *cl, const char *name, struct str *out);

/* ---- waiting work ---- */

#define NOT_AGEING (INT64_MAX / 4)

/* What an order of the queue looks at (order.h), where that is not the job's own: a place that it
 * took of another job of its user's, who took that of another (scontrol top). Places change hands;
 * none is made and none is lost, so that nobody else is served sooner or later for it. */
struct order_place {
    uint64_t job_id;                              /* whose place it was at first; 0 = its own */
    int64_t submit_us, since_us, limit_us, width; /* of the other, µs */
    int32_t nice;                                 /* its own */
};

struct waiting {
    uint64_t job_id;               /* an array is one entry */
    const struct job_request *req; /* copied into the class */
    /* Components of one heterogeneous job start together; 0 = none */
    uint64_t het_job_id;
    uint32_t uid;
    uint32_t assoc; /* number of its association, whose fair share it has; 0 = that of its user */
    bool of_user;   /* its use counts for its user alone, whatever account it names */
    /* Components of that job: none starts before all are here; 0 or 1 = no matter */
    uint32_t het_size;
    /* How many may start now: 1, or the pending elements an array's limit allows */
    uint32_t elements;
    int64_t submit_us, eligible_us; /* wall clock; since when nothing of its own holds it back */
    int64_t ages_us; /* it gains by waiting from then on; 0 = eligible_us, NOT_AGEING = not yet */
    int64_t deadline_us; /* 0 = none */
    int32_t nice;
    int32_t site; /* added to the priority */
    /* Of the priority of its QOS and of its association, in PRIORITY_ONE-ths of the highest */
    int64_t qos_factor, assoc_factor;
    uint64_t priority_asked; /* 0 = computed */
    /* A start is kept for it only when its priority is so high */
    uint64_t promise_priority;
    struct order_place place; /* job_id 0 = its own */
    /* Reservations it did not ask for that draw it, comma-separated; NULL = none */
    const char *magnets;
    /* Numbers of the caps it counts against, comma-separated; those that are not there yet as it
     * comes count for nothing. Behind a number: :N it may exceed it by so much (or has less, N <
     * 0); @B only in some of its partitions, a bit each by their places in its list; + it may
     * exceed it all the same. NULL = none */
    const char *caps;
    /* The planner's own: fair share of its user; how long such jobs of that user in that account
     * ran; what that user has and had, in whatever account */
    const struct share *share, *own;
    const struct person *person; /* the cluster's */
    /* The planner's own: the highest priority it had, where that must not fall */
    uint64_t floor;
    /* The planner's own, a bit for each of its partitions (order=ageing): it was the first that was
     * blocked, and is promised a start; of those past the age bound it waited longest */
    uint64_t head, oldest;
    int64_t head_us; /* … and so it was first promised to start then, µs; 0 = it is no head */
    /* The planner's own (promises=aged and all): the start that the last pass promised it, and the
     * bit of the partition in which; 0 = none. Who was promised goes first, by that start. */
    int64_t promised_us;
    uint64_t promised_in;
};
/* How much of a share is left to a user in an account (NULL = none given), in 2^20ths: 1 = all, for
 * who is not known. Whoever keeps the accounts says it. */
void cluster_set_fairshare(struct cluster *cl, uint32_t uid, const char *account, int64_t factor);
/* The same of an association. */
void cluster_set_assoc_fairshare(struct cluster *cl, uint32_t assoc, int64_t factor);
/* Of all that was used of late, so much is this user's, in 2^20ths: the default order puts those
 * first who used little. */
void cluster_set_use(struct cluster *cl, uint32_t uid, int64_t used);
/* Jobs of the user in that account (NULL = none given) that ask for limit_us (0 = they give no
 * limit) are expected to run so long; 0 = nothing is known. The default order looks at it; what is
 * promised, and when a job must end, goes by limits alone. The caller bounds how many there are. */
void cluster_set_expected(struct cluster *cl, uint32_t uid, const char *account, int64_t limit_us,
                          int64_t run_us);
/* As it was set; 0 = nothing is known. */
int64_t cluster_expected(struct cluster *cl, uint32_t uid, const char *account, int64_t limit_us);
/* Adds or replaces. Only eligible jobs are given (no holds, dependencies or begin times open). */
void cluster_wait(struct cluster *cl, const struct waiting *w);
/* It started, ended, or may not start now; nothing where it does not wait. */
void cluster_unwait(struct cluster *cl, uint64_t job_id);
/* Is the order one of places? Not that of PriorityType=priority/multifactor and basic. */
bool cluster_has_places(const struct cluster *cl);
/* Where a job that waits stands among its user's others in the queue. */
struct order_stand {
    struct order_place place;
    int64_t promised_us; /* those go first who were promised most soon; INT64_MAX = nothing */
    uint64_t key;        /* then larger ones (the priority in PRIORITY_ONE-ths, without places) */
    uint64_t promised_in, head; /* the planner's own, as of struct waiting */
    int64_t head_us;            /* that of the head's place */
};
/* False: it does not wait. */
bool sched_stand_of(struct cluster *cl, uint64_t job_id, int64_t now_us, struct order_stand *ret);
/* Its user moved it or another of his: it is the head, and has a promise, as `s` says. (Its place
 * comes with cluster_wait.) Nothing where it does not wait. */
void cluster_stand_anew(struct cluster *cl, uint64_t job_id, const struct order_stand *s);
/* Who stands first in its partition, and the start that it was first promised as that, in
 * microseconds: "42@1700000000000000:batch,43@…:gpu/resv"; and who was promised which start there
 * (promises=aged and all): "44:1700000000000000:batch", "45-48:…" of several in a row. At most 64
 * KiB: heads and the first starts. For a cluster that is built anew and is to plan the same. */
void cluster_firsts_tell(struct cluster *cl, struct str *out);
/* What cluster_firsts_tell wrote before a restart (NULL = nothing); names that are not there any
 * more count for nothing. */
void cluster_firsts_set(struct cluster *cl, const char *firsts);
/* Of a job that waits: its bits in head and oldest. Both are 0 after any other change of its
 * request. */
void cluster_standing(const struct cluster *cl, uint64_t job_id, uint64_t *ret_head,
                      uint64_t *ret_oldest);

/* Could it ever run on this cluster, all nodes up and empty, within its partitions' limits?
 * REFUSE_NONE if so (or if policy lets it pend: then *ret_pend is the reason to show); otherwise
 * the refusal, and `detail` gets a sentence: what was asked, what is allowed or there, the nearest
 * thing that works. CLAMP policy changes the request and says so in detail with REFUSE_NONE. Fills
 * defaults the partition gives, and how many nodes counts of features mean. */
enum refusal sched_check(struct cluster *cl, struct job_request *req, uint32_t uid,
                         const char *user_groups, enum job_reason *ret_pend, struct str *detail);

/* Components of one job start together: is there enough for all of them at once of what is not a
 * node's? `licences`: what each of the n asks for; NULL = none. */
enum refusal sched_check_together(const struct cluster *cl, const char *const *licences, size_t n,
                                  struct str *detail);

/* Has the cluster, in all, what the list asks for? `detail` gets a sentence if not. */
enum refusal sched_check_licences(const struct cluster *cl, const char *list, struct str *detail);
/* Does the list ask for no more of any licence than `most` does? */
bool cluster_licences_within(const struct cluster *cl, const char *list, const char *most);

/* May work with this account and QOS be queued in the partition? `req` NULL: may any of this
 * user's? The same that sched_check asks of each partition. `detail` gets a sentence if not. */
enum refusal sched_may_use(const struct cluster *cl, const char *partition,
                           const struct job_request *req, uint32_t uid, const char *groups,
                           struct str *detail);

/* ---- caps: what a group of jobs may have together ---- */

/* CAP_BILLING: units, by the weights of the partition it is placed in. */
enum cap_counts { CAP_JOBS, CAP_NODES, CAP_CPUS, CAP_MEM, CAP_BILLING, CAP_GRES, CAP_LICENCES };
/* What jobs have together; or what one may get where it is placed, of each by itself: in all, on
 * each of its nodes, or times its limit in minutes. Then running work is not said to have of it. */
enum cap_each { CAP_TOGETHER, CAP_EACH_JOB, CAP_EACH_NODE, CAP_EACH_MINUTES };
struct cap {
    uint32_t id;            /* from 1; the caller's, never used for another */
    enum cap_counts counts; /* what it counts */
    const char *gres;       /* CAP_GRES: "gpu", "gpu:v100"; CAP_LICENCES: its name; copied */
    int64_t most;           /* INT64_MAX = as much as there is */
    enum cap_each each;     /* of whom */
    enum job_reason reason; /* of those that wait for it */
    const char *says;       /* a noun for sentences: "GrpTRES=cpu=8 of account physics"; copied */
    /* Starts in these hours are bound by it ("weekdays 08:00-18:00", time_windows.h), local time;
     * what began before goes on. NULL = always */
    const char *hours;
};
/* Adds it, or changes what it allows. What has more already keeps it. */
void cluster_put_cap(struct cluster *cl, const struct cap *cap);
/* The running job counts against these (as struct waiting has them) and no others; to be said again
 * when it has more or less. */
void cluster_run_capped(struct cluster *cl, uint64_t job_id, const char *caps);
/* How much of it running work has; 0 where there is no such cap. */
int64_t cluster_cap_used(const struct cluster *cl, uint32_t id);

/* ---- QOS: whom they may stop, what their jobs may exceed ---- */

enum qos_over {
    QOS_OVER_MAX_NODES = 1, /* MaxNodes of the partition */
    QOS_OVER_MIN_NODES = 2,
    QOS_OVER_MAX_TIME = 4,
    QOS_PROMISED_NOTHING = 8, /* no start is kept for its jobs */
};
struct sched_qos {
    const char *name;
    const char *preempt;            /* QOS whose work gives way, comma-separated; NULL = none */
    enum preempt_mode preempt_mode; /* how its own work gives way; UNSET = as the cluster's */
    int64_t exempt_us;              /* its own work runs so long before; 0 = the cluster's */
    int64_t grace_us;               /* its own work is warned so long before */
    uint32_t over;                  /* bits of enum qos_over */
};
/* Adds or replaces; texts are copied. */
void cluster_put_qos(struct cluster *cl, const struct sched_qos *to);
/* Jobs that run with it go on; it preempts nobody from now on. */
void cluster_remove_qos(struct cluster *cl, const char *name);
/* The running job is of that QOS from now on (cluster_start takes it of the request). */
void cluster_run_qos(struct cluster *cl, uint64_t job_id, const char *qos);

/* ---- running work ---- */

/* Takes the resources of `al` until about end_us (TIME_UNLIMITED = no limit). Aborts if a device is
 * taken twice; CPUs are checked by cluster_check, because those of a suspended job may lawfully be
 * in use when it comes back. After a restart, a job that was ever suspended is suspended (and
 * resumed) here too, so that this is known. */
void cluster_start(struct cluster *cl, uint64_t job_id, const struct job_request *req, uint32_t uid,
                   const char *partition, const struct alloc *al, int64_t start_us, int64_t end_us);
/* The running job has these licences from now on, and no others; "matlab:2,ansys", NULL = none. It
 * may be more than is free: then nobody else gets one until enough came back. */
void cluster_run_licences(struct cluster *cl, uint64_t job_id, const char *licences);
/* A running job is to end then instead, by its limit. */
void cluster_set_end(struct cluster *cl, uint64_t job_id, int64_t end_us);
/* Suspended work holds memory and devices, not CPUs. */
void cluster_suspend(struct cluster *cl, uint64_t job_id, bool suspended);
/* It was told to end, which is expected by end_us, so that for_job (0 = nobody in particular) can
 * start: it need not give way any more. */
void cluster_ending(struct cluster *cl, uint64_t job_id, uint64_t for_job, int64_t end_us);
/* Suspended work that goes on by itself once its CPUs are idle: the plan says when (struct
 * plan.resume). */
void cluster_yield(struct cluster *cl, uint64_t job_id, int64_t now_us);
/* One node of a job is free. */
void cluster_release_node(struct cluster *cl, uint64_t job_id, const char *node);
void cluster_release(struct cluster *cl, uint64_t job_id); /* all that it still holds */
/* Does it have nodes: running, suspended, ending? */
bool cluster_is_running(const struct cluster *cl, uint64_t job_id);

void cluster_check(struct cluster *cl); /* asserts: nothing is given twice, sums agree */

#endif
