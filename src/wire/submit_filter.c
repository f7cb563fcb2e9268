#include "wire/submit_filter.h"

#include "base/alloc.h"
#include "base/list.h"
#include "model/limits.h"
#include "wire/json.h"
#include "wire/record.h"

#include <string.h>

#define SCHEMA "remuda.submit_filter/1"

bool submit_filter_asks(enum message_kind kind)
{
    return kind == MSG_SUBMIT || kind == MSG_UPDATE_JOB || kind == MSG_EXTEND ||
           kind == MSG_SET_CRONTAB;
}

/* ---- the question --------------------------------------------------------------------------- */

static struct record_list list_of(const struct message *m)
{
    if (m->kind == MSG_SUBMIT)
        return ((const struct msg_submit *)m->body)->specs;
    if (m->kind == MSG_EXTEND) /* it changes one value, which is beside the job */
        return (struct record_list){0};
    return ((const struct msg_update_job *)m->body)->values;
}

struct job_spec **submit_filter_specs(const struct message *m, struct arena *a, size_t *ret_n)
{
    const struct record_list cron = m->kind == MSG_SET_CRONTAB
                                        ? ((const struct msg_set_crontab *)m->body)->entries
                                        : (struct record_list){0};
    const struct record_list list = m->kind == MSG_SET_CRONTAB ? cron : list_of(m);
    struct job_spec **spec = arena_alloc(a, (list.n + 1) * sizeof(struct job_spec *));
    *ret_n = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (m->kind != MSG_SET_CRONTAB) {
            spec[(*ret_n)++] = (struct job_spec *)list.v + i;
            continue;
        }
        const struct cron_entry *e = (const struct cron_entry *)cron.v + i;
        if (e->spec.n)
            spec[(*ret_n)++] = e->spec.v;
    }
    return spec;
}

/* As far as the first NUL: a script that has one is refused afterwards (submit/check.c). */
static const char *text_of(struct blob b, struct arena *a)
{
    return b.len ? arena_strndup(a, b.data, b.len) : "";
}

static void submission_write(struct json_out *j, const struct msg_submit *s, struct arena *a)
{
    json_key_text(j, "request", "submit");
    json_key_bool(j, "test_only", s->test_only);
    json_key_bool(j, "immediate", s->immediate);
    json_key_bool(j, "interactive", s->attach);
    json_key(j, "script");
    json_text(j, text_of(s->script, a));
}

/* What is changed beside the values is named as the value that becomes another by it, so that a
 * filter that looks for a limit among the fields finds it however it is changed. */
static void change_write(struct json_out *j, const struct msg_update_job *u)
{
    const struct {
        bool is_asked;
        const char *field;
    } beside[] = {{u->time_limit_add_us || u->end_us, "time_limit_us"},
                  {u->array_limit_plus1, "array"},
                  {u->admin_comment, "admin_comment"}};
    struct str fields = STR_INIT;
    str_add(&fields, u->fields ? u->fields : "");
    for (size_t i = 0; i < ARRAY_LEN(beside); i++)
        if (beside[i].is_asked && !list_has(str_text(&fields), beside[i].field))
            list_addf(&fields, "%s", beside[i].field);
    json_key_text(j, "request", "update");
    json_key_text(j, "ids", u->ids);
    json_key_text(j, "fields", str_text(&fields));
    str_done(&fields);
    if (u->time_limit_add_us)
        json_key_i64(j, "time_limit_add_us", u->time_limit_add_us);
    if (u->end_us)
        json_key_i64(j, "end_us", u->end_us);
    if (u->array_limit_plus1)
        json_key_i64(j, "array_limit", (int64_t)u->array_limit_plus1 - 1);
    if (u->step_limit_us)
        json_key_i64(j, "step_limit_us", u->step_limit_us);
    if (u->reset_accrue)
        json_key_bool(j, "reset_accrue", true);
    if (u->admin_comment)
        json_key_text(j, "admin_comment", u->admin_comment);
}

/* The scripts of all entries, one after the other, as `script` of a submission is. */
static void table_write(struct json_out *j, const struct msg_set_crontab *t, struct arena *a)
{
    const struct cron_entry *e = t->entries.v;
    struct str scripts = STR_INIT;
    json_key_text(j, "request", "crontab");
    json_key(j, "cron");
    json_array(j);
    for (size_t i = 0; i < t->entries.n; i++) {
        if (!e[i].spec.n)
            continue;
        json_text(j, e[i].cron);
        const char *script = text_of(e[i].script, a);
        str_add(&scripts, script);
        if (*script && script[strlen(script) - 1] != '\n')
            str_addc(&scripts, '\n');
    }
    json_array_end(j);
    json_key_text(j, "script", str_text(&scripts));
    str_done(&scripts);
}

static void request_write(struct json_out *j, const struct message *m, struct arena *a)
{
    const struct msg_extend *extend = m->body;
    if (m->kind == MSG_EXTEND) {
        json_key_text(j, "request", "extend");
        json_key_bool(j, "test_only", extend->test_only);
        json_key_text(j, "ids", extend->id);
        json_key_i64(j, "add_us", extend->add_us);
    } else if (m->kind == MSG_SUBMIT) {
        submission_write(j, m->body, a);
    } else if (m->kind == MSG_UPDATE_JOB) {
        change_write(j, m->body);
    } else {
        table_write(j, m->body, a);
    }
}

void submit_filter_write(struct str *out, const struct message *m, const struct filter_user *who)
{
    struct arena *a = arena_new();
    struct json_out j = {0};
    size_t n;
    struct job_spec **spec = submit_filter_specs(m, a, &n);
    json_begin(&j, out, false);
    json_object(&j);
    json_key_text(&j, "schema", SCHEMA);
    json_key_text(&j, "user", who->name);
    json_key_i64(&j, "user_id", who->uid);
    json_key_text(&j, "group", who->group);
    json_key_i64(&j, "group_id", who->gid);
    json_key_text(&j, "groups", who->groups);
    json_key_text(&j, "host", who->host);
    json_key_bool(&j, "administrator", who->is_admin);
    request_write(&j, m, a);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = 0; i < n; i++)
        json_record(&j, &job_spec_fields, spec[i]);
    json_array_end(&j);
    json_object_end(&j);
    str_addc(out, '\n');
    arena_free(a);
}

/* ---- the answer ----------------------------------------------------------------------------- */

struct filter_reading {
    struct record_reader r;
    struct job_spec *const *spec;
    size_t n;
};

static bool name_unknown(void *ctx, struct span key)
{
    struct filter_reading *x = ctx;
    return json_in_fail(&x->r.in, "a job has no \"%.*s\"", SPAN_QUOTED(key));
}

static bool jobs_read(struct filter_reading *x)
{
    size_t i = 0;
    if (!json_in_open(&x->r.in, '['))
        return false;
    for (bool first = true; json_in_more(&x->r.in, ']', &first); i++) {
        if (i >= x->n)
            return json_in_fail(&x->r.in, "it has more jobs than the %zu that were asked about",
                                x->n);
        if (!json_in_open(&x->r.in, '{') ||
            !record_read(&x->r, &job_spec_fields, x->spec[i], true, name_unknown, x) ||
            x->r.in.failed)
            return false;
    }
    return !x->r.in.failed;
}

static bool member_read(struct filter_reading *x, struct span key, struct filter_answer *ret)
{
    if (span_is(key, "refuse"))
        return json_in_text(&x->r.in, LIMIT_TEXT_BYTES, &ret->refuse);
    if (span_is(key, "message"))
        return json_in_text(&x->r.in, LIMIT_TEXT_BYTES, &ret->message);
    if (span_is(key, "jobs"))
        return jobs_read(x);
    return json_in_fail(&x->r.in, "\"%.*s\" is none of refuse, message and jobs", SPAN_QUOTED(key));
}

bool submit_filter_read(const char *text, size_t len, struct job_spec *const *specs, size_t n,
                        struct arena *a, struct filter_answer *ret, struct err *ret_err)
{
    struct filter_reading x = {
        .r = {.text_max = LIMIT_TEXT_BYTES, .blobs_are_texts = true}, .spec = specs, .n = n};
    struct span key;
    *ret = (struct filter_answer){0};
    json_in_begin(&x.r.in, text, len, a, ret_err);
    if (!json_in_peek(&x.r.in))
        return json_in_end(&x.r.in); /* a NUL is no blank */
    if (!json_in_open(&x.r.in, '{'))
        return false;
    for (bool first = true; json_in_more(&x.r.in, '}', &first);)
        if (!json_in_key(&x.r.in, &key) || !member_read(&x, key, ret))
            return false;
    return json_in_end(&x.r.in);
}
