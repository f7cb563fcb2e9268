/* update_node: states with their reasons, and a node's own fields. All nodes named are checked
 * before the first is changed. */
#include "base/list.h"
#include "core/record/triggers/triggers.h"
#include "core/request/request.h"

#include "model/grammar/cpu_bind.h"
#include "model/grammar/gres.h"

#include <string.h>

enum update_word {
    WORD_NONE,
    WORD_DOWN,
    WORD_DRAIN,
    WORD_FAIL,
    WORD_RESUME,
    WORD_UNDRAIN,
    WORD_FUTURE,
    WORD_POWER,
    WORD_UNKNOWN
};

struct word_row {
    const char *text;
    enum update_word word;
};

static const struct word_row words[] = {
    {"DOWN", WORD_DOWN},
    {"DRAIN", WORD_DRAIN},
    {"DRAINED", WORD_DRAIN},
    {"DRAINING", WORD_DRAIN},
    {"FAIL", WORD_FAIL},
    {"FAILING", WORD_FAIL},
    {"RESUME", WORD_RESUME},
    {"IDLE", WORD_RESUME},
    {"UNDRAIN", WORD_UNDRAIN},
    {"FUTURE", WORD_FUTURE},
    {"POWER_UP", WORD_POWER},
    {"POWER_DOWN", WORD_POWER},
    {"POWER_DOWN_ASAP", WORD_POWER},
    {"POWER_DOWN_FORCE", WORD_POWER},
    {"REBOOT", WORD_POWER},
    {"CANCEL_REBOOT", WORD_POWER},
};

static enum update_word word_of(const char *text)
{
    if (!text)
        return WORD_NONE;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is_nocase(words[i].text, text))
            return words[i].word;
    return WORD_UNKNOWN;
}

static void reason_set(struct core *c, struct noderec *n, const char *reason)
{
    text_set(c, &n->n.reason, reason);
    text_set(c, &n->n.reason_user, reason ? c->turn.peer->user : NULL);
    n->n.reason_uid = reason ? c->turn.peer->uid : 0;
    n->n.reason_us = reason ? c->turn.now_us : 0;
}

static void jobs_lose(struct core *c, struct noderec *n)
{
    uint64_t *ids = n->job.n ? xmemdup(n->job.v, n->job.n * sizeof *ids) : NULL;
    size_t count = n->job.n;
    for (size_t i = 0; i < count; i++) {
        struct jobrec *r = job_find(c, ids[i]);
        if (r)
            job_node_lost(c, r, node_index(c, n));
    }
    free(ids);
}

/* Back into service: at once if its daemon is connected, else when it connects; it has the usual
 * time for that. */
static void resume(struct core *c, struct noderec *n)
{
    n->n.drain = n->n.fail = false;
    node_devices_retry(c, n);
    n->n.state = n->conn ? NODE_UP : NODE_UNKNOWN;
    reason_set(c, n, NULL);
    if (n->conn)
        return;
    n->lost_us = c->turn.now_us;
    node_watch(c, n);
}

static void state_apply(struct core *c, struct noderec *n, enum update_word word,
                        const char *reason)
{
    switch (word) {
    case WORD_DOWN:
        n->n.state = NODE_DOWN;
        reason_set(c, n, reason);
        triggers_node(c, n); /* while its jobs are known */
        jobs_lose(c, n);
        break;
    case WORD_DRAIN: /* in the place of FAIL, as FAIL in its: either keeps jobs away */
        n->n.drain = true;
        n->n.fail = false;
        reason_set(c, n, reason);
        break;
    case WORD_FAIL:
        n->n.fail = true;
        n->n.drain = false;
        reason_set(c, n, reason);
        break;
    case WORD_RESUME: resume(c, n); break;
    case WORD_UNDRAIN:
        n->n.drain = n->n.fail = false;
        if (n->n.state != NODE_DOWN)
            reason_set(c, n, NULL);
        break;
    case WORD_FUTURE: n->n.state = NODE_FUTURE; break;
    case WORD_NONE:
        if (!text_empty(reason))
            reason_set(c, n, reason);
        break;
    case WORD_POWER:
    case WORD_UNKNOWN: break;
    }
}

/* A list in the node's words: without types it may say the same as the node's with types. */
static bool gres_same(const struct core *c, const struct noderec *n, const char *text)
{
    struct gres_list wanted = {0}, has = {0};
    if (!gres_parse(text ? text : "", c->turn.fx->arena, &wanted, NULL) ||
        !gres_parse(n->n.gres ? n->n.gres : "", c->turn.fx->arena, &has, NULL))
        return false;
    for (size_t i = 0; i < wanted.n; i++)
        if (wanted.item[i].type || wanted.item[i].count != gres_count(&has, wanted.item[i].kind) ||
            !wanted.item[i].count)
            return false;
    for (size_t i = 0; i < has.n; i++)
        if (!gres_count(&wanted, has.item[i].kind))
            return false;
    return wanted.n > 0;
}

static void fields_apply(struct core *c, struct noderec *n, const struct msg_update_node *m)
{
    const struct node *v = m->values.n ? m->values.v : NULL;
    if (!v)
        return;
    if (list_has(m->fields, "weight"))
        n->n.weight = n->conf.weight = v->weight;
    if (list_has(m->fields, "features"))
        text_set(c, &n->n.features, v->features);
    if (list_has(m->fields, "gres")) {
        const char *gres = gres_same(c, n, v->gres) ? n->n.gres : v->gres;
        text_set(c, &n->conf.gres, gres);
        text_set(c, &n->n.set_gres, gres);
    }
    set_fields_add(c, &n->n.set_fields, m->fields);
    if (list_has(m->fields, "comment"))
        text_set(c, &n->n.comment, v->comment);
    if (list_has(m->fields, "extra"))
        text_set(c, &n->n.extra, v->extra);
    if (list_has(m->fields, "cpu_bind"))
        text_set(c, &n->n.cpu_bind, v->cpu_bind);
    if (list_has(m->fields, "addr"))
        text_set(c, &n->n.addr, v->addr);
    if (list_has(m->fields, "hostname"))
        text_set(c, &n->n.hostname, v->hostname);
    node_capacity(c, n);
}

static const char *fields_wrong(const struct msg_update_node *m, struct arena *a)
{
    static const char *const known[] = {"weight", "features", "gres",  "comment",
                                        "addr",   "hostname", "extra", "cpu_bind"};
    struct span rest = span_of(m->fields), piece;
    while (m->fields && span_next(&rest, ',', &piece)) {
        bool found = !piece.len;
        for (size_t i = 0; i < ARRAY_LEN(known) && !found; i++)
            found = span_is(piece, known[i]);
        if (!found)
            return arena_strndup(a, piece.data, piece.len);
    }
    return NULL;
}

static enum refusal word_check(const struct core *c, const struct msg_update_node *m,
                               enum update_word word, const char **detail)
{
    bool needs_reason = word == WORD_DOWN || word == WORD_DRAIN || word == WORD_FAIL;
    if (word == WORD_POWER) {
        *detail = arena_printf(c->turn.fx->arena,
                               "State=%s is not supported yet: nodes are not switched on or off",
                               m->state);
        return REFUSE_NOT_SUPPORTED;
    }
    if (word == WORD_UNKNOWN) {
        *detail = arena_printf(
            c->turn.fx->arena,
            "\"%s\" is no state to set; DOWN, DRAIN, FAIL, RESUME, UNDRAIN, IDLE and FUTURE are",
            m->state);
        return REFUSE_UPDATE;
    }
    if (needs_reason && text_empty(m->reason)) {
        *detail = "DOWN, DRAIN and FAIL need a Reason=";
        return REFUSE_UPDATE;
    }
    return REFUSE_NONE;
}

/* What `scontrol write config` makes lines of; a comment is nobody's line. */
static bool is_unfit(const struct node *v, const char *fields)
{
    static const char *const written[] = {"features", "active_features", "addr", "hostname"};
    for (size_t i = 0; v && i < ARRAY_LEN(written); i++)
        if (list_has(fields, written[i]) && text_unfit(&node_fields, written[i], v))
            return true;
    return false;
}

static enum refusal fields_check(const struct core *c, const struct msg_update_node *m,
                                 const char **detail)
{
    const struct node *v = m->values.n ? m->values.v : NULL;
    const char *wrong = fields_wrong(m, c->turn.fx->arena);
    struct gres_list gres;
    struct err err = {0};
    if (wrong) {
        *detail = arena_printf(c->turn.fx->arena,
                               "\"%s\" of a node cannot be changed here: edit remuda.conf and run "
                               "`scontrol reconfigure`",
                               wrong);
        return REFUSE_UPDATE;
    }
    if (!text_empty(m->fields) && !v) {
        *detail = "fields are named, but no values are given";
        return REFUSE_BAD_MESSAGE;
    }
    if (is_unfit(v, m->fields)) {
        *detail = "no line's end and no quotation mark may be in it";
        return REFUSE_UPDATE;
    }
    if (v && list_has(m->fields, "gres") &&
        !gres_parse_node(v->gres ? v->gres : "", c->turn.fx->arena, &gres, &err)) {
        *detail = arena_strdup(c->turn.fx->arena, err.text);
        return REFUSE_GRES;
    }
    const char *bind;
    if (v && list_has(m->fields, "cpu_bind") && !cpu_bind_wanted_parse(v->cpu_bind, &bind, &err)) {
        *detail = arena_strdup(c->turn.fx->arena, err.text);
        return REFUSE_UPDATE;
    }
    return REFUSE_NONE;
}

/* A node that is given away as FUTURE must be empty. */
static enum refusal nodes_check(const struct core *c, const struct hostlist *names,
                                enum update_word word, const char **detail)
{
    for (size_t i = 0; i < names->n; i++) {
        const struct noderec *n = node_find(c, names->name[i]);
        if (!n) {
            *detail = arena_printf(c->turn.fx->arena, "there is no node %s", names->name[i]);
            return REFUSE_INVALID_NODE;
        }
        if (word == WORD_FUTURE && n->job.n) {
            *detail =
                arena_printf(c->turn.fx->arena,
                             "jobs are on %s: drain it and wait, or end them first", n->n.name);
            return REFUSE_UNAVAILABLE;
        }
    }
    if (!names->n)
        *detail = "name the nodes with NodeName=";
    return names->n ? REFUSE_NONE : REFUSE_INVALID_NODE;
}

/* Devices are as many as there are: their count can be set to 0, so that nobody gets one, and
 * nothing else (as in Slurm); the file says more. What is only counted may be any number. */
static bool is_device(const struct device_list *devices, const char *kind)
{
    for (size_t i = 0; i < devices->n; i++)
        if (text_is(devices->v[i].kind, kind))
            return true;
    return text_is(kind, "gpu");
}

static bool devices_are(const struct device_list *devices, const struct gres_item *item)
{
    int64_t count = 0;
    for (size_t i = 0; i < devices->n; i++)
        count += text_is(devices->v[i].kind, item->kind) &&
                 gres_type_matches(item->type, devices->v[i].type);
    return count && item->count == count;
}

static bool item_has(const struct gres_list *list, const struct gres_item *item)
{
    int64_t count = 0;
    for (size_t i = 0; i < list->n; i++)
        if (text_is(list->item[i].kind, item->kind) &&
            gres_type_matches(item->type, list->item[i].type))
            count += list->item[i].count;
    return !item->count || item->count == count;
}

/* The kind of "gres/gpu:v100:2(S:0-1)"; empty of what a comma in parentheses parts off. A count of
 * 0, which a parsed list leaves out, has one, too. */
static struct span kind_of(struct span piece)
{
    piece = span_trim(piece);
    if (piece.len > 5 && strncasecmp(piece.data, "gres", 4) == 0 && strchr(":/", piece.data[4]))
        piece = (struct span){piece.data + 5, piece.len - 5};
    for (size_t i = 0; i < piece.len; i++)
        if (piece.data[i] == ':' || piece.data[i] == '(')
            return (struct span){piece.data, i};
    return piece.len && piece.data[piece.len - 1] == ')' ? (struct span){piece.data, 0} : piece;
}

static bool is_kind(const struct core *c, const char *kind)
{
    struct gres_list has;
    if (text_empty(kind) || text_is_nocase(kind, "none") || list_has(c->settings.gres_types, kind))
        return true;
    for (size_t i = 0; i < c->node.n; i++)
        if (c->node.v[i]->n.gres &&
            gres_parse(c->node.v[i]->n.gres, c->turn.fx->arena, &has, NULL) &&
            gres_count(&has, kind))
            return true;
    return false;
}

/* Kinds that GresTypes names or a node has, so that a slip of the pen makes no new one and takes
 * away what the node had. */
static enum refusal kinds_check(const struct core *c, const char *text, const char **detail)
{
    struct span rest = span_of(text ? text : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        struct span one = kind_of(piece);
        const char *kind = arena_strndup(c->turn.fx->arena, one.data, one.len);
        if (is_kind(c, kind))
            continue;
        *detail = arena_printf(c->turn.fx->arena,
                               "there is no kind \"%s\": GresTypes=%s, and no node has it", kind,
                               c->settings.gres_types ? c->settings.gres_types : "");
        return REFUSE_GRES;
    }
    return REFUSE_NONE;
}

static enum refusal node_gres_check(const struct core *c, const struct noderec *n, const char *text,
                                    const char **detail)
{
    struct arena *a = c->turn.fx->arena;
    struct gres_list wanted = {0}, has = {0};
    struct device_list devices = {0};
    if (!gres_parse(text ? text : "", a, &wanted, NULL) ||
        !gres_parse(n->n.gres ? n->n.gres : "", a, &has, NULL))
        return REFUSE_NONE;
    if (!devices_parse(n->n.devices ? n->n.devices : "", a, &devices, NULL))
        devices.n = 0;
    for (size_t i = 0; i < wanted.n; i++) {
        const struct gres_item *item = &wanted.item[i];
        if (!is_device(&devices, item->kind) || item_has(&has, item) || devices_are(&devices, item))
            continue;
        *detail = arena_printf(a,
                               "%s has %s: the number of its devices can be set to 0 alone; "
                               "`scontrol reconfigure` brings back what remuda.conf says",
                               n->n.name, text_empty(n->n.gres) ? "no GPUs" : n->n.gres);
        return REFUSE_GRES;
    }
    return REFUSE_NONE;
}

static enum refusal gres_check(const struct core *c, const struct hostlist *names,
                               const struct msg_update_node *m, const char **detail)
{
    enum refusal refusal = REFUSE_NONE;
    const struct node *v = m->values.n ? m->values.v : NULL;
    if (!v || !list_has(m->fields, "gres"))
        return REFUSE_NONE;
    refusal = kinds_check(c, v->gres, detail);
    for (size_t i = 0; !refusal && i < names->n; i++)
        refusal = node_gres_check(c, node_find(c, names->name[i]), v->gres, detail);
    return refusal;
}

static enum refusal names_read(const struct core *c, const char *text, struct hostlist *names,
                               const char **detail)
{
    struct err err = {0};
    if (text_is_nocase(text, "ALL")) {
        for (size_t i = 0; i < c->node.n; i++)
            if (node_shown(c->node.v[i]))
                hostlist_add(names, c->node.v[i]->n.name);
    } else if (!hostlist_parse(names, text ? text : "", &err)) {
        *detail = arena_strdup(c->turn.fx->arena, err.text);
        return REFUSE_INVALID_NODE;
    }
    return REFUSE_NONE;
}

static void note(struct core *c, const struct msg_update_node *m, size_t count)
{
    if (!text_empty(m->state))
        fx_log(c, LEVEL_INFO, "%zu nodes (%s): %s by %s%s%s", count, m->names, m->state,
               c->turn.peer->user ? c->turn.peer->user : "?", text_empty(m->reason) ? "" : ": ",
               text_empty(m->reason) ? "" : m->reason);
}

void req_update_node(struct core *c, const struct msg_update_node *m)
{
    struct hostlist names = HOSTLIST_INIT;
    enum update_word word = word_of(m->state);
    const char *detail = NULL;
    enum refusal refusal = names_read(c, m->names, &names, &detail);
    if (!refusal)
        refusal = word_check(c, m, word, &detail);
    if (!refusal)
        refusal = fields_check(c, m, &detail);
    if (!refusal)
        refusal = nodes_check(c, &names, word, &detail);
    if (!refusal)
        refusal = gres_check(c, &names, m, &detail);
    for (size_t i = 0; !refusal && i < names.n; i++) {
        struct noderec *n = node_find(c, names.name[i]);
        fields_apply(c, n, m);
        state_apply(c, n, word, m->reason);
        node_save(c, n);
        node_plan_update(c, n);
    }
    if (!refusal)
        note(c, m, names.n);
    reply_done(c, refusal, detail);
    hostlist_done(&names);
}
