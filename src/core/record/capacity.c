/* What of a node is planned with: what is configured, or what it reported where that is less. A
 * node with a broken DIMM works with what is left, and says so. Nodes that share a machine
 * (is_virtual) have what is configured. What a node does not report at all (a kind of gres its
 * daemon does not look for) is taken as configured.
 *
 * GPUs that are configured and not there are planned with as broken ones: who wants them waits and
 * is told why, and gets them when they are there. So a typo, a driver that is loaded late and a GPU
 * that fell off its bus are never given to anybody, and refuse nobody. */
#include "core/record/record.h"
#include "model/env/device_out.h"
#include "model/grammar/gres.h"

#include <string.h>

#define GPU "gpu"

static void complain(struct str *text, const struct noderec *n)
{
    str_addf(text, "%s%s has ", text->len ? "; " : "", n->n.name);
}

static void cpus_take(struct noderec *n, struct str *text)
{
    n->n.cpus = n->conf.cpus;
    if (n->n.is_virtual || !n->n.real_cpus || n->n.real_cpus >= n->conf.cpus)
        return;
    n->n.cpus = n->n.real_cpus;
    complain(text, n);
    str_addf(text, "%d CPUs, configured are %d", n->n.real_cpus, n->conf.cpus);
}

static void memory_take(struct noderec *n, struct str *text)
{
    bool known = !n->n.is_virtual && n->n.real_memory_mib;
    n->n.memory_mib = n->conf.memory_mib ? n->conf.memory_mib : n->n.real_memory_mib;
    if (!known || n->n.real_memory_mib >= n->conf.memory_mib)
        return;
    n->n.memory_mib = n->n.real_memory_mib;
    complain(text, n);
    str_addf(text, "%lld MiB of memory, configured are %lld", (long long)n->n.real_memory_mib,
             (long long)n->conf.memory_mib);
}

static int64_t reported(const struct gres_list *real, const struct gres_item *conf)
{
    int64_t n = 0;
    for (size_t i = 0; i < real->n; i++)
        if (text_is(real->item[i].kind, conf->kind) &&
            gres_type_matches(conf->type, real->item[i].type))
            n += real->item[i].count;
    return n;
}

/* It says of GPUs that it looked for them and has none that can be used. */
static bool looked_for(const struct noderec *n, const char *kind)
{
    return text_is(kind, GPU) &&
           (!text_empty(n->n.device_trouble) || !text_empty(n->n.device_search));
}

static void item_take(const struct noderec *n, const struct gres_list *real, struct gres_item *conf,
                      struct str *text)
{
    int64_t has = reported(real, conf);
    if ((!gres_count(real, conf->kind) && !looked_for(n, conf->kind)) || has >= conf->count)
        return;
    complain(text, n);
    str_addf(text, "%lld %s%s%s, configured are %lld", (long long)has, conf->kind,
             conf->type ? ":" : "", conf->type ? conf->type : "", (long long)conf->count);
    if (!text_is(conf->kind, GPU))
        conf->count = has;
}

static void gres_take(struct core *c, struct noderec *n, struct str *text)
{
    struct arena *a = arena_new();
    struct gres_list conf = {0}, real = {0};
    struct str left = STR_INIT;
    const char *configured = n->conf.gres ? n->conf.gres : n->n.real_gres;
    size_t before = text->len;
    bool told = n->n.real_gres || looked_for(n, GPU);
    if (n->conf.gres && told && !n->n.is_virtual && gres_parse(n->conf.gres, a, &conf, NULL) &&
        gres_parse(n->n.real_gres ? n->n.real_gres : "", a, &real, NULL))
        for (size_t i = 0; i < conf.n; i++)
            item_take(n, &real, &conf.item[i], text);
    if (text->len > before) {
        gres_format(&conf, &left);
        configured = str_text(&left);
    }
    text_set(c, &n->n.gres, configured);
    str_done(&left);
    arena_free(a);
}

void node_capacity(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    struct str text = STR_INIT;
    int32_t cpus = n->n.cpus;
    int64_t memory_mib = n->n.memory_mib;
    const char *gres = n->n.gres; /* interned */
    cpus_take(n, &text);
    memory_take(n, &text);
    gres_take(c, n, &text);
    c->accounts.capacity_changed |=
        cpus != n->n.cpus || memory_mib != n->n.memory_mib || gres != n->n.gres;
    if (text.len)
        str_add(&text, ": it works with what it has");
    if (n->rival)
        str_addf(&text,
                 "%stwo daemons say that they are %s: the one of pid %lld is heard, the one of pid "
                 "%lld waits until that one is gone",
                 text.len ? "; " : "", n->n.name, (long long)n->pid, (long long)n->rival_pid);
    if (text.len && !text_is(n->n.complaint, str_text(&text)))
        node_log(c, n, LEVEL_WARNING, "%s", str_text(&text));
    text_set(c, &n->n.complaint, str_text(&text));
    str_done(&text);
}

/* ---- GPUs that are not there ---- */

static bool is_number_of(const struct device_list *list, int32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == index && text_is(list->v[i].kind, GPU))
            return true;
    return false;
}

/* One more, with a number that no other has, and why nobody may be given it. */
static void missing_add(const struct noderec *n, const struct gres_item *conf,
                        struct device_list *list, struct str *out)
{
    struct str why = STR_INIT;
    struct device_out one = {.kind = GPU, .failed = true, .since_us = n->n.daemon_start_us};
    while (is_number_of(list, one.index))
        one.index++;
    const char *found = n->n.device_trouble ? n->n.device_trouble : n->n.device_search;
    str_addf(&why, "%s%s%s is configured and not there%s%s", GPU, conf->type ? ":" : "",
             conf->type ? conf->type : "", text_empty(found) ? "" : ": ", found ? found : "");
    one.why = str_text(&why);
    device_out_format(&one, out);
    str_done(&why);
    list->v[list->n++] = (struct device){.kind = GPU, .type = conf->type, .index = one.index};
}

void node_missing_plan(const struct noderec *n, struct arena *a, struct node *seen)
{
    struct gres_list conf = {0}, real = {0};
    struct device_list list = {0};
    struct str devices = STR_INIT, out = STR_INIT;
    if (text_empty(n->n.complaint) || !n->conf.gres || n->n.is_virtual ||
        !gres_parse(n->conf.gres, a, &conf, NULL) ||
        !gres_parse(n->n.real_gres ? n->n.real_gres : "", a, &real, NULL) ||
        (!gres_count(&real, GPU) && !looked_for(n, GPU)))
        return;
    if (seen->devices)
        devices_parse(seen->devices, a, &list, NULL);
    struct device *all = arena_alloc(a, (list.n + LIMIT_DEVICES_PER_NODE) * sizeof *all);
    if (list.n > 0)
        memcpy(all, list.v, list.n * sizeof *all);
    list.v = all;
    str_add(&out, seen->devices_out ? seen->devices_out : "");
    for (size_t i = 0, added = 0; i < conf.n; i++)
        for (int64_t left = conf.item[i].count - reported(&real, &conf.item[i]);
             text_is(conf.item[i].kind, GPU) && left > 0 && added < LIMIT_DEVICES_PER_NODE;
             left--, added++)
            missing_add(n, &conf.item[i], &list, &out);
    devices_format(&list, &devices);
    seen->devices = arena_strdup(a, str_text(&devices));
    seen->devices_out = out.len ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&devices);
    str_done(&out);
}
