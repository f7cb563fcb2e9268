/* What a mail says of a job's output, and of an array: cli/reports/last_lines.h, array_digest.h. */
#include "unit.h"

#include "base/duration.h"
#include "base/plain.h"
#include "cli/reports/array_digest.h"
#include "cli/reports/last_lines.h"

#include <string.h>

/* ---- the last lines ---- */

static const char *cleaned(struct str *to, const char *bytes, bool begun)
{
    str_clear(to);
    last_lines_clean(bytes, strlen(bytes), begun, to);
    return str_text(to);
}

static void lines_are_cleaned(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *shown;
        bool begun;
    } rows[] = {
        {"one\ntwo\n", "| one\n| two\n", true},
        {"one\ntwo", "| one\n| two\n", true},
        {"of one\ntwo\n", "| two\n", false},
        {"all of it", "| all of it\n", false},
        {"", "", true},
        {"\n\n", "", true},
        {"a\n\nb\n", "| a\n| \n| b\n", true},
        {" 1%\r 2%\r99%\n", "| 99%\n", true},
        {" 1%\r 2%\r\n", "|  2%\n", true},
        {"dos\r\nlines\r\n", "| dos\n| lines\n", true},
        {"\033[1;31mred\033[0m\n", "| red\n", true},
        {"\033]0;title\007text\n", "| text\n", true},
        {"\033]0;no end\nnext\n", "| \n| next\n", true},
        {"\033[12\nnext\n", "| \n| next\n", true},
        {"\033Mup\033", "| up\n", true},
        {"tab\there\n", "| tab here\n", true},
        {"\001\177\n", "| \\x01\\x7f\n", true},
        {"\xff\n", "| \\xff\n", true},
        {".\nFrom: eve\n", "| .\n| From: eve\n", true},
        {"tr\xc3\xa4ning\n", "| tr\xc3\xa4ning\n", true},
    };
    struct str out = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(cleaned(&out, rows[i].bytes, rows[i].begun), rows[i].shown);
    str_done(&out);
}

static void lines_are_bounded(void **state)
{
    (void)state;
    struct str bytes = STR_INIT, out = STR_INIT;
    for (int i = 0; i < 100; i++)
        str_addf(&bytes, "line %d\n", i);
    cleaned(&out, str_text(&bytes), true);
    assert_true(text_starts(str_text(&out), "| line 80\n"));
    assert_non_null(strstr(str_text(&out), "| line 99\n"));
    str_clear(&bytes);
    for (int i = 0; i < 1000; i++)
        str_add(&bytes, i % 2 ? "\xc3\xa4" : "x"); /* letters of one byte and of two */
    cleaned(&out, str_text(&bytes), true);
    assert_true(out.len <= LAST_LINE_BYTES + 10);
    assert_string_equal(str_text(&out) + out.len - strlen(" …\n"), " …\n");
    assert_null(strstr(str_text(&out), "\\x"));
    str_done(&bytes);
    str_done(&out);
}

/* Whatever a job wrote: lines that begin with the mark, of letters. */
static void any_bytes_make_lines(void **state)
{
    (void)state;
    static const char some[] = "\033[]m;0\a\r\n\t\\ab\xc3\xa4\xe2\x80\xae\x9b";
    uint64_t random = 20400001;
    struct str out = STR_INIT;
    for (int round = 0; round < 20000; round++) {
        char bytes[64];
        size_t n = 0;
        random = random * 6364136223846793005u + 1442695040888963407u;
        for (size_t len = random >> 58; n < len; n++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[n] = some[(random >> 33) % (sizeof some - 1)];
        }
        str_clear(&out);
        last_lines_clean(bytes, n, round % 2, &out);
        for (const char *line = str_text(&out); *line; line = strchr(line, '\n') + 1)
            assert_true(text_starts(line, "| ") && strchr(line, '\n'));
        for (char *at = out.data; out.len && *at; at++)
            *at = *at == '\n' ? ' ' : *at;
        assert_true(text_is_plain(str_text(&out)));
    }
    str_done(&out);
}

/* ---- an array ---- */

static struct job ended(uint32_t task, enum job_state how, int32_t status, int64_t seconds)
{
    return (struct job){.array_job_id = 9,
                        .array_task_id = task,
                        .state = how,
                        .exit_status = status,
                        .start_us = seconds ? 1000 * USEC_PER_SEC : 0,
                        .end_us = (1000 + seconds) * USEC_PER_SEC,
                        .cpu_user_us = seconds * USEC_PER_SEC,
                        .alloc_cpus = 2};
}

static const char *digest(const struct job *j, size_t n, struct str *out)
{
    struct array_digest d;
    array_digest_begin(&d);
    for (size_t i = 0; i < n; i++)
        array_digest_add(&d, &j[i]);
    str_clear(out);
    array_digest_write(&d, 72, out);
    array_digest_done(&d);
    return str_text(out);
}

static void a_digest_counts_and_names(void **state)
{
    (void)state;
    struct str out = STR_INIT;
    const struct job v[] = {
        ended(1, JOB_COMPLETED, 0, 60),
        ended(2, JOB_FAILED, status_of_code(7), 30),
        ended(3, JOB_COMPLETED, 0, 600),
        ended(4, JOB_FAILED, 9, 5),
        ended(5, JOB_FAILED, status_of_code(7), 30),
        ended(6, JOB_TIMEOUT, 0, 60),
        ended(7, JOB_CANCELLED, 0, 0),
        {.array_job_id = 9,
         .array_task_id = NO_TASK,
         .array_pending = (char *)"8-10",
         .state = JOB_CANCELLED},
    };
    assert_string_equal(digest(v, ARRAY_LEN(v), &out),
                        "10 elements: 2 COMPLETED, 4 CANCELLED, 3 FAILED, 1 TIMEOUT\n"
                        "They ran 00:01:00 in the median, 00:10:00 at most (element 3), and used "
                        "50 % of their CPU time\n"
                        "FAILED with exit code 7: 2,5\n"
                        "FAILED by signal 9: 4\n"
                        "TIMEOUT: 6\n"
                        "CANCELLED: 7\n");
    assert_string_equal(digest(v, 1, &out), "1 element: 1 COMPLETED\n"
                                            "They ran 00:01:00 in the median, 00:01:00 at most "
                                            "(element 1), and used 50 % of their CPU time\n");
    str_done(&out);
}

static void a_digest_of_many_is_short(void **state)
{
    (void)state;
    struct str out = STR_INIT;
    struct job *v = calloc(20000, sizeof *v);
    for (uint32_t i = 0; i < 20000; i++)
        v[i] = ended(i, JOB_FAILED, status_of_code((int)(i * 7 % 251)), 10);
    digest(v, 20000, &out);
    assert_true(out.len < 3000);
    assert_non_null(strstr(str_text(&out), "20000 elements: 20000 FAILED\n"));
    assert_non_null(strstr(str_text(&out), "more ways to end: sacct shows them\n"));
    for (const char *line = str_text(&out); *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 110);
    free(v);
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_cleaned),         cmocka_unit_test(lines_are_bounded),
        cmocka_unit_test(any_bytes_make_lines),      cmocka_unit_test(a_digest_counts_and_names),
        cmocka_unit_test(a_digest_of_many_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
