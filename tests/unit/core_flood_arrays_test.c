/* What one user can make the controller keep and reckon by lists of elements: steps that interleave
 * make ten thousand ranges of thirty bytes. */
#include "core_help.h"

#include "model/limits.h"

#define MANY "0-120000000:4099,0-120000000:4111" /* 58,000 ranges */
#define SOME "0-30000000:4099,0-30000000:4111"   /* 14,600 */

static struct job_spec an_array(const char *indexes)
{
    struct job_spec s = a_job("array");
    s.hold = true;
    s.array = indexes;
    return s;
}

/* So many of them in one request's list. */
static const char *refs(uint64_t id, const char *indexes, size_t n)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < n; i++)
        str_addf(&text, "%s%llu_[%s]", i ? "," : "", (unsigned long long)id, indexes);
    const char *kept = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return kept;
}

static void count_row(void *ctx, const void *record)
{
    (void)record;
    ++*(size_t *)ctx;
}

/* How it is refused; *ret_rows: what it showed. */
static enum refusal listed(const char *ids, enum query_what what, struct str *why, size_t *ret_rows)
{
    const struct msg_query q = {.what = (int32_t)what, .ids = ids};
    *ret_rows = 0;
    str_clear(why);
    return core_query(w.c, &q, &w.peer, w.now, &(struct view){count_row, ret_rows}, why);
}

/* Each reference was read, and its ranges kept, before anything counted them. */
static void ranges_of_a_request_are_bounded(void **unused)
{
    static const enum query_what lists[] = {QUERY_JOBS, QUERY_STEPS};
    struct str why = STR_INIT;
    size_t rows;
    uint64_t id = submit(an_array("0-1000000"));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        assert_int_equal(listed(refs(id, MANY, 2), lists[i], &why, &rows), REFUSE_NONE);
        assert_int_equal(rows, lists[i] == QUERY_JOBS);
        assert_int_equal(listed(refs(id, MANY, 3), lists[i], &why, &rows), REFUSE_INVALID_JOB_ID);
        assert_int_equal(rows, 0);
        assert_non_null(strstr(str_text(&why), "overlap"));
        const char *each = "0-1000:2,1-1000:3"; /* 835 members each */
        assert_int_equal(listed(refs(id, each, 150), lists[i], &why, &rows), REFUSE_NONE);
        assert_int_equal(listed(refs(id, each, 160), lists[i], &why, &rows), REFUSE_INVALID_JOB_ID);
        assert_int_equal(listed(refs(id, "0-1000:2", 5000), lists[i], &why, &rows), REFUSE_NONE);
    }
    assert_int_equal(listed(refs(id, MANY, 3000), QUERY_PRIORITY, &why, &rows), REFUSE_NONE);
    str_done(&why);
}

/* The same of what is done to jobs: what is named before is done. */
static void ranges_of_what_is_done_are_bounded(void **unused)
{
    uint64_t id = submit(an_array("0-4098"));
    assert_int_equal(cancel(refs(id, "4-8:2", 3000)), REFUSE_NONE);
    assert_int_equal(cancel(refs(id, "1-2000000000:4099,4099-2000000000:4111", 2)),
                     REFUSE_INVALID_JOB_ID);
    assert_non_null(strstr(answer()->results.n ? "overlap" : answer()->detail, "overlap"));
    say(1, MSG_WHY, &(struct msg_why){.ids = refs(id, MANY, 3)});
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
}

/* An array of many ranges is compared with each reference to its elements, range by range. */
static void an_array_in_pieces_is_not_gone_through_again_and_again(void **unused)
{
    struct str why = STR_INIT;
    size_t rows;
    uint64_t id = submit(an_array(SOME));
    assert_int_not_equal(id, 0);
    assert_int_equal(listed(refs(id, "2147483647", 20), QUERY_STEPS, &why, &rows), REFUSE_NONE);
    assert_int_equal(listed(refs(id, "2147483647", 20000), QUERY_STEPS, &why, &rows),
                     REFUSE_TOO_LARGE);
    str_done(&why);
}

/* Each start of an element writes the list of the others. */
static void an_array_has_so_many_pieces(void **unused)
{
    assert_int_not_equal(submit(an_array(SOME)), 0);
    assert_int_not_equal(submit(an_array("0-2147483647:4099")), 0); /* one */
    assert_int_equal(submit(an_array(MANY)), 0);
    assert_int_equal(refusal(), REFUSE_INVALID_ARRAY);
    assert_non_null(strstr(answer()->detail, "come to 58"));
    assert_int_equal(submit(an_array("0-2147483647:4099,0-2147483647:4111")), 0);
    assert_int_equal(refusal(), REFUSE_INVALID_ARRAY);
    struct str written = STR_INIT; /* whatever can be written out may be */
    for (int i = 0; written.len < LIMIT_TEXT_BYTES - 8; i++)
        str_addf(&written, "%s%d", i ? "," : "", i * (i + 1) / 2 % 2 + 2 * i);
    assert_int_not_equal(submit(an_array(str_text(&written))), 0);
    str_done(&written);
}

static size_t arrays_taken(size_t most)
{
    size_t n = 0;
    while (n < most && submit(an_array(SOME)))
        n++;
    return n;
}

static void pieces_count_as_long_texts(void **unused)
{
    configure(CONF "MaxUserTexts=1\n");
    assert_int_equal(arrays_taken(50), 2);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "MaxUserTexts allows 1"));
    assert_int_not_equal(submit(an_array("0-100000:2")), 0);
    am_bob();
    assert_int_equal(arrays_taken(50), 2);
    am_root();
    assert_int_equal(arrays_taken(5), 5);
    am_alice();
    restart(CONF "MaxUserTexts=1\n"); /* it is counted anew */
    assert_int_equal(arrays_taken(50), 0);
    assert_int_equal(cancel("1"), REFUSE_NONE);
    pass(400 * SEC); /* it is gone from memory, too */
    assert_int_equal(arrays_taken(50), 1);
}

static void pieces_are_on_the_disk(void **unused)
{
    configure(CONF "MaxUserScripts=1\n");
    assert_int_equal(arrays_taken(50), 2);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "MaxUserScripts allows 1 a day"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(ranges_of_a_request_are_bounded),
        STORY(ranges_of_what_is_done_are_bounded),
        STORY(an_array_in_pieces_is_not_gone_through_again_and_again),
        STORY(an_array_has_so_many_pieces),
        STORY(pieces_count_as_long_texts),
        STORY(pieces_are_on_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
