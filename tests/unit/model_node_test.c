#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/record/node.h"

#include <string.h>

static void assert_words(struct node n, const char *control, const char *longer,
                         const char *compact)
{
    static const enum node_word forms[] = {NODE_WORD_CONTROL, NODE_WORD_LONG, NODE_WORD_COMPACT};
    const char *expected[] = {control, longer, compact};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct str out = STR_INIT;
        node_state_word(&n, forms[i], &out);
        assert_string_equal(str_text(&out), expected[i]);
        str_done(&out);
    }
}

/* A node of 8 CPUs that is up and answers. */
#define UP .state = NODE_UP, .responding = true, .cpus = 8

static void test_what_runs_there(void **state)
{
    assert_words((struct node){UP}, "IDLE", "idle", "idle");
    assert_words((struct node){UP, .alloc_cpus = 3, .jobs = 1}, "MIXED", "mixed", "mix");
    assert_words((struct node){UP, .alloc_cpus = 8, .jobs = 1}, "ALLOCATED", "allocated", "alloc");
    assert_words((struct node){UP, .core_spec = 2, .alloc_cpus = 6, .jobs = 1}, "ALLOCATED",
                 "allocated", "alloc");
    assert_words((struct node){UP, .jobs = 1, .jobs_cleaning = 1}, "IDLE+COMPLETING", "completing",
                 "comp");
}

/* Its CPUs are free, as in Slurm; that it is there counts where the node is to be taken away. */
static void test_who_is_suspended_leaves_it_idle(void **state)
{
    assert_words((struct node){UP, .jobs = 1}, "IDLE", "idle", "idle");
    assert_words((struct node){UP, .jobs = 1, .drain = true}, "IDLE+DRAIN", "draining", "drng");
    assert_words((struct node){UP, .jobs = 2, .jobs_cleaning = 1}, "IDLE+COMPLETING", "completing",
                 "comp");
}

static void test_drained_when_empty_and_draining_before(void **state)
{
    assert_words((struct node){UP, .drain = true}, "IDLE+DRAIN", "drained", "drain");
    assert_words((struct node){UP, .drain = true, .alloc_cpus = 1, .jobs = 1}, "MIXED+DRAIN",
                 "draining", "drng");
    assert_words((struct node){.state = NODE_DOWN, .responding = true, .drain = true}, "DOWN+DRAIN",
                 "drained", "drain");
    assert_words((struct node){UP, .fail = true}, "IDLE+FAIL", "fail", "fail");
    assert_words((struct node){UP, .fail = true, .alloc_cpus = 8}, "ALLOCATED+FAIL", "failing",
                 "failg");
}

static void test_a_star_says_that_it_does_not_answer(void **state)
{
    assert_words((struct node){.state = NODE_DOWN}, "DOWN+NOT_RESPONDING", "down*", "down*");
    assert_words((struct node){.state = NODE_UP, .cpus = 8}, "IDLE+NOT_RESPONDING", "idle*",
                 "idle*");
    assert_words((struct node){.state = NODE_UNKNOWN}, "UNKNOWN", "unknown*", "unk*");
    assert_words((struct node){.state = NODE_FUTURE}, "FUTURE", "future", "futr");
}

static void test_kept_for_later(void **state)
{
    assert_words((struct node){UP, .planned = true}, "IDLE+PLANNED", "planned", "plnd");
    assert_words((struct node){UP, .reserved = true}, "IDLE+RESERVED", "reserved", "resv");
    assert_words((struct node){UP, .reserved = true, .maint = true}, "IDLE+MAINTENANCE+RESERVED",
                 "maint", "maint");
    assert_words((struct node){UP, .planned = true, .alloc_cpus = 1}, "MIXED", "mixed", "mix");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_runs_there),
        cmocka_unit_test(test_who_is_suspended_leaves_it_idle),
        cmocka_unit_test(test_drained_when_empty_and_draining_before),
        cmocka_unit_test(test_a_star_says_that_it_does_not_answer),
        cmocka_unit_test(test_kept_for_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
