/* The steps a node holds, and the table of their states. Private to agent/. */
#ifndef REMUDA_AGENT_HELD_H
#define REMUDA_AGENT_HELD_H

#include "agent/note.h"
#include "base/idset.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/message.h"

#include <stdbool.h>
#include <stdint.h>

/* X(state, what it means) */
// clang-format off
#define HELD_STATES(X)                                                                                       \
    X(WAITING, "a device it is to have is not yet clean, or the prolog of its job runs for another step")     \
    X(PROLOG, "the prolog runs")                                                                             \
    X(STARTING, "a shepherd was asked for and has said nothing yet")                                         \
    X(RUNNING, "the shepherd stands over it")                                                                \
    X(CLEANING, "its own process ended, others are being killed")                                            \
    X(ENDED, "nothing of it is left; what follows is decided when the settings are known")                   \
    X(EPILOG, "the epilog runs")                                                                             \
    X(PROVING, "the devices it had are looked at")                                                           \
    X(OVER, "done; waits until its reports are acknowledged")
// clang-format on

enum held_state {
#define X(state, doc) HELD_##state,
    HELD_STATES(X)
#undef X
        HELD_STATE_COUNT
};

/* What its steps here have in common. A node may hold ten thousands of steps of one job, and what
 * is asked of each of them must not take a walk over all. */
struct held_run {
    uint32_t attempt;
    struct map_u64 *steps;       /* number of the step → struct held_step */
    size_t in[HELD_STATE_COUNT]; /* how many are in each state */
    bool shut_out;               /* as of a step: some are, or were */
    struct held_run *next;       /* of the same job */
    /* The job as its latest launch had it, while one is kept; the launches themselves are without
     * it: a few hundred bytes of a step must not keep a job's texts once more. Only an interactive
     * shell that has all components of its job has them for itself. */
    struct arena *arena;
    struct record_list job;
    size_t launches, launch_bytes;
};

struct held_job {
    struct held_step *first, *last; /* in the order they came */
    struct held_run *run;           /* the first of them */
};

struct held_step {
    uint64_t job_id;
    uint32_t attempt;
    struct held_run *run; /* shared by all of this job and attempt */
    int64_t step_id;
    enum held_state state; /* how far it has come */
    bool doomed;           /* TERMINATE came before its shepherd could be told */
    bool exit_reported;    /* EXITED (not clean), LOST or FAILED went out */
    bool release_wanted;   /* the controller waits for RELEASED */
    bool released;         /* RELEASED went out, or was implied by a clean EXITED */
    /* It is to end because the host was shut out, and not by the controller's word, which goes on
     * with the job where the host is let in again in time: with the next that it launches
     * release_wanted is taken back. */
    bool shut_out;
    int64_t pid;               /* of its shepherd; 0 = not known */
    struct note end;           /* kind EXITED once its end is known */
    bool lost;                 /* the end is not known and never will be */
    bool had;                  /* that start, or step, was here before and is over */
    int64_t kill_wait_us;      /* between TERM and KILL, as the controller asked */
    char *why;                 /* of the TERMINATE; owned */
    uint32_t unacknowledged;   /* reports of it that the controller has not confirmed */
    struct arena *arena;       /* launch below lives in it; NULL = none kept */
    struct msg_launch *launch; /* until it has begun; use held_launch. NULL = none kept */
    int64_t uid_plus1;         /* its owner; 0 = it was here before this daemon, and did not say */
    struct idset gpus;         /* that it has here */
    int64_t hidden;            /* GPUs whose files are kept from it, by its shepherd: bits */
    struct {
        /* how often it was looked at, and how often with a utilisation */
        int64_t samples, util_samples;
        int64_t util_sum, mem_sum_kib; /* of percents, and of KiB: their means are sum / samples */
        int32_t util_max;
        int64_t mem_max_bytes;
        int64_t energy_mj; /* so far */
    } gpu;                 /* what its processes used of the GPUs, since this daemon knows it */
    char *stuck;           /* what of it outlives SIGKILL, in words; NULL = nothing known; owned */
    int64_t stuck_pid, stuck_since_us; /* a process that KILL did not end; 0 = none */
    int64_t answer_by_us; /* it is to end: its shepherd should have spoken by then; 0 = not so */
    bool roused;          /* it did not, and was looked at */
    bool found;           /* at the daemon's start: `gpus` may be empty though it has some */
    /* WAITING, PROVING: so long it is waited for; INT64_MAX = until the prolog has ended */
    int64_t prove_until_us;
    char *release_why;                             /* of the RELEASED that follows; owned */
    struct held_step *before_of_job, *next_of_job; /* NULL = the first, the last */
    bool marked;                                   /* it is in the list of held_marked */
    struct held_step *marked_before, *marked_next;
};

#define HELD_ENDED_MAX 4096u

/* A step that is over while its job goes on. */
struct ended_step {
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id; /* of that run */
};

/* A job that has been here: its prolog ran, its epilog has yet to, where there is one. It is open
 * until the controller is told that nothing of the job is left here. */
struct visit {
    uint64_t job_id;
    uint32_t attempt; /* of that run */
    bool prepared;    /* its prolog has ended well, or there is none: its steps may start */
    struct arena *arena;
    struct record_list job; /* of its first launch; empty = it was here before this daemon */
    struct visit *next;     /* of another run of the job, which has yet to end here */
};

/* Steps by job, in the order they came. */
struct holdings {
    struct map_u64 *by_job; /* job id → struct held_job, while there is a step of it */
    size_t count;           /* steps that are held */
    struct held_step *marked, *marked_last;
    /* Job id → highest attempt that is over here, for the last HELD_ENDED_MAX jobs. */
    struct map_u64 *ended;
    VEC(uint64_t) ended_jobs; /* ring of their ids */
    size_t ended_at;          /* place in the ring of the next to be forgotten */
    /* Ring: srun steps that are over, the last HELD_ENDED_MAX. */
    VEC(struct ended_step) ended_steps;
    size_t ended_step_at;  /* likewise */
    struct map_u64 *visit; /* job id → first struct visit, where the site has a prolog or epilog */
};

void held_init(struct holdings *h); /* empty; held_done frees */
void held_done(struct holdings *h); /* with every step that is held */
/* NULL = nothing of it is held. Valid until it is removed. */
struct held_step *held_find(const struct holdings *h, uint64_t job_id, uint32_t attempt,
                            int64_t step_id);
/* First step of the job; the others by next_of_job. */
struct held_step *held_of_job(const struct holdings *h, uint64_t job_id);
/* Behind the others of its job; there must be none of that job, attempt and step. */
struct held_step *held_add(struct holdings *h, uint64_t job_id, uint32_t attempt, int64_t step_id,
                           enum held_state state);
/* Takes it out and frees it with its launch. */
void held_remove(struct holdings *h, struct held_step *s);
/* Steps one after another: `struct held_walk w = {0}; while (held_next(h, &w)) w.step`. Steps may
 * be removed while walking. */
struct held_walk {
    struct map_walk at; /* the job */
    struct held_step *step, *next;
};
/* The next step in any order that stays, as w->step; `w` is zeroed before the first call. */
bool held_next(const struct holdings *h, struct held_walk *w);
/* Is counted of its run what there is? */
void held_check(const struct holdings *h, const struct held_step *s);
/* Is a word of its shepherd waited for, by answer_by_us? */
bool held_answers(const struct held_step *s);
/* Puts it into a list that stays short where many steps wait: of those that are asked about when
 * devices are looked at or told of, as they have some, or processes that do not end. */
void held_mark(struct holdings *h, struct held_step *s);
/* The first of these; the others by marked_next. It stays in the list until it is removed. */
struct held_step *held_marked(const struct holdings *h);
/* Does another step of that start of the job still have processes here? */
bool held_has_others(const struct held_step *s);

/* Is a step of that start of the job not yet over? */
bool held_is_alive(const struct holdings *h, uint64_t job_id, uint32_t attempt);
/* Will another step of that start of the job say that the job is gone, after its epilog or the look
 * at its devices? */
bool held_has_speaker(const struct held_step *s);

/* Has another step of that start of the job a shepherd here, or will it have one? Not one that is
 * over: the epilog may have run since. */
bool held_another_runs(const struct held_step *s);
/* Does the job's prolog run, for another step of that start? */
bool held_prolog_runs(const struct held_step *s);
bool held_epilog_runs(const struct held_step *s); /* likewise */

/* The only function that changes a state; aborts on a move the table does not allow. With its
 * beginning the launch that was kept is freed. */
void held_move(struct held_step *s, enum held_state to);

/* A start of a job that is over here (or was ended before it came) must never begin, however late a
 * repeated message comes. */
void held_remember_ended(struct holdings *h, uint64_t job_id, uint32_t attempt);
/* The step alone is over; others of its job may still come. */
void held_remember_step_ended(struct holdings *h, const struct held_step *s);
/* Was it told to end, so that a launch that comes late is not begun? */
bool held_was_ended(const struct holdings *h, uint64_t job_id, uint32_t attempt, int64_t step_id);

/* NULL: that start of the job has not been here. */
struct visit *visit_of(const struct holdings *h, uint64_t job_id, uint32_t attempt);
/* The job of its launch is kept for the epilog; NULL: not known. No visit of this attempt is
 * open. */
struct visit *visit_begin(struct holdings *h, uint64_t job_id, uint32_t attempt, bool prepared,
                          const struct msg_launch *l);
/* Nothing where none of this attempt is open: a later one's goes on. */
void visit_end(struct holdings *h, uint64_t job_id, uint32_t attempt);

/* All of them, as held_next has the steps; none may begin or end meanwhile. */
struct visit_walk {
    struct map_walk at; /* the job */
    const struct visit *visit;
};
/* The next in any order that stays, as w->visit; `w` is zeroed before the first call. */
bool visit_next(const struct holdings *h, struct visit_walk *w);

/* So much the launches of a job that wait here may take in the daemon's memory: what comes beyond
 * is not begun. One is some KiB and its environment: three or four thousand commands with ordinary
 * ones wait, ten thousand with next to none. */
#define HELD_LAUNCHES_MAX_BYTES ((size_t)64 << 20)
/* Keeps a copy of what is to be launched; false: there is no room for it, and nothing is kept. */
bool held_keep_launch(struct held_step *s, const struct msg_launch *l);
/* Whole, valid until the next launch of its job comes; NULL: none is kept. */
const struct msg_launch *held_launch(struct held_step *s);

#endif
