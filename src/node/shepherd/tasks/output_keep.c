#include "node/shepherd/tasks/output_keep.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 4096u /* however small */

struct kept_piece {
    struct msg_stream_data m; /* points into `bytes` */
    char *bytes;
};

struct output_kept {
    struct kept_piece piece[PIECES_MAX]; /* a ring */
    size_t first, n, bytes;
};

struct output_kept *output_keep_new(void)
{
    return xcalloc(1, sizeof(struct output_kept));
}

/* Up to `over` bytes of the oldest piece; all of it, if it has no more. */
static void oldest_drop(struct output_kept *k, size_t over)
{
    struct kept_piece *p = &k->piece[k->first];
    if (p->m.data.len > over) {
        p->m.data.data = (const char *)p->m.data.data + over;
        p->m.data.len -= over;
        k->bytes -= over;
        return;
    }
    k->bytes -= p->m.data.len;
    free(p->bytes);
    k->first = (k->first + 1) % PIECES_MAX;
    k->n--;
}

void output_keep_add(struct output_kept *k, const struct msg_stream_data *m)
{
    ASSERT(k->n <= PIECES_MAX && k->first < PIECES_MAX);
    size_t len = m->data.len < OUTPUT_KEPT_BYTES ? m->data.len : OUTPUT_KEPT_BYTES;
    if (k->n == PIECES_MAX)
        oldest_drop(k, SIZE_MAX);
    while (k->n > 0 && k->bytes + len > OUTPUT_KEPT_BYTES)
        oldest_drop(k, k->bytes + len - OUTPUT_KEPT_BYTES);
    struct kept_piece *p = &k->piece[(k->first + k->n++) % PIECES_MAX];
    p->bytes = len ? xmemdup((const char *)m->data.data + m->data.len - len, len) : NULL;
    p->m = *m;
    p->m.data = (struct blob){p->bytes, len};
    k->bytes += len;
}

void output_keep_send(const struct output_kept *k, struct stream *to)
{
    for (size_t i = 0; i < k->n; i++)
        stream_send(to, MSG_STREAM_DATA, &k->piece[(k->first + i) % PIECES_MAX].m);
}
