/* What associations and QOS used, of each resource, and the tree of fair share that follows from
 * it. Only core/ includes this.
 *
 * Amounts are in thousandths of the resource × seconds, memory in MiB × seconds; sums stop at
 * USE_MOST. */
#ifndef REMUDA_CORE_RECORD_USE_H
#define REMUDA_CORE_RECORD_USE_H

#include "core/record/accounts/accounts.h"
#include "model/record/priority.h"

#define USE_MOST (INT64_C(1) << 62)

/* Resources that every run has; devices follow, in the order in which they were first used. */
enum use_tres { USE_CPU, USE_MEM, USE_NODE, USE_BILLING, USE_GRES };

struct userec {
    enum limit_owner owner;
    uint32_t id;         /* of the association or QOS */
    VEC(int64_t) amount; /* by number of the resource */
    int64_t wall_ms;     /* wall clock time */
    int64_t loaded_us;   /* of a stored row: decayed until then */
    bool own;            /* charged itself, and stored; else the sum of those below it */
    bool unsaved;        /* its row is made when the event ends */
};

/* ---- use.c ---------------------------------------------------------------------------------- */
void uses_init(struct core *c);
void uses_free(struct core *c);      /* at the end of the controller */
void uses_know_tres(struct core *c); /* the resources that there are changed */
/* a stored row: "assoc/12" or "qos/3"; one of another form is passed over */
void uses_load(struct core *c, const struct use_row *row);
void uses_restore(struct core *c);             /* when all rows are loaded and usage.at_us stands */
void uses_save(struct core *c);                /* rows that changed in this step */
void uses_move(struct core *c, int64_t by_us); /* the clock was set */
uint64_t use_key(enum limit_owner owner, uint32_t id); /* of maps: the owner in the upper half */
/* NULL = nothing was used. */
const struct userec *use_find(const struct core *c, enum limit_owner owner, uint32_t id);
/* As use_of, of a record at hand; u NULL = nothing was used. */
int64_t use_amount(const struct core *c, const struct userec *u, const char *tres);
/* The number of a resource; -1 = it was never counted. */
ptrdiff_t use_tres_find(const struct core *c, const char *tres);
/* The number of a resource that is counted from now on. */
uint32_t use_tres_number(struct core *c, const char *tres);
/* Adds, in the unit above; a sum stays within 0 … USE_MOST. Those above it are not added to
 * (uses_sum). */
void use_add(struct userec *u, uint32_t tres, int64_t more);
/* In the unit above; 0 where nothing was used. "cpu", "gres/gpu:v100" */
int64_t use_of(const struct core *c, enum limit_owner owner, uint32_t id, const char *tres);
/* How many of its units are one of the resource for one second. */
int64_t use_scale(const char *tres);
/* rate × time / per, at most USE_MOST; all are 0 or more. */
int64_t use_product(int64_t rate, int64_t time, int64_t per);
/* What a run uses of each resource in a second. */
typedef void (*rate_row)(void *ctx, const char *tres, int64_t rate);
/* By what it has: each resource to row once, `rate` in the unit above a second. */
void use_rates(const struct core *c, const struct jobrec *r, rate_row row, void *ctx);
/* The run used what it has for so long. */
void uses_charge(struct core *c, const struct jobrec *r, int64_t seconds);
/* A run of so many seconds is lost: what is left of its charge is taken back. Returns billing units
 * × seconds. */
int64_t uses_refund(struct core *c, const struct jobrec *r, int64_t seconds);
/* Of these associations (a map by use_key) and all below them, and of these QOS. Sums over those
 * below (uses_sum) are left to who asks. */
void uses_forget(struct core *c, const struct map_u64 *owners);
/* All decays from one instant to another. False: nobody used anything. */
bool uses_decay(struct core *c, int64_t from_us, int64_t until_us);
/* The tree changed. */
void uses_sum(struct core *c);
#define USE_LONG (INT64_C(365) * 24 * 3600 * USEC_PER_SEC)
/* How long the run may still go on by its limit: 0 = past it, USE_LONG without one; time suspended
 * is no time. */
int64_t use_left_us(const struct jobrec *r, int64_t now_us);
/* The use factor of a run's QOS, in millionths. */
int64_t use_factor_e6(const struct core *c, const struct jobrec *r);
/* QOS that a job in that partition counts against: the partition's and its own; the number. */
size_t use_qos(const struct core *c, const struct jobrec *r, const char *partition,
               const struct qosrec *ret[2]);

/* ---- use_view.c ----------------------------------------------------------------------------- */
/* What running jobs may still use by their limits, of each association and QOS: a map of struct
 * userec by use_key, freed with use_promised_free. Of at most *most jobs from `w` on, which is
 * zeroed before the first call, a part at a time; true: of all. */
struct map_u64 *use_promised_new(void);
/* True: all are in; false: *most were looked at. */
bool use_promised_go(const struct core *c, int64_t now_us, struct map_u64 *m, struct map_walk *w,
                     size_t *most);
/* Of one job more; of what does not run nothing. */
void use_promised_add(const struct core *c, const struct jobrec *r, int64_t now_us,
                      struct map_u64 *m);
/* With its records. */
void use_promised_free(struct map_u64 *m);
/* "cpu=12,mem=300,…" in resource × minutes, every resource that is counted; in the arena. `u` NULL
 * = nothing. */
const char *use_minutes(const struct core *c, const struct userec *u, struct arena *a);
/* The association's own limits of that kind, "cpu=100"; NULL = none. */
const char *use_limits(const limit_list *list, enum resource_limit what, struct arena *a);

/* ---- usage_rate.c --------------------------------------------------------------------------- */
/* An amount after that time; 0 where a period of PriorityUsageResetPeriod began meanwhile. */
int64_t usage_decayed(const struct core *c, int64_t amount, int64_t from_us, int64_t until_us);

/* ---- fairshare.c ---------------------------------------------------------------------------- */
/* The factors of all associations, told to the planner. */
void fairshare_update(struct core *c);
/* The planner is to know the factor of this one. */
void fairshare_watch(struct core *c, struct assocrec *r);
/* Factors are worked out from now on, whoever may ask for them. */
void fairshare_watch_all(struct core *c);
/* The factor of the association in SHARE_ONE-ths. */
int64_t fairshare_of(const struct assocrec *r);

/* ---- fairshare_view.c ----------------------------------------------------------------------- */
struct fair_reading;                                         /* opaque */
struct fair_reading *fair_reading_new(const struct core *c); /* As the tree is now; not NULL. */
/* All associations that are not removed and that are wanted (ctx: the view's), parents first; the
 * root always. So much of it as `most` rows cost; true: there is more. Each row is as it was when
 * the tree was looked at. */
bool fair_reading_go(struct fair_reading *f, int64_t now_us,
                     bool (*wanted)(void *ctx, const struct assoc *a), const struct view *v,
                     size_t most);
void fair_reading_free(void *reading); /* query_at.drop: of a struct fair_reading */

#endif
