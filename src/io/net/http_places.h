/* Who has the places of the HTTP server, and who leaves his to whom (http.c alone). */
#ifndef REMUDA_IO_HTTP_PLACES_H
#define REMUDA_IO_HTTP_PLACES_H

#include "base/map.h"
#include "io/net/http_body.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* It asks, waits for its answer, takes it. */
enum http_stage { ASKS, WAITS, TAKES };

/* A connection's; all that there are stand in a map, in the order in which they came. */
struct http_place {
    bool trusted;
    uint64_t source; /* of one that is not trusted */
    enum http_stage stage;
    struct http_body *body; /* that it takes; NULL = none */
};

/* For one that comes and is not in the map yet: true, with who is to go for it in *ret (NULL =
 * there is room); false: there is none, as all that could go wait for us. */
bool http_places_find(const struct map_u64 *all, const struct http_place *comes,
                      struct http_place **ret);
/* Who is to go before `takes` gets a body, as all bodies together are too large; NULL = nobody. */
struct http_place *http_places_body(const struct map_u64 *all, const struct http_place *takes);

#endif
