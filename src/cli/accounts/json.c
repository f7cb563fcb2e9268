/* sacctmgr --json: the records of what is shown, under Slurm's keys. */
#include "cli/accounts/accounts.h"
#include "cli/table/json_slurm.h"

static void words_json(struct json_out *j, const char *key, const char *list, struct arena *a)
{
    struct span rest = span_of(list ? list : ""), piece;
    json_key(j, key);
    json_array(j);
    while (span_next(&rest, ',', &piece))
        if (piece.len)
            json_text(j, arena_strndup(a, piece.data, piece.len));
    json_array_end(j);
}

static void limits_json(struct json_out *j, const struct sacctmgr_owner *o)
{
    json_key(j, "limits");
    json_object(j);
    for (int i = 0; o && i < RESOURCE_LIMIT_COUNT; i++) {
        struct str text = STR_INIT;
        owner_limit_say(o, (enum resource_limit)i, false, &text);
        if (text.len)
            json_key_text(j, resource_limit_table[i].word, str_text(&text));
        str_done(&text);
    }
    json_object_end(j);
}

static void assoc_json(struct json_out *j, const struct sacctmgr *s, const struct account_row *r)
{
    const struct assoc *a = r->assoc->a;
    json_object(j);
    json_key_text(j, "account", a->account);
    json_key_text(j, "cluster", s->cluster);
    json_key_text(j, "user", a->user);
    json_key_text(j, "partition", a->partition);
    json_key_text(j, "parent_account", a->parent);
    json_key_i64(j, "id", a->id);
    json_key_number(j, "shares_raw", true, assoc_shares(a));
    json_key(j, "default");
    json_object(j);
    json_key_text(j, "qos", a->default_qos);
    json_object_end(j);
    words_json(j, "qos", assoc_view_qos(r->book, r->assoc, s->a), s->a);
    limits_json(j, r->owner);
    json_object_end(j);
}

static void account_json(struct json_out *j, const struct sacctmgr *s, const struct account *a)
{
    json_object(j);
    json_key_text(j, "name", a->name);
    json_key_text(j, "description", a->description);
    json_key_text(j, "organization", a->organization);
    words_json(j, "coordinators", a->coordinators, s->a);
    json_object_end(j);
}

static void user_json(struct json_out *j, const struct account_user *u)
{
    json_object(j);
    json_key_text(j, "name", u->name);
    json_key(j, "administrator_level");
    json_array(j);
    json_text(j, enum_name(&admin_level_names, u->admin_level));
    json_array_end(j);
    json_key(j, "default");
    json_object(j);
    json_key_text(j, "account", u->default_account);
    json_key_text(j, "wckey", u->default_wckey);
    json_object_end(j);
    json_object_end(j);
}

static void qos_json(struct json_out *j, const struct sacctmgr *s, const struct account_row *r)
{
    const struct qos *q = r->qos->q;
    json_object(j);
    json_key_text(j, "name", q->name);
    json_key_i64(j, "id", q->id);
    json_key_text(j, "description", q->description);
    json_key_number(j, "priority", true, q->priority);
    words_json(j, "preempt", q->preempt, s->a);
    limits_json(j, r->owner);
    json_object_end(j);
}

void accounts_json(struct sacctmgr *s, const struct book *b, const struct account_row *row,
                   size_t n, enum entity entity)
{
    struct json_out j;
    struct str out = STR_INIT;
    (void)b;
    json_slurm_begin(&j, &out, "sacctmgr");
    json_key(&j, entity == ENTITY_ACCOUNT ? "accounts"
                 : entity == ENTITY_USER  ? "users"
                 : entity == ENTITY_QOS   ? "qos"
                                          : "associations");
    json_array(&j);
    for (size_t i = 0; i < n; i++)
        if (entity == ENTITY_QOS)
            qos_json(&j, s, &row[i]);
        else if (entity == ENTITY_ASSOC)
            assoc_json(&j, s, &row[i]);
        else if (entity == ENTITY_USER && (!i || row[i].user != row[i - 1].user))
            user_json(&j, row[i].user);
        else if (entity == ENTITY_ACCOUNT && (!i || row[i].account != row[i - 1].account))
            account_json(&j, s, row[i].account);
    json_array_end(&j);
    json_slurm_end(&j, s->json);
}
