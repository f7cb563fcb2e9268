/* What a limit may be set on, in the tree of core_tree.h: a user in an account, an account, one above
 * it, the QOS of a job, that of its partition, and one that counts over that. */
#ifndef REMUDA_TESTS_CORE_CARRIERS_H
#define REMUDA_TESTS_CORE_CARRIERS_H

#include "core_tree.h"

enum carrier { ON_USER, ON_ACCOUNT, ON_PARENT, ON_JOB_QOS, ON_PART_QOS, ON_QOS_OVER, CARRIERS };
static const char *const carrier[CARRIERS] = {"physics/alice", "physics",  "root",
                                              "qos test",      "qos test", "qos test"};

static inline bool is_of_qos(enum carrier c)
{
    return c == ON_JOB_QOS || c == ON_PART_QOS || c == ON_QOS_OVER;
}

static inline void qos_of_partition(const char *qos)
{
    struct partition part = {.qos = qos};
    struct msg_update_partition m = {.name = "main", .fields = "qos", .values = {&part, 1}};
    am_root();
    say(1, MSG_UPDATE_PARTITION, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

static inline void carrier_make(enum carrier on)
{
    if (on == ON_PART_QOS)
        qos_of_partition("test");
    if (on == ON_QOS_OVER) {
        qos_of_partition("normal");
        assert_int_equal(limit_set("qos normal", "GrpJobs=50"), REFUSE_NONE);
        assert_int_equal(limit_set("qos normal", "GrpTRES=cpu=50"), REFUSE_NONE);
        struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
        ch->fields = "flags";
        ch->qos =
            (struct record_list){KEEP(struct qos, .name = "test", .flags = QOS_OVER_PART_QOS), 1};
        assert_int_equal(changed(false), REFUSE_NONE);
    }
    am_alice();
}

#endif
