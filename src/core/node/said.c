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

/* NULL: all of it is taken. */
static const char *fault_of(const struct node *said, struct arena *a)
{
    struct types all = {0};
    struct gres_list gres = {0};
    struct device_list devices = {0};
    bool fits = true;
    if (node_says_too_many(said->devices) || node_says_too_many(said->devices_out) ||
        node_says_too_many(said->device_health))
        return arena_printf(a, "it says that it has more than %u devices: none is used",
                            LIMIT_DEVICES_PER_NODE);
    if (said->real_gres)
        (void)gres_parse(said->real_gres, a, &gres, NULL);
    if (said->devices)
        (void)devices_parse(said->devices, a, &devices, NULL);
    for (size_t i = 0; fits && i < gres.n; i++)
        fits = type_add(&all, gres.item[i].kind, gres.item[i].type);
    for (size_t i = 0; fits && i < devices.n; i++)
        fits = type_add(&all, devices.v[i].kind, devices.v[i].type);
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
    const char *fault = fault_of(said, a), **sentence[] = {&taken.arch,
                                                           &taken.os,
                                                           &taken.version,
                                                           &taken.isolation,
                                                           &taken.device_trouble,
                                                           &taken.device_search,
                                                           &taken.life};
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
