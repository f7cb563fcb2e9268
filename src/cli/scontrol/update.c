/* scontrol update, create and delete: Key=Value words → the fields of a job, node or partition. One
 * table an entity; unknown keys name the nearest known one. */
#include "cli/scontrol/update.h"
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/scontrol/reservation.h"
#include "cli/table/listing.h"
#include "model/grammar/cpu_bind.h"
#include "model/job/array.h"
#include "model/settings/settings.h"
#include "model/settings/settings_value.h"

#include <string.h>

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool node_cpu_bind(struct update_change *c, const char *value, struct err *ret_err)
{
    return cpu_bind_wanted_parse(value, &c->node.cpu_bind, ret_err) && update_field(c, "cpu_bind");
}

static bool node_names(struct update_change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->node_msg.names = value;
    return true;
}

static bool node_state(struct update_change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->node_msg.state = value;
    return true;
}

static bool node_reason(struct update_change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->node_msg.reason = value;
    return true;
}

static bool node_weight(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!update_number(value, &c->node.weight, NULL))
        return err_set(ret_err, ERR_INVALID, "value (%s) is not a valid number", value);
    return update_field(c, "weight");
}

static const struct update_key node_rows[] = {
    {"NodeName", node_names, SAID_NOTHING, NULL},
    {"State", node_state, SAID_NOTHING, NULL},
    {"Reason", node_reason, SAID_NOTHING, NULL},
    {"Weight", node_weight, SAID_NOTHING, NULL},
    {"Features", NULL, SAID_NOTHING, "features"},
    {"AvailableFeatures", NULL, SAID_NOTHING, "features"},
    {"ActiveFeatures", NULL, SAID_NOTHING, "features"},
    {"Gres", NULL, SAID_NOTHING, "gres"},
    {"Comment", NULL, SAID_NOTHING, "comment"},
    {"NodeAddr", NULL, SAID_NOTHING, "addr"},
    {"NodeHostName", NULL, SAID_NOTHING, "hostname"},
    {"CpuBind", node_cpu_bind, SAID_INPUT, NULL},
    {"Extra", NULL, SAID_NOTHING, "extra"},
    {"InstanceId", NULL, SAID_NOTHING, NULL},
    {"InstanceType", NULL, SAID_NOTHING, NULL},
    {"ResumeAfter", NULL, SAID_NOTHING, NULL},
};
static const struct key_table node_keys = {node_rows, ARRAY_LEN(node_rows), &node_fields,
                                           offsetof(struct update_change, node)};

/* ---- words ---------------------------------------------------------------------------------- */

static bool key_unknown(const char *name, const struct key_table *t, struct err *ret_err)
{
    if (text_empty(name))
        return err_set(ret_err, ERR_INVALID, "Key=Value is expected: the key is missing");
    const char *names[128];
    CHECK(t->n <= ARRAY_LEN(names));
    for (size_t i = 0; i < t->n; i++)
        names[i] = t->key[i].name;
    const char *near = text_nearest(name, names, t->n);
    if (near)
        return err_set(ret_err, ERR_INVALID, "%s is no key of it; did you mean %s?", name, near);
    return err_set(ret_err, ERR_INVALID, "%s is no key of it", name);
}

/* Exact, else what all the keys that start so set ("Pri=" is Priority; "Time=" is TimeLimit or
 * TimeMin: none). */
static const struct update_key *key_find(const struct key_table *t, const char *name)
{
    const struct update_key *found = NULL;
    bool several = false;
    for (size_t i = 0; i < t->n; i++) {
        const struct update_key *k = &t->key[i];
        if (text_is_nocase(k->name, name))
            return k;
        if (strlen(name) < 3 || !text_starts_nocase(k->name, name))
            continue;
        several |= found && (found->set != k->set || !text_is(found->fields, k->fields));
        found = found ? found : k;
    }
    return several ? NULL : found;
}

/* The value of a key that is a field: as the field's type is written. */
static bool field_read(struct update_change *c, const struct key_table *t,
                       const struct update_key *k, const char *value, struct err *ret_err)
{
    const char *name = arena_strndup(c->s->a, k->fields, strcspn(k->fields, ","));
    ptrdiff_t index = fields_find(t->fields, name);
    CHECK(index >= 0);
    const struct field *f = &t->fields->field[index];
    void *to = field_ptr(f, (char *)c + t->record);
    bool ok = false;
    if (f->type == FIELD_TEXT) {
        *(const char **)to = text_empty(value) ? NULL : value;
        ok = true;
    } else if (f->type == FIELD_I32)
        ok = update_number(value, to, ret_err);
    else if (f->type == FIELD_MIB)
        ok = size_parse_mib(value, to, ret_err);
    else if (f->type == FIELD_TIME)
        ok = civil_parse(value, time_now_us(), &civil_local, true, to, ret_err);
    else if (f->type == FIELD_SPAN)
        ok = duration_parse(value, to, ret_err);
    else if (f->type == FIELD_BOOL)
        ok = setting_parse_bool(value, to, ret_err);
    else
        die("update of a field of a type without a parser");
    return ok && update_field(c, k->fields);
}

static bool value_refuse(struct update_change *c, const struct update_key *k, const char *word,
                         const char *value, struct err *ret_err)
{
    switch (k->said) {
    case SAID_NOTHING: break;
    case SAID_VALUE: scontrol_fail(c->s, "Invalid %s value: %s", k->name, value); break;
    case SAID_INPUT: scontrol_fail(c->s, "Invalid input %s", word); break;
    case SAID_KEY: scontrol_fail(c->s, "Invalid %s value", k->name); break;
    case SAID_TIME:
        if (ret_err->lead[0])
            scontrol_refuse(c->s, "%s", ret_err->lead);
        break;
    }
    return text_starts(ret_err->text, "Invalid") ? false : err_prefix(ret_err, "%s", k->name);
}

/* A word that is no Key=Value. */
static bool bare_take(struct update_change *c, const struct key_table *t, const char *word,
                      struct err *ret_err)
{
    if (t == &update_job_keys && text_is_nocase(word, "ResetAccrueTime")) {
        c->job.reset_accrue = 1;
        return true;
    }
    if (t == &update_job_keys && text_is_nocase(word, "Nice")) {
        c->spec.nice = 100; /* as --nice without a number */
        return update_field(c, "nice");
    }
    update_word_refuse(c, "Invalid input", word);
    return err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%s\"", word);
}

/* Key+=Value or Key-=Value of a key that only takes a new value. */
static bool sign_refuse(struct update_change *c, const struct key_table *t,
                        const struct update_key *k, const char *word, struct err *ret_err)
{
    if (t == &update_job_keys)
        scontrol_fail(c->s, "Option %s does not accept [+|-]= syntax", word);
    else
        update_word_refuse(c, "Update of this parameter is not supported", word);
    return err_set(ret_err, ERR_INVALID,
                   "%s=VALUE says what it becomes; += and -= are of a job's TimeLimit, of a "
                   "partition's Nodes and of what reservations list",
                   k->name);
}

static bool words_take(struct update_change *c, const struct key_table *t, int n, char **word,
                       struct err *ret_err)
{
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(word[i], '=');
        if (!equals && bare_take(c, t, word[i], ret_err))
            continue;
        if (!equals)
            return false;
        size_t len = (size_t)(equals - word[i]);
        const char *value = equals + 1;
        c->sign = '\0';
        if (len && (word[i][len - 1] == '+' || word[i][len - 1] == '-'))
            c->sign = word[i][--len];
        const char *name = arena_strndup(c->s->a, word[i], len);
        const struct update_key *k = key_find(t, name);
        if (!k)
            return update_word_refuse(c, "Update of this parameter is not supported", word[i]) &&
                   key_unknown(name, t, ret_err);
        if (!k->set && !k->fields)
            return update_word_refuse(c, "Update of this parameter is not supported", word[i]) &&
                   err_set(ret_err, ERR_UNSUPPORTED, "%s: not supported yet", k->name);
        if (!(k->set ? k->set(c, value, ret_err) : field_read(c, t, k, value, ret_err)))
            return value_refuse(c, k, word[i], value, ret_err);
        if (c->sign)
            return sign_refuse(c, t, k, word[i], ret_err);
    }
    return true;
}

static bool starts(int n, char **word, const char *key)
{
    for (int i = 0; i < n; i++)
        if (text_starts_nocase(word[i], key))
            return true;
    return false;
}

/* JobName= with UserID=: the jobs are looked up first. */
static bool jobs_of_users(struct update_change *c, struct err *ret_err)
{
    const char *name = c->job.ids + strlen("name=");
    struct msg_query q = {.what = QUERY_JOBS, .names = name, .uids = c->uids};
    c->job.ids = scontrol_job_labels(c->s, &q);
    return c->job.ids || err_set(ret_err, ERR_NOT_FOUND, "No jobs with name '%s'", name);
}

static void job_count(void *ctx, const void *record)
{
    (void)record;
    ++*(size_t *)ctx;
}

static size_t jobs_count(struct scontrol *s, const char *ids)
{
    struct msg_query q = {.what = QUERY_JOBS, .ids = ids, .states = "all", .fields = "id"};
    struct msg_done done = {0};
    size_t n = 0;
    struct client *c = scontrol_connect(s, "slurm_update error");
    return c && client_query(c, &q, &job_fields, s->a, job_count, &n, &done, NULL) ? n : 0;
}

static bool job_update(struct update_change *c, int n, char **word, struct err *ret_err)
{
    if (!words_take(c, &update_job_keys, n, word, ret_err))
        return false;
    const struct msg_update_job *m = &c->job;
    if (!m->ids)
        return err_set(ret_err, ERR_INVALID, "No job is named: JobId= or JobName= says which");
    if (!c->fields && !m->time_limit_add_us && !m->admin_comment && !m->array_limit_plus1 &&
        !m->end_us && !m->reset_accrue)
        return update_nothing(c);
    if (c->by_name && !jobs_of_users(c, ret_err))
        return false;
    if (c->resizes && jobs_count(c->s, m->ids) > 1)
        return err_set(
            ret_err, ERR_UNSUPPORTED,
            "Job resizing not supported for job arrays\nscontrol: error: name one element, or one "
            "job that is not heterogeneous");
    if (c->cpus && !update_job_cpus(c, ret_err))
        return false;
    c->job.fields = c->fields;
    if (c->fields) {
        c->job.values.v = &c->spec;
        c->job.values.n = 1;
    }
    if (scontrol_change_jobs(c->s, MSG_UPDATE_JOB, &c->job, c->job.ids, NULL) && c->resizes)
        scontrol_resize_files(c->s, c->job.ids);
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static bool step_id(struct update_change *c, const char *value, struct err *ret_err)
{
    struct job_ref ref;
    if (!job_ref_parse(value, &ref, ret_err))
        return update_word_refuse(c, "Invalid StepID parameter",
                                  arena_printf(c->s->a, "StepId=%s", value)) &&
               false;
    job_ref_done(&ref);
    c->job.ids = value;
    return true;
}

static bool step_limit(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!duration_parse(value, &c->job.step_limit_us, NULL))
        return err_set(ret_err, ERR_INVALID, "Invalid TimeLimit value");
    if (!c->job.step_limit_us)
        c->job.step_limit_us = TIME_UNLIMITED;
    return true;
}

static const struct update_key step_rows[] = {{"StepId", step_id, SAID_NOTHING, NULL},
                                              {"TimeLimit", step_limit, SAID_NOTHING, NULL}};
static const struct key_table step_keys = {step_rows, ARRAY_LEN(step_rows), NULL, 0};

static bool step_update(struct update_change *c, int n, char **word, struct err *ret_err)
{
    if (!words_take(c, &step_keys, n, word, ret_err))
        return false;
    if (!c->job.step_limit_us)
        return update_nothing(c);
    scontrol_change(c->s, MSG_UPDATE_JOB, &c->job, "slurm_update error");
    return true;
}

static bool needs_reason(const char *state)
{
    return text_is_nocase(state, "DOWN") || text_is_nocase(state, "DRAIN") ||
           text_is_nocase(state, "FAIL");
}

static bool node_update(struct update_change *c, int n, char **word, struct err *ret_err)
{
    if (!words_take(c, &node_keys, n, word, ret_err))
        return false;
    if (!c->fields && !c->node_msg.state && !c->node_msg.reason)
        return update_nothing(c);
    if (!c->node_msg.reason && c->node_msg.state && needs_reason(c->node_msg.state)) {
        scontrol_refuse(
            c->s, "You must specify a reason when DOWNING or DRAINING a node. Request denied");
        return true;
    }
    c->node_msg.fields = c->fields;
    c->node_msg.values.v = &c->node;
    c->node_msg.values.n = c->fields ? 1 : 0;
    scontrol_change(c->s, MSG_UPDATE_NODE, &c->node_msg, "slurm_update error");
    return true;
}

/* "job 4 TimeLimit=5", "job=4", "node n1 State=…": the entity as show names it → the key of
 * update. */
static void entity_join(struct scontrol *s, int *n, char **word)
{
    static const struct {
        const char *entity, *key;
    } rows[] = {{"job", "JobId"},
                {"jobid", "JobId"},
                {"node", "NodeName"},
                {"nodename", "NodeName"},
                {"partition", "PartitionName"},
                {"part", "PartitionName"}};
    const char *equals = strchr(word[0], '=');
    size_t len = equals ? (size_t)(equals - word[0]) : strlen(word[0]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!span_is_nocase((struct span){word[0], len}, rows[i].entity) || (!equals && *n < 2))
            continue;
        const char *name = equals ? equals + 1 : word[1];
        int taken = equals ? 1 : 2;
        word[taken - 1] = arena_printf(s->a, "%s=%s", rows[i].key, name);
        memmove(word, word + taken - 1, (size_t)(*n - taken + 1) * sizeof *word);
        *n -= taken - 1;
        return;
    }
}

static bool is_entity(const char *word)
{
    static const char *const words[] = {"JobId", "JobName", "NodeName", "PartitionName",
                                        "ReservationName"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is_nocase(words[i], word))
            return true;
    return false;
}

/* Is a job named, so that a reservation is what it is to have? "Job=4" is JobId=4 from now on,
 * where it stands first or behind. */
static bool names_job(struct scontrol *s, int n, char **word)
{
    bool first = text_is_nocase(word[0], "job") || text_is_nocase(word[0], "jobid");
    for (int i = 0; i < n; i++)
        if (text_starts_nocase(word[i], "Job="))
            word[i] = arena_printf(s->a, "JobId=%s", strchr(word[i], '=') + 1);
    return (first && n > 1) || starts(n, word, "JobId=") || starts(n, word, "JobName=");
}

void scontrol_update(struct scontrol *s, int n, char **word)
{
    struct update_change c = {.s = s};
    struct err err = {0};
    bool ok;
    if (!names_job(s, n, word) && scontrol_reservation_update(s, n, word))
        return;
    entity_join(s, &n, word);
    if (starts(n, word, "JobId="))
        ok = job_update(&c, n, word, &err);
    else if (starts(n, word, "NodeName="))
        ok = node_update(&c, n, word, &err);
    else if (starts(n, word, "PartitionName="))
        ok = update_partition(&c, n, word, false, &err);
    else if (starts(n, word, "JobName=") || starts(n, word, "Name=")) {
        c.by_name = true;
        ok = job_update(&c, n, word, &err);
    } else if (starts(n, word, "StepId=")) {
        ok = step_update(&c, n, word, &err);
    } else if (starts(n, word, "FrontendName=") || starts(n, word, "SuspendExc")) {
        ok = err_set(&err, ERR_UNSUPPORTED, "not supported yet: update of %s", word[0]);
    } else if (n == 1 && !strchr(word[0], '=') && is_entity(word[0])) {
        ok = update_word_refuse(&c, "Invalid input", word[0]);
    } else {
        scontrol_refuse(s,
                        "No valid entity in update command\nInput line must include \"NodeName\", "
                        "\"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\"");
        ok = true;
    }
    if (!ok && err.code)
        scontrol_fail(s, "%s", err.text);
}

/* "partition short Nodes=…", "partition=short", "PartitionName=short": the word is the name's key
 * from now on. */
static bool names_partition(struct scontrol *s, int *n, char **word)
{
    if (*n && text_is_nocase(word[0], "partition") && *n > 1 && !strchr(word[1], '=')) {
        word[1] = arena_printf(s->a, "PartitionName=%s", word[1]);
    } else if (*n && text_is_nocase(word[0], "partition") && *n > 1) {
        /* the name follows as PartitionName= */
    } else {
        entity_join(s, n, word);
        return starts(*n, word, "PartitionName=");
    }
    memmove(word, word + 1, (size_t)(*n - 1) * sizeof *word);
    --*n;
    return starts(*n, word, "PartitionName=");
}

void scontrol_create(struct scontrol *s, int n, char **word)
{
    struct update_change c = {.s = s};
    struct err err = {0};
    if (scontrol_reservation_create(s, n, word))
        return;
    if (names_partition(s, &n, word)) {
        if (!update_partition(&c, n, word, true, &err) && err.code)
            scontrol_fail(s, "%s", err.text);
        return;
    }
    bool bare = text_is_nocase(word[0], "partition") || text_is_nocase(word[0], "partitionname");
    scontrol_fail(s, bare ? "Invalid input: %s  Request aborted" : "Invalid creation entity: %s",
                  word[0]);
    scontrol_fail(
        s, "create PartitionName=NAME Nodes=LIST or reservation [NAME] StartTime=… Duration=… "
           "Users=… Nodes=…");
}

void scontrol_delete(struct scontrol *s, int n, char **word)
{
    const char *asked = n ? word[0] : "";
    if (scontrol_reservation_delete(s, n, word))
        return;
    if (!names_partition(s, &n, word)) {
        if (strchr(word[0], '=') || n > 1)
            scontrol_refuse(s, "Invalid deletion entity: %s", word[0]);
        else
            scontrol_fail(s, "Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
        scontrol_fail(s, "delete PartitionName=NAME or ReservationName=NAME");
        return;
    }
    struct msg_update_partition m = {.name = strchr(word[0], '=') + 1, .remove = true};
    scontrol_change(s, MSG_UPDATE_PARTITION, &m, arena_printf(s->a, "delete_partition %s", asked));
}
