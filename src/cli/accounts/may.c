/* remuda may: what a user may use, for people and, with --json, for programs. The controller works
 * it out (core/request/may.c); this only writes it down. docs/may.md promises the JSON: members are
 * added, none is changed. */
#include "base/amount.h"
#include "base/duration.h"
#include "base/list.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/table/json_form.h"
#include "cli/table/listing.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "remuda.may/1"

struct may_line {
    const char *state_dir, *user;
    enum json_form json;
    bool all;
    struct arena *a;
    struct client *client;
    struct str out;
    struct json_out j;
};

static const struct option_row rows[] = {
    OPT_FLAG("all", 'a', "also what may not be used, and why", offsetof(struct may_line, all)),
    OWN_JSON(struct may_line, "as JSON, with all of it: a promise to programs (docs/may.md)"),
    OPT_VALUE("user", 'u', "name", "what this user may use; else you", set_any_text,
              offsetof(struct may_line, user)),
    OWN_STATE(struct may_line),
    OWN_YAML(struct may_line),
    OWN_HELP,
};
OPTION_TABLE(may_options, rows, .usage = "remuda may [OPTIONS]",
             .about = "  What you may use: each partition with the accounts and QOS that it takes "
                      "from you, their limits, how much of\n"
                      "  each is left, the longest time limit, and the GPUs that are free now. * "
                      "marks what a job gets that names none.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

/* ---- for programs --------------------------------------------------------------------------- */

static void text_or_null(struct json_out *j, const char *key, const char *text)
{
    json_key(j, key);
    if (text_empty(text))
        json_null(j);
    else
        json_text(j, text);
}

static void minutes_or_null(struct json_out *j, const char *key, int64_t us)
{
    json_key(j, key);
    if (us && us != TIME_UNLIMITED)
        json_i64(j, us / USEC_PER_MIN);
    else
        json_null(j);
}

static void refusal_json(struct json_out *j, bool usable, int32_t refusal, const char *because)
{
    json_key_bool(j, "usable", usable);
    text_or_null(j, "refusal", refusal ? enum_name(&refusal_names, refusal) : NULL);
    text_or_null(j, "because", because);
}

static const char *unit_of(const struct may_limit *l)
{
    switch (resource_limit_table[l->what].unit) {
    case UNIT_MINUTES: return "minutes";
    case UNIT_TRES_MINUTES: return text_is(l->tres, "mem") ? "MiB*minutes" : "count*minutes";
    case UNIT_COUNT:
    case UNIT_TRES: break;
    }
    return text_is(l->tres, "mem") ? "MiB" : "count";
}

static void limit_json(struct json_out *j, const struct may_limit *l)
{
    json_object(j);
    json_key_text(j, "limit", resource_limit_table[l->what].word);
    text_or_null(j, "tres", l->tres);
    json_key_text(j, "unit", unit_of(l));
    json_key_text(j, "carried_by", l->owner == OWNER_QOS ? "qos" : "association");
    json_key_text(j, "of", l->of);
    text_or_null(j, "hours", l->hours);
    json_key_i64(j, "value", l->value);
    json_key(j, "used");
    l->counted ? json_i64(j, l->used) : json_null(j);
    json_key(j, "left");
    l->counted ? json_i64(j, l->left) : json_null(j);
    json_key_bool(j, "holds", l->holds);
    json_object_end(j);
}

static void choice_json(struct json_out *j, const struct may_choice *c)
{
    json_object(j);
    json_key_text(j, "account", c->account);
    json_key_bool(j, "account_default", c->account_default);
    json_key_text(j, "qos", c->qos);
    json_key_bool(j, "qos_default", c->qos_default);
    refusal_json(j, c->usable, c->refusal, c->because);
    minutes_or_null(j, "max_time_minutes", c->time_limit_us);
    text_or_null(j, "max_time_of", c->time_limit_of);
    json_key(j, "limits");
    json_array(j);
    for (size_t i = 0; i < c->limits.n; i++)
        limit_json(j, (const struct may_limit *)c->limits.v + i);
    json_array_end(j);
    json_object_end(j);
}

static void partition_json(struct json_out *j, const struct may_partition *p)
{
    json_object(j);
    json_key_text(j, "name", p->name);
    json_key_bool(j, "default", p->is_default);
    refusal_json(j, p->usable, p->refusal, p->because);
    json_key_text(j, "state", enum_name(&part_state_names, p->state));
    minutes_or_null(j, "max_time_minutes", p->max_time_us);
    minutes_or_null(j, "default_time_minutes",
                    p->default_time_us ? p->default_time_us : p->max_time_us);
    json_key(j, "max_nodes");
    p->max_nodes ? json_i64(j, p->max_nodes) : json_null(j);
    json_key(j, "nodes_up");
    p->nodes_private ? json_null(j) : json_i64(j, p->nodes);
    json_key(j, "gpus");
    json_array(j);
    for (size_t i = 0; i < p->gpus.n; i++) {
        const struct may_gpu *g = (const struct may_gpu *)p->gpus.v + i;
        json_object(j);
        text_or_null(j, "type", g->type);
        json_key_i64(j, "total", g->total);
        json_key_i64(j, "free", g->free);
        json_object_end(j);
    }
    json_array_end(j);
    json_key(j, "choices");
    json_array(j);
    for (size_t i = 0; i < p->choices.n; i++)
        choice_json(j, (const struct may_choice *)p->choices.v + i);
    json_array_end(j);
    json_object_end(j);
}

static void head_json(struct may_line *k, const struct msg_allowed *m)
{
    struct json_out *j = &k->j;
    struct span rest = span_of(m->coordinates ? m->coordinates : ""), piece;
    json_begin(j, &k->out, true);
    json_object(j);
    json_key_text(j, "schema", SCHEMA);
    json_key_text(j, "user", m->user);
    text_or_null(j, "default_account", m->default_account);
    json_key(j, "coordinator_of");
    json_array(j);
    while (span_next(&rest, ',', &piece))
        if (piece.len)
            json_text(j, arena_strndup(k->a, piece.data, piece.len));
    json_array_end(j);
    json_key_bool(j, "accounts_needed", m->accounts_needed);
    json_key_bool(j, "limits_hold", m->limits_hold);
    json_key(j, "partitions");
    json_array(j);
}

/* ---- for people ----------------------------------------------------------------------------- */

static void time_say(struct str *out, int64_t us)
{
    if (!us || us == TIME_UNLIMITED)
        str_add(out, "unlimited");
    else
        duration_format(us, out);
}

static void amount_say(struct str *out, const struct may_limit *l, int64_t n)
{
    enum limit_unit unit = resource_limit_table[l->what].unit;
    if (unit == UNIT_MINUTES)
        duration_format(amount_times(n, USEC_PER_MIN), out);
    else if (unit == UNIT_TRES && text_is(l->tres, "mem"))
        size_format_mib(n, 0, out);
    else
        str_add_i64(out, n);
}

static void limit_print(struct str *out, const struct may_limit *l)
{
    str_addf(out, "      %s", resource_limit_table[l->what].word);
    if (l->tres)
        str_addf(out, " %s", l->tres);
    str_add(out, ": ");
    if (l->counted) {
        amount_say(out, l, l->left);
        str_add(out, " left of ");
    }
    amount_say(out, l, l->value);
    str_addf(out, ", of %s", l->of);
    if (!text_empty(l->hours))
        str_addf(out, ", %s", l->hours);
    str_add(out, l->holds ? "\n" : " (not insisted on)\n");
}

/* What is behind "QOS name: ". */
static const char *choice_text(const struct may_choice *c, struct arena *a)
{
    struct str out = STR_INIT;
    if (!c->usable) {
        str_addf(&out, "no: %s\n", c->because ? c->because : "");
    } else {
        str_add(&out, "up to ");
        time_say(&out, c->time_limit_us);
        str_addc(&out, '\n');
        for (size_t i = 0; i < c->limits.n; i++)
            limit_print(&out, (const struct may_limit *)c->limits.v + i);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

/* Accounts of which the same is to be said of a QOS stand in one line. */
static void choices_print(const struct may_line *k, struct str *out, const struct may_choice *c,
                          size_t n)
{
    struct arena *a = arena_new();
    const char **text = arena_alloc(a, (n + 1) * sizeof *text); /* NULL: not, or not again */
    for (size_t i = 0; i < n; i++)
        text[i] = c[i].usable || k->all ? choice_text(&c[i], a) : NULL;
    for (size_t i = 0; i < n; i++) {
        struct str accounts = STR_INIT;
        size_t same = 0;
        for (size_t j = i; text[i] && j < n; j++) {
            if (!text[j] || !text_is(text[j], text[i]) || !text_is(c[j].qos, c[i].qos) ||
                c[j].qos_default != c[i].qos_default)
                continue;
            str_addf(&accounts, "%s%s%s", same++ ? ", " : "", c[j].account,
                     c[j].account_default ? "*" : "");
            if (j != i)
                text[j] = NULL;
        }
        if (same)
            str_addf(out, "    account%s %s, QOS %s%s: %s", same > 1 ? "s" : "",
                     str_text(&accounts), c[i].qos, c[i].qos_default ? "*" : "", text[i]);
        str_done(&accounts);
    }
    arena_free(a);
}

static void partition_print(const struct may_line *k, struct str *out,
                            const struct may_partition *p)
{
    str_addf(out, "%s%s", p->name, p->is_default ? "*" : "");
    if (!p->usable) {
        str_addf(out, ": no: %s\n", p->because ? p->because : "");
        if (!k->all)
            return;
    } else {
        str_add(out, ": up to ");
        time_say(out, p->max_time_us);
        if (p->max_nodes)
            str_addf(out, " and %d node%s a job", p->max_nodes, p->max_nodes == 1 ? "" : "s");
        if (!p->nodes_private)
            str_addf(out, "; %d node%s up", p->nodes, p->nodes == 1 ? "" : "s");
        for (size_t i = 0; i < p->gpus.n; i++) {
            const struct may_gpu *g = (const struct may_gpu *)p->gpus.v + i;
            str_addf(out, "%s%s%s %lld of %lld", i ? ", " : "; free GPUs: ", g->type ? g->type : "",
                     g->type ? "" : "gpu", (long long)g->free, (long long)g->total);
        }
        str_addc(out, '\n');
    }
    choices_print(k, out, p->choices.v, p->choices.n);
}

static void head_print(struct may_line *k, const struct msg_allowed *m)
{
    str_addf(&k->out, "%s: ", m->user);
    if (m->default_account)
        str_addf(&k->out, "default account %s", m->default_account);
    else
        str_addf(&k->out, "in no account%s", m->accounts_needed ? "" : ", and none is needed");
    if (m->coordinates)
        str_addf(&k->out, "; coordinator of %s", m->coordinates);
    str_add(&k->out, "\n\n");
}

/* ---- asking --------------------------------------------------------------------------------- */

static bool ask(struct may_line *k, const struct msg_may *m, struct message *ret)
{
    struct err err = {0};
    if (cluster_ask(k->client, MSG_MAY, m, MSG_ALLOWED, k->a, ret, &err))
        return true;
    program_error("remuda may", "%s", err.text);
    return false;
}

static void part_show(struct may_line *k, const struct msg_allowed *m, bool first)
{
    if (first)
        (k->json ? head_json : head_print)(k, m);
    for (size_t i = 0; i < m->partitions.n; i++) {
        const struct may_partition *p = (const struct may_partition *)m->partitions.v + i;
        if (k->json)
            partition_json(&k->j, p);
        else
            partition_print(k, &k->out, p);
    }
}

static int may(struct may_line *k)
{
    struct msg_may m = {.user = k->user};
    const struct passwd *pw = k->user ? user_by_name(k->user) : NULL;
    struct message answer;
    bool first = true, ok;
    if (pw) {
        m.uid = pw->pw_uid;
        m.groups = listing_groups(pw->pw_name, pw->pw_gid, k->a);
    } else if (k->user) {
        m.uid = UINT32_MAX - 1; /* nobody's: not root's */
    }
    do {
        ok = ask(k, &m, &answer);
        if (!ok)
            break;
        const struct msg_allowed *part = answer.body;
        part_show(k, part, first);
        first = false;
        m.from = part->next;
    } while (m.from);
    if (ok && k->json) {
        json_array_end(&k->j);
        json_object_end(&k->j);
    }
    if (ok)
        json_form_print(&k->out, k->json);
    return ok ? 0 : 1;
}

int cmd_may(int argc, char **argv)
{
    struct may_line k = {.a = arena_new()};
    struct option_line line = {.table = &may_options, .to = &k, .a = k.a};
    int rc;
    if (own_line_read("remuda may", &line, argc, argv, &rc)) {
        k.client = program_connect("remuda may", state_dir_find(k.state_dir, k.a));
        if (k.client && k.json)
            client_keep_texts(k.client, true);
        rc = k.client ? may(&k) : 1;
        if (k.client)
            client_close(k.client);
    }
    str_done(&k.out);
    arena_free(k.a);
    return rc;
}
