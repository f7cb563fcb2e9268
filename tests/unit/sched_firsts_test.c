/* Who stood first and who was promised a start, as it is told for the controller that comes after
 * (cluster_firsts_tell): in few words, of bounded length, and read again as it was. */
#include "sched_help.h"

#include "base/hostlist.h"

static const char at[] = "1700000000000000";

/* Jobs first, first + by, … of partition main, each of all nodes for an hour. */
static struct cluster *cluster_with(uint64_t first, uint64_t n, uint64_t by)
{
    struct cluster *cl = cluster_new();
    struct partition main = a_part("main", "n[1-2]"), more = a_part("more", "n[1-2]");
    struct job_request req = nodes_whole(2, HOUR);
    put_nodes(cl, "n[1-2]", a_node("n"));
    put_part(cl, &main);
    put_part(cl, &more);
    req.partition = "main,more";
    for (uint64_t i = 0; i < n; i++)
        queue_job(cl, first + i * by, &req);
    return cl;
}

static void told_is(struct cluster *cl, const char *expected)
{
    struct str s = STR_INIT;
    cluster_firsts_tell(cl, &s);
    assert_string_equal(str_text(&s), expected);
    str_done(&s);
}

static void what_is_told_is_read_again(void **unused)
{
    (void)unused;
    static const struct {
        const char *stored, *told;
    } rows[] = {
        {"", ""},
        {"1@5:main", "1@5:main"},
        {"1:main", "1:main"},
        {"1@5:main,2@5:main", "1-2@5:main"},
        {"1:7:main,2:7:main,3:7:main", "1-3:7:main"},
        {"1-3:7:main", "1-3:7:main"},
        {"1-2:7:main,3:7:more", "1-2:7:main,3:7:more"},
        {"1-2:7:main,3:8:main", "1-2:7:main,3:8:main"},
        {"1@7:main,2:7:main", "1@7:main,2:7:main"},
        {"1:7:main,3:7:main", "1:7:main,3:7:main"},
        {"1-4:7:main", "1-3:7:main"}, /* one is gone */
        /* What nobody wrote counts for nothing */
        {"3-1:7:main", ""},
        {"1-99999999999:7:main", ""},
        {"1-2000:7:main", ""},
        {"-2:7:main", ""},
        {"1-:x:main", ""},
        {"1-x:7:main,2:7:main", "2:7:main"},
        {"1:0:main", ""},
        {"1:7:none", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cluster *cl = cluster_with(1, 3, 1);
        cluster_firsts_set(cl, rows[i].stored);
        told_is(cl, rows[i].told);
        cluster_free(cl);
    }
}

/* A hundred jobs of 128 components are a few thousand bytes. */
static void components_are_one_piece(void **unused)
{
    (void)unused;
    struct cluster *cl = cluster_with(1, 12800, 1);
    struct str stored = STR_INIT, told = STR_INIT;
    for (int i = 0; i < 100; i++)
        str_addf(&stored, "%s%d-%d:%s%02d:main", i ? "," : "", i * 128 + 1, i * 128 + 128, at, i);
    cluster_firsts_set(cl, str_text(&stored));
    cluster_firsts_tell(cl, &told);
    assert_string_equal(str_text(&told), str_text(&stored));
    str_done(&stored);
    str_done(&told);
    cluster_free(cl);
}

/* Where that does not help the last are left out. */
static void it_is_bounded(void **unused)
{
    (void)unused;
    struct cluster *cl = cluster_with(1, 12800, 2);
    struct str stored = STR_INIT, told = STR_INIT;
    for (int i = 0; i < 12800; i++)
        str_addf(&stored, "%s%d:%s:main", i ? "," : "", 2 * i + 1, at);
    cluster_firsts_set(cl, str_text(&stored));
    cluster_firsts_tell(cl, &told);
    assert_in_range(told.len, 65536 - 64, 65536);
    assert_memory_equal(told.data, stored.data, told.len);
    assert_int_equal(stored.data[told.len], ',');
    str_done(&stored);
    str_done(&told);
    cluster_free(cl);
}

/* It is told between two passes, too (scontrol top): what changed since the last counts. */
static void it_is_told_between_passes(void **unused)
{
    (void)unused;
    for (int changed = 0; changed < 3; changed++) {
        struct cluster *cl = cluster_with(1, 1, 1);
        struct partition main = a_part("main", "n[1-2]");
        cluster_firsts_set(cl, "1@5:main");
        if (changed == 0) { /* a reservation draws it from now on: its class is a new one */
            struct job_request req = nodes_whole(2, HOUR);
            req.partition = "main,more";
            cluster_wait(cl, &(struct waiting){.job_id = 1,
                                               .req = &req,
                                               .uid = 1000,
                                               .elements = 1,
                                               .submit_us = NOW,
                                               .eligible_us = NOW,
                                               .magnets = "kept"});
        } else if (changed == 1) {
            main.max_time_us = 2 * HOUR;
            put_part(cl, &main);
        } else {
            cluster_remove_partition(cl, "main");
        }
        told_is(cl, changed == 2 ? "" : "1@5:main");
        cluster_free(cl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_read_again),
        cmocka_unit_test(components_are_one_piece),
        cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(it_is_told_between_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
