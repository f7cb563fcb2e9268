#include "io/net/http_body.h"

#include "base/alloc.h"

#include <stdlib.h>

struct http_body *http_body_new(struct str *piece, size_t n)
{
    struct http_body *b = xcalloc(1, sizeof *b + n * sizeof b->piece[0]);
    b->refs = 1;
    b->n = n;
    for (size_t i = 0; i < n; i++) {
        b->piece[i] = piece[i];
        b->bytes += piece[i].len;
        piece[i] = STR_INIT;
    }
    return b;
}

struct http_body *http_body_of(const char *text)
{
    struct str one = STR_INIT;
    str_add(&one, text);
    return http_body_new(&one, 1);
}

void http_body_unref(struct http_body *b)
{
    if (!b || --b->refs)
        return;
    for (size_t i = 0; i < b->n; i++)
        str_done(&b->piece[i]);
    free(b);
}

size_t http_body_bytes(const struct http_body *b)
{
    return b->bytes;
}
