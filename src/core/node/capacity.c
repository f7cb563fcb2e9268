/* What of a node is planned with: what is configured, or what it reported where that is less. A node with a broken DIMM or a lost GPU works with what is left, and says so. Nodes
 * that share a machine (is_virtual) have what is configured. What a node does not report at all (a kind of gres its daemon cannot see) is taken as configured. */
#include "core/inside.h"
#include "model/gres.h"

#include <string.h>

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
        if (text_is(real->item[i].kind, conf->kind) && gres_type_matches(conf->type, real->item[i].type))
            n += real->item[i].count;
    return n;
}

static void item_take(const struct noderec *n, const struct gres_list *real, struct gres_item *conf,
                      struct str *text)
{
    int64_t has = reported(real, conf);
    if (!gres_count(real, conf->kind) || has >= conf->count)
        return;
    complain(text, n);
    str_addf(text, "%lld %s%s%s, configured are %lld", (long long)has, conf->kind, conf->type ? ":" : "",
             conf->type ? conf->type : "", (long long)conf->count);
    conf->count = has;
}

static void gres_take(struct core *c, struct noderec *n, struct str *text)
{
    struct arena *a = arena_new();
    struct gres_list conf = {0}, real = {0};
    struct str left = STR_INIT;
    const char *configured = n->conf.gres ? n->conf.gres : n->n.real_gres;
    size_t before = text->len;
    if (n->conf.gres && n->n.real_gres && !n->n.is_virtual && gres_parse(n->conf.gres, a, &conf, NULL) &&
        gres_parse(n->n.real_gres, a, &real, NULL))
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
    struct str text = STR_INIT;
    cpus_take(n, &text);
    memory_take(n, &text);
    gres_take(c, n, &text);
    if (text.len)
        str_add(&text, ": it works with what it has");
    if (text.len && !text_is(n->n.complaint, str_text(&text)))
        fx_log(c, LEVEL_WARNING, "%s", str_text(&text));
    text_set(c, &n->n.complaint, str_text(&text));
    str_done(&text);
}
