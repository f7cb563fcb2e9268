/* What qmgr sets while the cluster runs, and what sets the rest. */
#include "base/alloc.h"
#include "cli/pbs/qmgr.h"
#include "cli/pbs/queue_state.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME QMGR_NAME

/* What sets it here. `%s` is the queue. */
static const struct {
    enum qmgr_object object;
    const char *name, *instead;
} elsewhere[] = {
    {QUEUE, "resources_max.walltime", "scontrol update PartitionName=%s MaxTime=…"},
    {QUEUE, "resources_default.walltime", "scontrol update PartitionName=%s DefaultTime=…"},
    {QUEUE, "resources_max.nodect", "scontrol update PartitionName=%s MaxNodes=…"},
    {QUEUE, "Priority", "scontrol update PartitionName=%s PriorityTier=…"},
    {QUEUE, "acl_groups", "scontrol update PartitionName=%s AllowGroups=…"},
    {QUEUE, NULL, "scontrol update PartitionName=%s …; limits of users: sacctmgr modify qos"},
    {NODE, NULL, "scontrol update NodeName=%s …"},
    {SERVER, NULL, "remuda.conf and scontrol reconfigure; scontrol show config"},
};

struct qmgr_setting {
    const char *name, *value;
    char op; /* '=', '+', '-' */
};

/* One "name = value" off *rest; values that have a comma stand in quotes. */
static bool setting_next(struct qmgr *q, struct span *rest, struct qmgr_setting *ret)
{
    *rest = span_trim(*rest);
    const char *s = rest->data, *end = s + rest->len, *at = s;
    while (at < end && !strchr("=+- \t", *at))
        at++;
    ret->name = arena_strndup(q->a, s, (size_t)(at - s));
    while (at < end && isspace((unsigned char)*at))
        at++;
    ret->op = at < end ? *at : 0;
    at += at < end && (*at == '+' || *at == '-');
    if (at >= end || *at != '=' || !*ret->name)
        return false;
    struct span value = span_trim((struct span){at + 1, (size_t)(end - at - 1)});
    char quote = value.len && strchr("\"'", value.data[0]) ? value.data[0] : 0;
    const char *from = value.data + (quote ? 1 : 0), *stop = from;
    end = value.data + value.len;
    while (stop < end && (quote ? *stop != quote : *stop != ','))
        stop++;
    if (quote && stop == end)
        return false;
    struct span text = {from, (size_t)(stop - from)};
    text = quote ? text : span_trim(text);
    ret->value = arena_strndup(q->a, text.data, text.len);
    while (stop < end && *stop != ',')
        stop++;
    stop += stop < end;
    *rest = (struct span){stop, (size_t)(end - stop)};
    return true;
}

static bool truth_parse(const char *text, enum pbs_switch *ret)
{
    static const char *const yes[] = {"true", "t", "y", "yes", "1"}, *const no[] = {"false", "f",
                                                                                    "n", "no", "0"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (!text_is_nocase(text, yes[i]) && !text_is_nocase(text, no[i]))
            continue;
        *ret = text_is_nocase(text, yes[i]) ? PBS_ON : PBS_OFF;
        return true;
    }
    return false;
}

/* A change that is not one of ours: what does it. */
static int set_elsewhere(const struct qmgr *q, enum qmgr_object object, const char *name,
                         const struct qmgr_setting *s)
{
    for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++) {
        if (elsewhere[i].object != object ||
            (elsewhere[i].name && !text_is(elsewhere[i].name, s->name)))
            continue;
        struct str instead = STR_INIT;
        const char *hole = strstr(elsewhere[i].instead, "%s");
        if (hole)
            str_addf(&instead, "%.*s%s%s", (int)(hole - elsewhere[i].instead), elsewhere[i].instead,
                     name, hole + 2);
        else
            str_add(&instead, elsewhere[i].instead);
        int status = qmgr_refused(q, s->name, str_text(&instead));
        str_done(&instead);
        return status;
    }
    return QMGR_FAILED;
}

static int queue_change(struct qmgr *q, const char *name, const struct qmgr_setting *s)
{
    enum pbs_switch to;
    bool enabled = text_is(s->name, "enabled");
    if (!enabled && !text_is(s->name, "started"))
        return set_elsewhere(q, QUEUE, name, s);
    if (!truth_parse(s->value, &to))
        return qmgr_parse_failed(q, span_of(s->value), "value of it", "True, False");
    if (q->check)
        return 0;
    return pbs_queue_set(NAME, q->client, &q->seen, name, enabled ? to : PBS_AS_IT_IS,
                         enabled ? PBS_AS_IT_IS : to)
               ? QMGR_FAILED
               : 0;
}

static int node_change(struct qmgr *q, const char *name, const struct qmgr_setting *s)
{
    const struct node *n = pbs_node_named(&q->nodes, name);
    struct node changed = {.name = name, .comment = s->value};
    struct msg_update_node m = {.names = name};
    struct message answer;
    struct err e = {0};
    if (text_is(s->name, "comment")) {
        m.fields = "comment";
        m.values.v = &changed;
        m.values.n = 1;
        m.reason = n && n->drain ? s->value : NULL; /* pbsnodes -l has it */
    } else if (text_is(s->name, "state") && text_is_nocase(s->value, "offline")) {
        m.state = s->op == '-' ? "RESUME" : "DRAIN";
        m.reason = s->op == '-' ? NULL : "offline by " NAME;
    } else if (text_is(s->name, "state") && text_is_nocase(s->value, "free")) {
        m.state = "RESUME";
    } else if (text_is(s->name, "state")) {
        return qmgr_parse_failed(q, span_of(s->value), "state that can be set", "free, offline");
    } else {
        return set_elsewhere(q, NODE, name, s);
    }
    if (q->check)
        return 0;
    if (!client_call(q->client, MSG_UPDATE_NODE, &m, 0, q->a, &answer, &e)) {
        fprintf(stderr, NAME ": %s\n", e.text);
        return QMGR_NO_SERVER;
    }
    return pbs_change_said(NAME, name, answer.body) ? QMGR_FAILED : 0;
}

static int thing_set(struct qmgr *q, enum qmgr_object object, const char *name,
                     struct span settings)
{
    struct qmgr_setting s;
    int status = 0;
    name = arena_strdup(q->a, name); /* looking again takes away what it was read from */
    while (!status && settings.len) {
        if (!setting_next(q, &settings, &s))
            return qmgr_parse_failed(q, settings, "change", "name = value, parted by commas");
        status = object == SERVER  ? set_elsewhere(q, SERVER, "", &s)
                 : object == QUEUE ? queue_change(q, name, &s)
                                   : node_change(q, name, &s);
        if (!status && settings.len) /* the next one is of what this has made */
            status = qmgr_look(q);
    }
    return status;
}

int qmgr_set(struct qmgr *q, enum qmgr_object object, struct span names, struct span settings)
{
    int status = qmgr_unknown_said(q, object, names);
    if (!settings.len)
        return qmgr_parse_failed(q, settings, "change", "name = value, parted by commas");
    if (status || object == SERVER)
        return status ? status : thing_set(q, object, "", settings);
    for (size_t i = 0; !status && object == QUEUE && i < q->seen.queue.n; i++)
        if (qmgr_is_named(q, names, q->seen.queue.v[i]->name))
            status = thing_set(q, object, q->seen.queue.v[i]->name, settings);
    for (size_t i = 0; !status && object == NODE && i < q->nodes.node.n; i++)
        if (qmgr_is_named(q, names, q->nodes.node.v[i]->name))
            status = thing_set(q, object, q->nodes.node.v[i]->name, settings);
    return status;
}
