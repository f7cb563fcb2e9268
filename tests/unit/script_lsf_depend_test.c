/* Dependencies in the words of LSF, both ways. */
#include "script_help.h"

#include "base/duration.h"
#include "script/lsf/lsf.h"
#include "script/lsf/select.h"

#include <stdio.h>

static void dependencies(void **state)
{
    static const struct {
        const char *text, *becomes;
    } rows[] = {
        {"done(1)", "afterok:1"},
        {"1", "afterok:1"},
        {"done(1) && done(2)", "afterok:1,afterok:2"},
        {"(ended(1) || exit(2))", "afterany:1?afternotok:2"},
        {"started(7[3])", "after:7_3"},
        {"done(7[*])", "aftercorr:7_each"},
        {"exit(7[*],>3)", "exit:7_each>3"},
        {"done(1) && ended(2) || exit(3)", "(afterok:1,afterany:2)?afternotok:3"},
        {"done(1) && (ended(2) || exit(3))", "afterok:1,(afterany:2?afternotok:3)"},
        {"(done(1) || 2) && 3", "(afterok:1?afterok:2),afterok:3"},
        {"done(1) || (2 || 3)", "afterok:1?afterok:2?afterok:3"},
        {"exit(1,3)", "exit:1==3"},
        {"exit(1, >= 3)", "exit:1>=3"},
        {"! done(1)", "!afterok:1"},
        {"!(done(1) && !ended(2))", "!(afterok:1,!afterany:2)"},
        {"!!done(1)", "afterok:1"},
        {"!(!done(1))", "!(!afterok:1)"},
        {"numdone(1,*) && numrun(2,<4)", "numdone:1==all,numrun:2<4"},
        {"numexit(1,!=0)", "numexit:1!=0"},
        {"done(\"arr\"[3])", "afterok:arr_3"},
        {"ended(\"a b*\")", "afterany:a b*"},
        {"'name'", "afterok:name"},
        {"( done( 1 )&&(2) )", "afterok:1,afterok:2"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lsf_depend d;
        const char *ids[4];
        if (!lsf_depend_parse(rows[i].text, w->a, &d, &w->err))
            fail_msg("%s: %s", rows[i].text, w->err.text);
        for (size_t k = 0; k < d.n; k++)
            ids[k] = d.v[k].job;
        assert_string_equal(lsf_depend_text(&d, ids, w->a), rows[i].becomes);
    }
}

/* Several jobs have that name: all of them are meant. */
static void a_name_means_all_jobs_of_it(void **state)
{
    static const struct {
        const char *text, *becomes;
    } rows[] = {
        {"done(a)", "afterok:1:2"},
        {"done(a) && exit(a,>3)", "afterok:1:2,exit:1>3:2>3"},
        {"done(a) || ended(a)", "(afterok:1,afterok:2)?(afterany:1,afterany:2)"},
        {"!done(a)", "!(afterok:1,afterok:2)"},
    };
    struct world *w = *state;
    const char *const ids[] = {"1:2", "1:2"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct lsf_depend d;
        if (!lsf_depend_parse(rows[i].text, w->a, &d, &w->err))
            fail_msg("%s: %s", rows[i].text, w->err.text);
        assert_string_equal(lsf_depend_text(&d, ids, w->a), rows[i].becomes);
    }
}

/* bjobs -l shows what was asked. */
static void a_dependency_is_told_as_lsf_writes_it(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"afterok:1(unfulfilled),(exit:2>3(unfulfilled)?!afterany:4(unfulfilled))",
         "done(1) && (exit(2,>3) || !ended(4))"},
        {"numdone:1==all", "numdone(1,*)"},
        {"numrun:1==4,after:7_3,afterany:8_each", "numrun(1,4) && started(7[3]) && ended(8[*])"},
        {"singleton(unfulfilled)", "singleton"},
        {"not to be read", "not to be read"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(lsf_depend_of(rows[i].text, w->a), rows[i].shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_means_all_jobs_of_it, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_dependency_is_told_as_lsf_writes_it, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(dependencies, world_setup, world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
