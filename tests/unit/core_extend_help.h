/* What tests of `remuda extend` ask and compare. */
#ifndef REMUDA_TESTS_CORE_EXTEND_HELP_H
#define REMUDA_TESTS_CORE_EXTEND_HELP_H

#include "core_tree.h"

#define HOUR USEC_PER_HOUR

static inline enum refusal extend_by(struct msg_extend m)
{
    say(1, MSG_EXTEND, &m);
    return refusal();
}

static inline enum refusal extend(uint64_t id, int64_t us)
{
    return extend_by((struct msg_extend){.id = ids_of(id), .add_us = us});
}

static inline struct job_spec sized(int nodes, int64_t limit_us)
{
    struct job_spec s = a_job("sized");
    s.req.ntasks = 8 * nodes;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = limit_us;
    return s;
}

static inline void says(const char *text)
{
    assert_non_null(answer());
    if (!answer()->detail || !strstr(answer()->detail, text))
        fail_msg("\"%s\" is not in \"%s\"", text, answer()->detail ? answer()->detail : "");
}

/* Root makes a reservation; who asked goes on asking. */
static inline void reserve(const char *name, struct reservation r, const char *fields)
{
    struct peer asks = w.peer;
    am_root();
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){
            .name = name, .create = true, .fields = fields, .values = {&r, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
    w.peer = asks;
}

/* More or less of its limit, by scontrol update. */
static inline enum refusal limit_add(const char *ids, int64_t us)
{
    say(1, MSG_UPDATE_JOB, &(struct msg_update_job){.ids = ids, .time_limit_add_us = us});
    return refusal();
}

#endif
