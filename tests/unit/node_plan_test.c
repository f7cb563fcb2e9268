/* Texts that travel between the node daemon and its shepherds: plans, notes, commands, names of
 * directories. */
#include "unit.h"

#include "agent/note.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "model/job/job.h"
#include "node/step/command.h"
#include "node/step/dir.h"
#include "node/step/plan.h"

#include <stdlib.h>
#include <string.h>

static void test_a_plan_arrives_as_it_was_sent(void **state)
{
    (void)state;
    static const char env[] = "A=1\0B=two words", script[] = "#!/bin/sh\n\0binary";
    struct step_plan p = {
        .job_id = 1L << 40,
        .step_id = -1,
        .node = "n1",
        .std_out = "",
        .env = {env, sizeof env},
        .script = {script, sizeof script},
    };
    struct step_plan got;
    struct str out = STR_INIT;
    size_t n;
    step_plan_encode(&p, &out);
    assert_int_equal(step_plan_length(out.data), out.len - 4);
    assert_true(step_plan_decode(out.data + 4, out.len - 4, &got));
    assert_true(got.job_id == 1L << 40 && got.step_id == -1 && got.attempt == 0);
    assert_string_equal(got.node, "n1");
    assert_string_equal(got.std_out, "");
    assert_null(got.std_err);
    assert_int_equal(got.script.len, sizeof script);
    assert_memory_equal(got.script.data, script, sizeof script);
    char **list = plan_texts(got.env, 1, &n);
    assert_int_equal(n, 2);
    assert_string_equal(list[0], "A=1");
    assert_string_equal(list[1], "B=two words");
    assert_null(list[2]);
    free(list);
    str_done(&out);
}

/* Lists that commands send to shepherds stand in the middle of a message. */
static void test_nothing_behind_texts_is_one_of_them(void **state)
{
    (void)state;
    static const char texts[] = "env\0-i\0shof another";
    size_t n = 9;
    char **list = plan_texts((struct plan_bytes){texts, 9}, 0, &n);
    assert_int_equal(n, 2);
    assert_string_equal(list[1], "-i");
    assert_null(list[2]);
    free(list);
}

static void test_broken_plans_are_no_plans(void **state)
{
    (void)state;
    struct step_plan p = {.job_id = 1, .node = "n1", .script = {"abc", 3}}, got;
    struct str out = STR_INIT;
    struct rng rng = {5};
    step_plan_encode(&p, &out);
    size_t whole = 0;
    for (size_t cut = 1; cut < out.len - 4; cut++)
        whole += step_plan_decode(out.data + 4, cut, &got);
    assert_true(whole <= 2); /* cut between two members it is a shorter plan */
    for (int i = 0; i < 20000; i++) {
        char *copy = xmemdup(out.data + 4, out.len - 4);
        copy[rng_below(&rng, out.len - 4)] = (char)rng_below(&rng, 256);
        if (step_plan_decode(copy, out.len - 4, &got) && got.node)
            assert_true(strlen(got.node) < out.len);
        free(copy);
    }
    str_done(&out);
}

static void test_notes_read_back(void **state)
{
    (void)state;
    struct note n = {.kind = NOTE_FAILED,
                     .job_id = 5,
                     .step_id = -1,
                     .at_us = INT64_MAX,
                     .status = -3,
                     .retry = 1},
                got;
    struct str out = STR_INIT;
    strcpy(n.detail, "two\nlines  and blanks");
    note_format(&n, &out);
    assert_int_equal(out.data[out.len - 1], '\n');
    assert_true(note_parse((struct span){out.data, out.len - 1}, &got));
    assert_int_equal(got.kind, NOTE_FAILED);
    assert_true(got.at_us == INT64_MAX && got.status == -3 && got.retry == 1 && got.step_id == -1);
    assert_string_equal(got.detail, "two lines  and blanks");
    for (size_t cut = 0; cut < 40; cut++) /* what a full disk left of a line */
        assert_false(note_parse((struct span){out.data, cut}, &got));
    /* Numbers that came later are in braces: an older shepherd has none, a newer one may have
     * more. */
    n.gpus = 5;
    str_clear(&out);
    note_format(&n, &out);
    assert_true(note_parse((struct span){out.data, out.len - 1}, &got));
    assert_int_equal(got.gpus, 5);
    assert_string_equal(got.detail, "two lines  and blanks");
    char *brace = strchr(out.data, '{');
    assert_non_null(brace);
    assert_false(note_parse((struct span){out.data, (size_t)(brace - out.data) + 2}, &got));
    struct str newer = STR_INIT;
    str_addf(&newer, "%.*s{7 8 9 10 11 12 13 14} as ever", (int)(brace - out.data), out.data);
    assert_true(note_parse((struct span){newer.data, newer.len}, &got));
    assert_int_equal(got.gpus, 7);
    assert_string_equal(got.detail, "as ever");
    str_done(&newer);
    str_done(&out);
}

static void test_a_note_fits_a_pipe_whole(void **state)
{
    (void)state;
    struct note n = {.kind = NOTE_EXITED};
#define X(member, doc) n.member = INT64_MIN + 1;
    NOTE_NUMBERS(X)
    NOTE_MORE_NUMBERS(X)
#undef X
    memset(n.detail, 'x', sizeof n.detail - 1);
    struct str out = STR_INIT;
    note_format(&n, &out);
    assert_true(out.len <= NOTE_BYTES);
    str_done(&out);
}

static void test_commands_pack(void **state)
{
    (void)state;
    struct step_command c = {.op = COMMAND_TERMINATE, .why = WHY_FILE, .kill_wait_ms = 4000000000},
                        got = command_unpack(command_pack(&c));
    assert_true(got.op == COMMAND_TERMINATE && got.why == WHY_FILE &&
                got.kill_wait_ms == 4000000000 && !got.batch && !got.of_job);
    c = (struct step_command){.op = COMMAND_KILL, .signal = 64, .of_job = true};
    got = command_unpack(command_pack(&c));
    assert_true(got.op == COMMAND_KILL && got.signal == 64 && got.of_job && !got.batch);
}

static void test_a_plan_is_as_large_as_it_says(void **state)
{
    (void)state;
    struct step_plan p = {
        .job_id = 1, .node = "n1", .std_out = "", .script = {"abc", 3}, .attempt = 7};
    struct str out = STR_INIT;
    step_plan_encode(&p, &out);
    assert_int_equal(step_plan_size(&p), out.len - 4);
    str_done(&out);
}

/* A sentence that began so was read as numbers, or as no note. */
static void test_a_sentence_is_no_numbers(void **state)
{
    (void)state;
    struct note n = {.kind = NOTE_FAILED, .job_id = 3, .detail = "{1 2} x\ny"}, got;
    struct str line = STR_INIT;
    note_format(&n, &line);
    assert_true(note_parse((struct span){line.data, line.len - 1}, &got));
    assert_true(got.gpus == 0 && got.group == 0);
    assert_string_equal(got.detail, "{1 2} x y");
    str_done(&line);
}

static void test_directory_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         "1",           "1.2",       "1.2.x",
                                      ".123",     "1.2.batch.x", "x.1.batch", "1.99999999999.batch",
                                      "1..batch", "0.1.batch"};
    struct str name = STR_INIT;
    uint64_t job;
    uint32_t attempt;
    int64_t step;
    step_dir_name(42, 3, STEP_BATCH, &name);
    assert_string_equal(str_text(&name), "42.3.batch");
    assert_true(step_dir_name_parse("42.3.batch", &job, &attempt, &step));
    assert_true(job == 42 && attempt == 3 && step == STEP_BATCH);
    assert_true(step_dir_name_parse("18446744073709551615.1.7", &job, &attempt, &step));
    assert_true(job == UINT64_MAX && step == 7);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (step_dir_name_parse(bad[i], &job, &attempt, &step))
            fail_msg("\"%s\" was taken for a step", bad[i]);
    str_done(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_arrives_as_it_was_sent),
        cmocka_unit_test(test_nothing_behind_texts_is_one_of_them),
        cmocka_unit_test(test_broken_plans_are_no_plans),
        cmocka_unit_test(test_notes_read_back),
        cmocka_unit_test(test_a_note_fits_a_pipe_whole),
        cmocka_unit_test(test_commands_pack),
        cmocka_unit_test(test_a_plan_is_as_large_as_it_says),
        cmocka_unit_test(test_a_sentence_is_no_numbers),
        cmocka_unit_test(test_directory_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
