/* remuda extend: more time for a running job, as much as delays nobody. The controller works it
 * out and says it in words (core/request/extend.c). */
#include "base/duration.h"
#include "base/plain.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/table/json_form.h"
#include "model/fields.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>

#define LESS_STATUS 3 /* not all of it was granted */

struct extend_line {
    const char *state_dir, *job, *time;
    enum json_form json;
    bool all, test_only;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct extend_line *o = to;
    (void)a;
    if (o->job && o->time)
        return err_set(ret_err, ERR_USAGE, "one job and one time; \"%s\" is too much", word);
    *(o->job ? &o->time : &o->job) = word;
    return true;
}

static const struct option_row rows[] = {
    OPT_FLAG("all", 'a', "all of the time or nothing", offsetof(struct extend_line, all)),
    OPT_FLAG("dry-run", 'n', "say what would be granted, change nothing",
             offsetof(struct extend_line, test_only)),
    OWN_JSON(struct extend_line, "as JSON: job, asked_seconds, granted_seconds, refusal, text"),
    OWN_STATE(struct extend_line),
    OWN_YAML(struct extend_line),
    OWN_HELP,
};
OPTION_TABLE(
    extend_options, rows, .usage = "remuda extend [OPTIONS] JOB +TIME",
    .about =
        "  Lets a running job run so much longer, if the plan shows that no promised and no "
        "planned start moves later for it;\n"
        "  else as much of it as delays nobody, and says whom more would delay. JOB is a job, an "
        "element of an array (12_3) or a\n"
        "  heterogeneous job; TIME is 2h, 90m, 1d12h, or as --time of sbatch has it. Exit status: "
        "0 all of it, 3 less of it, 1 nothing.\n",
    .words = WORDS_MIXED, .word = word_take);

static bool line_check(const struct extend_line *o, int64_t *ret_us, struct err *ret_err)
{
    if (!o->job || !o->time)
        return err_set(ret_err, ERR_USAGE, "a job and a time: remuda extend 42 +2h");
    if (!duration_parse_units(o->time + (*o->time == '+'), ret_us, ret_err)) {
        ret_err->code = ERR_USAGE;
        return false;
    }
    if (*ret_us == TIME_UNLIMITED || *ret_us <= 0)
        return err_set(ret_err, ERR_USAGE, "TIME is how much longer, and has an end; not \"%s\"",
                       o->time);
    if (*ret_us > FIELD_SPAN_MAX)
        return err_set(ret_err, ERR_USAGE, "TIME is at most %d days; not \"%s\"",
                       (int)(FIELD_SPAN_MAX / USEC_PER_SEC / 86400), o->time);
    return true;
}

static void json_print(const struct extend_line *o, int64_t add_us, const struct msg_done *done)
{
    struct str out = STR_INIT;
    struct json_out j = {0};
    json_begin(&j, &out, true);
    json_object(&j);
    json_key_text(&j, "schema", "remuda.extend/1");
    json_key_text(&j, "job", o->job);
    json_key_i64(&j, "asked_seconds", add_us / USEC_PER_SEC);
    json_key_i64(&j, "granted_seconds", (int64_t)done->count);
    json_key_bool(&j, "changed", done->refusal == REFUSE_NONE && !o->test_only);
    json_key_text(&j, "refusal", done->refusal ? refusal_text((enum refusal)done->refusal) : "");
    json_key_text(&j, "text", done->detail ? done->detail : "");
    json_object_end(&j);
    json_form_print(&out, o->json);
    str_done(&out);
}

static void text_print(const struct extend_line *o, const struct msg_done *done)
{
    struct str plain = STR_INIT;
    if (done->detail)
        str_add_plain(&plain, done->detail);
    if (done->refusal == REFUSE_NONE)
        printf("job %s: %s\n", o->job, str_text(&plain));
    else if (done->refusal == REFUSE_TIME_LIMIT && plain.len)
        program_error("remuda extend", "job %s: %s", o->job, str_text(&plain));
    else
        program_error("remuda extend", "job %s: %s%s%s", o->job,
                      refusal_text((enum refusal)done->refusal), plain.len ? ": " : "",
                      str_text(&plain));
    str_done(&plain);
}

static int extend(const struct extend_line *o, int64_t add_us, struct arena *a)
{
    struct client *c = program_connect("remuda extend", state_dir_find(o->state_dir, a));
    struct msg_extend m = {
        .id = o->job, .add_us = add_us, .all = o->all, .test_only = o->test_only};
    struct message answer;
    struct err err = {0};
    if (!c)
        return 1;
    bool asked = client_call(c, MSG_EXTEND, &m, 0, a, &answer, &err);
    client_close(c);
    if (!asked) {
        program_error("remuda extend", "%s", err.text);
        return 1;
    }
    const struct msg_done *done = answer.body;
    if (o->json)
        json_print(o, add_us, done);
    else
        text_print(o, done);
    return done->refusal ? 1 : (int64_t)done->count < add_us / USEC_PER_SEC ? LESS_STATUS : 0;
}

int cmd_extend(int argc, char **argv)
{
    struct extend_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &extend_options, .to = &o, .a = a};
    struct err err = {0};
    int64_t add_us = 0;
    int rc;
    if (own_line_read("remuda extend", &line, argc, argv, &rc))
        rc = line_check(&o, &add_us, &err) ? extend(&o, add_us, a)
                                           : own_line_failed("remuda extend", &err);
    arena_free(a);
    return rc;
}
