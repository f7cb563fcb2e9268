/* What a node says of its devices is planned with, for as long as it stands: each is looked at
 * whenever a job starts or ends there, each kind and type is counted on all nodes. So there is an
 * end to both. */
#include "core/node/node.h"
#include "model/grammar/gres.h"
#include "model/limits.h"

#include <string.h>

/* Kinds with their types; the texts are somebody else's. */
struct types {
    struct {
        const char *kind, *type;
    } v[LIMIT_NODE_TYPES];
    size_t n;
};

/* False: there is no room for another. */
static bool type_add(struct types *all, const char *kind, const char *type)
{
    for (size_t i = 0; i < all->n; i++)
        if (text_is(all->v[i].kind, kind) && text_is(all->v[i].type, type))
            return true;
    if (all->n == LIMIT_NODE_TYPES)
        return false;
    all->v[all->n].kind = kind;
    all->v[all->n++].type = type;
    return true;
}

bool node_says_too_many(const char *text)
{
    size_t n = 0;
    for (const char *at = text; at && n <= LIMIT_DEVICES_PER_NODE && (at = strchr(at, ';')); at++)
        n++;
    return n > LIMIT_DEVICES_PER_NODE; /* the last may end with one */
}

/* As settings have it, so that all who look for a kind find it; NULL if there is none. */
static const char *gres_folded(const struct gres_list *gres, struct arena *a)
{
    struct str text = STR_INIT;
    gres_format(gres, &text);
    const char *folded = gres->n ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return folded;
}

/* Of a daemon that has a kind or type that nobody can ask for (Type="Tesla V100" of gres.conf): its
 * devices, without such types. */
static struct gres_list gres_of_devices(const struct device_list *devices, struct arena *a)
{
    struct gres_list list = {.item = arena_alloc(a, (devices->n + 1) * sizeof *list.item)};
    for (size_t i = 0; i < devices->n; i++) {
        const struct device *d = &devices->v[i];
        const char *type = d->type && gres_can_be_asked(d->kind, d->type) ? d->type : NULL;
        size_t k = 0;
        if (!gres_can_be_asked(d->kind, NULL))
            continue;
        while (k < list.n &&
               !(text_is(list.item[k].kind, d->kind) && text_is(list.item[k].type, type)))
            k++;
        if (k == list.n)
            list.item[list.n++] = (struct gres_item){d->kind, type, 0};
        list.item[k].count++;
    }
    return list;
}

/* NULL: all of it is taken, and *ret_gres is what real_gres says. */
static const char *fault_of(const struct node *said, struct arena *a, const char **ret_gres)
{
    struct types all = {0};
    struct gres_list gres = {0};
    struct device_list devices = {0};
    struct err err = {0};
    bool fits = true;
    if (node_says_too_many(said->devices) || node_says_too_many(said->devices_out) ||
        node_says_too_many(said->device_health))
        return arena_printf(a, "it says that it has more than %u devices: none is used",
                            LIMIT_DEVICES_PER_NODE);
    if (!devices_parse(said->devices, a, &devices, &err))
        return arena_printf(a, "what it says of its devices cannot be read (%s): none is used",
                            err.text);
    for (size_t i = 0; fits && i < devices.n; i++)
        fits = type_add(&all, devices.v[i].kind, devices.v[i].type);
    if (fits && !gres_parse_node(said->real_gres, a, &gres, NULL))
        gres = gres_of_devices(&devices, a);
    *ret_gres = gres_folded(&gres, a);
    for (size_t i = 0; fits && i < gres.n; i++)
        fits = type_add(&all, gres.item[i].kind, gres.item[i].type);
    return fits
               ? NULL
               : arena_printf(
                     a, "it says that it has devices of more than %u kinds and types: none is used",
                     LIMIT_NODE_TYPES);
}

struct node node_said(struct core *c, struct noderec *n, const struct node *said)
{
    struct node taken = *said;
    struct arena *a = c->turn.fx->arena;
    const char *fault = fault_of(said, a, &taken.real_gres);
    const char **sentence[] = {
        &taken.arch,          &taken.os,  &taken.version, &taken.isolation, &taken.device_trouble,
        &taken.device_search, &taken.life};
    for (size_t i = 0; i < ARRAY_LEN(sentence); i++)
        *sentence[i] = text_head(a, *sentence[i], LIMIT_NODE_SENTENCE_BYTES);
    if (!fault)
        return taken;
    if (!text_is(n->n.device_trouble, fault))
        node_log(c, n, LEVEL_ERROR, "%s: %s", n->n.name, fault);
    taken.device_trouble = fault;
    taken.real_gres = taken.devices = taken.devices_out = taken.device_health = NULL;
    return taken;
}
