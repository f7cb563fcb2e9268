/* A cluster in virtual time: the controller's machine over a memory store, node machines with
 * simulated shepherds on simulated disks, links that carry real frames. The shells here do what
 * controller/ and node/ do, so that a crash can come between any commit and any effect. Everything
 * follows from the seed. */
#ifndef REMUDA_SIM_WORLD_H
#define REMUDA_SIM_WORLD_H

#include "base/rng.h"
#include "base/str.h"
#include "model/message.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_COMPONENTS_MAX 4 /* of a heterogeneous job */

struct sim_world; /* opaque */

/* How a simulated job behaves; travels in its comment ("runs=60 exit=0 stubborn"). */
struct behaviour {
    int64_t runs_us;
    int32_t exit_status;
    bool stubborn; /* does not end at SIGTERM */
    bool oom;
    int32_t steps;        /* sruns that its script runs; it then ends with the last of them */
    int64_t step_runs_us; /* each of them */
    int32_t lanes;        /* so many one beside another, up to SIM_LANES */
    bool queues;          /* all but the last of a lane with --async, one after another */
    bool exact, overlap;  /* their options */
    bool requeues;        /* in its first run it asks to be requeued */
    int64_t stuck_us;     /* so long after its end a process of it still holds its GPUs */
};

/* Parses `config` (remuda.conf's grammar) and starts everything at time 0 of the world (virtual
 * clock starts at an arbitrary fixed day). */
struct sim_world *simworld_new(uint64_t seed, const char *config, struct err *ret_err);
void simworld_free(struct sim_world *w); /* NULL is allowed */

int64_t world_now(const struct sim_world *w);  /* µs since the world began */
int64_t world_wall(const struct sim_world *w); /* the same by the clock that daemons read */
/* Lets everything happen that is due until then. */
void world_run(struct sim_world *w, int64_t until_us);
/* no job waits for resources, runs or is being cleaned */
bool world_idle(const struct sim_world *w);

/* A client's request; the answer comes in the same instant unless the controller is away or dies
 * over it. Returns the id of an acknowledged submission, 0 if it was refused or never answered.
 * *ret_refusal may be NULL. */
/* The components of a heterogeneous job; the script runs in the first, and all end with it. */
uint64_t world_submit_het(struct sim_world *w, const struct job_spec *specs, size_t n,
                          const struct behaviour *b, enum refusal *ret_refusal);
/* The job's number; 0: refused, and *ret_refusal says why. */
uint64_t world_submit(struct sim_world *w, const struct job_spec *spec, const struct behaviour *b,
                      enum refusal *ret_refusal);
/* An allocation of n components, at most WORLD_COMPONENTS_MAX, that belongs to its command, which
 * stays to hear of it. */
uint64_t world_allocate(struct sim_world *w, const struct job_spec *specs, size_t n,
                        enum refusal *ret_refusal);
/* A step in a job; its command stays to hear of it. False if it was not answered. */
bool world_step(struct sim_world *w, const struct msg_create_step *m, const struct behaviour *b,
                enum refusal *ret_refusal);
/* Commands that stay are numbered from 0 in the order they came. This one's connection is gone. */
void world_hang_up(struct sim_world *w, size_t n);
size_t world_callers(const struct sim_world *w); /* connections that are open */
/* Requests come from this user from now on; 0 = root, as in the beginning. One of them that has to
 * be asked again comes from who asked it first. */
void world_ask_as(struct sim_world *w, uint32_t uid);
/* Any other request; false if it was not answered. */
bool world_request(struct sim_world *w, enum message_kind kind, const void *body,
                   enum refusal *ret_refusal);

/* ---- faults ---- */
enum crash_point { CRASH_NOW, CRASH_BEFORE_COMMIT, CRASH_AFTER_COMMIT, CRASH_BETWEEN_EFFECTS };
/* At that point of its next turn (CRASH_NOW: at once), and back after so long. */
void world_crash_controller(struct sim_world *w, enum crash_point point, int64_t back_after_us);
/* A node's daemon dies; its steps go on. Nothing where it is down. */
void world_crash_agent(struct sim_world *w, size_t node, int64_t back_after_us);
/* Its jobs die with it */
void world_lose_machine(struct sim_world *w, size_t node, int64_t back_after_us);
/* The shepherds of a job are killed, with all processes that they stand over. */
void world_kill_shepherds(struct sim_world *w, uint64_t job_id);
/* The connection of that node is lost; it comes back after so long. */
void world_cut_link(struct sim_world *w, size_t node, int64_t back_after_us);
/* A GPU breaks, which its node's daemon sees if it lives, or is well again, which nobody
 * notices. */
void world_break_gpu(struct sim_world *w, size_t node, int32_t index, bool broken);
/* From now on every GPU is at work: a policy that requeues who leaves them idle would do so without
 * end. */
void world_gpus_work(struct sim_world *w);
/* So many commits from now on fail, as on a full disk. */
void world_fail_store(struct sim_world *w, unsigned commits);
/* The store is backed up; the last backup, or an empty store if there is none, is put in its
 * place. */
void world_backup(struct sim_world *w);
/* The controller dies, and comes back with the store of the last backup. given_is_gone: without the
 * file that says what was given out since. */
void world_restore(struct sim_world *w, bool given_is_gone, int64_t back_after_us);
/* Somebody sets the wall clock, of all machines at once. */
void world_set_clock(struct sim_world *w, int64_t by_us);
size_t world_nodes(const struct sim_world *w); /* how many */

/* ---- a stranger (hostile.c) ---- */
#define HOSTILE_UID      1001u
#define HOSTILE_UID_TEXT "1001"
void world_hostile(struct sim_world *w,
                   struct rng *rng); /* one frame by hand of an ordinary user */
/* All that user's jobs are cancelled; false: not answered */
bool world_hostile_ends(struct sim_world *w);

/* ---- accounts (accounts.c) ---- */
void world_accounts_make(struct sim_world *w);
/* A limit is set, changed or lifted, or an account comes or goes; `minutes`: limits in minutes,
 * too, and use is forgotten. */
void world_accounts_change(struct sim_world *w, struct rng *rng, bool minutes);
void world_accounts_open(struct sim_world *w); /* lifts all limits */
/* Of a job; NULL = it names none. */
const char *world_account_of(struct rng *rng);
/* A dependency on some of these jobs (n > 0), often one that is refused; appended. */
void world_dependency_of(struct rng *rng, const uint64_t *ids, size_t n, bool array,
                         struct str *out);
const char *world_qos_of(struct rng *rng); /* one of those of the worlds, or NULL */
/* What the controller has of accounts is what the store has. Sets world_broken if not. */
void world_accounts_audit(struct sim_world *w);
/* What it shows as used is what the rows of jobs say. Sets world_broken if not. */
void world_use_audit(struct sim_world *w);

/* ---- scrontab (crontab.c) ---- */
/* The table of a user is set or removed, or one of its jobs is cancelled, sent back, stopped. */
void world_cron_change(struct sim_world *w, struct rng *rng);
/* The table is removed, and what is stopped goes on; asked again until nothing can be lost. */
void world_cron_end(struct sim_world *w);

/* ---- triggers (triggers.c) ---- */
void world_triggers_change(struct sim_world *w, struct rng *rng);
void world_triggers_end(struct sim_world *w); /* everyone's are taken back */

/* ---- the past (past.c) ---- */
/* Some of what is over is removed from the store, as PurgeJobAfter= and its kin have it done. */
void world_past_goes(struct sim_world *w, struct rng *rng);

/* ---- the oracle ---- */
/* What must always hold was broken: the first sentence, or NULL. */
const char *world_broken(const struct sim_world *w);
/* Called when all is healed and idle: the books of store, core and nodes agree, every acknowledged
 * job is in them and over. Sets world_broken if not. */
void world_audit(struct sim_world *w);

uint64_t world_hash(const struct sim_world *w); /* of all that happened */
/* Each job that the store knows (struct job), elements of arrays each for itself. */
void world_jobs(const struct sim_world *w, void (*row)(void *ctx, const void *record), void *ctx);
/* Moves of jobs as they were committed, "[0:00:10] 1 PENDING > RUNNING on n1", one a line. */
const char *world_trace(const struct sim_world *w);

#endif
