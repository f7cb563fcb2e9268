#include "io/net/http_places.h"

#include "io/net/http.h"

#define BODIES_MAX (256u << 20) /* of all answers that are being taken */

static bool same_source(const struct http_place *x, const struct http_place *y)
{
    return x->trusted == y->trusted && (x->trusted || x->source == y->source);
}

/* Of its source; `bodies`: those alone that take one. */
static size_t source_count(const struct map_u64 *all, const struct http_place *of, bool bodies)
{
    struct map_walk w = {0};
    size_t n = 0;
    while (map_u64_next(all, &w)) {
        const struct http_place *x = w.value;
        n += same_source(x, of) && (x->body || !bodies);
    }
    return n;
}

/* Of those that do not wait for us, the first of the source with the most; a trusted one where
 * there is no other and `of` is trusted, too. */
static struct http_place *who_goes(const struct map_u64 *all, const struct http_place *of,
                                   bool bodies)
{
    struct map_walk w = {0};
    struct http_place *found = NULL;
    size_t most = 0;
    while (map_u64_next(all, &w)) {
        struct http_place *x = w.value;
        if (x->stage == WAITS || (bodies && !x->body) || (x->trusted && !of->trusted))
            continue;
        /* Of two with as many it is the one that wants one more. */
        size_t n = x->trusted ? 0 : 2 * source_count(all, x, bodies) + same_source(x, of);
        if (found && n <= most)
            continue;
        found = x;
        most = n;
    }
    return found;
}

static struct http_place *own_first(const struct map_u64 *all, const struct http_place *of)
{
    struct map_walk w = {0};
    while (map_u64_next(all, &w)) {
        struct http_place *x = w.value;
        if (same_source(x, of) && x->stage != WAITS)
            return x;
    }
    return NULL;
}

bool http_places_find(const struct map_u64 *all, const struct http_place *comes,
                      struct http_place **ret)
{
    bool own = !comes->trusted && source_count(all, comes, false) >= HTTP_SOURCE_MAX;
    *ret = NULL;
    if (!own && map_u64_count(all) < HTTP_CONNECTIONS_MAX)
        return true;
    *ret = own ? own_first(all, comes) : who_goes(all, comes, false);
    return *ret != NULL;
}

static size_t bodies_bytes(const struct map_u64 *all)
{
    struct map_walk w = {0};
    const struct http_body *seen[HTTP_CONNECTIONS_MAX];
    size_t sum = 0, n = 0, i;
    while (map_u64_next(all, &w) && n < HTTP_CONNECTIONS_MAX) {
        const struct http_body *body = ((const struct http_place *)w.value)->body;
        for (i = 0; body && i < n && seen[i] != body; i++) {
        }
        if (!body || i < n)
            continue;
        seen[n++] = body;
        sum += body->bytes;
    }
    return sum;
}

struct http_place *http_places_body(const struct map_u64 *all, const struct http_place *takes)
{
    return bodies_bytes(all) > BODIES_MAX ? who_goes(all, takes, true) : NULL;
}
