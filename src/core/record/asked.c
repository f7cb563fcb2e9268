/* Lists of a request. They may have sixteen thousand words or all nodes many times, and are
 * compared with each job there is: so they are read once. */
#include "core/record/asked.h"

#include "base/alloc.h"
#include "core/record/record.h"

#include <stdlib.h>

#define HOSTS_A_LOOK 32   /* of a job, compared with those asked for */
#define NAMES_BEYOND 4096 /* names in a list, beyond one for each node: some may come twice */

static void *const in = (void *)1;

struct asked_words asked_words_read(const char *list)
{
    struct asked_words w = {list ? map_str_new() : NULL};
    struct span rest = span_of(list ? list : ""), piece;
    struct str word = STR_INIT;
    while (list && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        str_clear(&word);
        str_addn(&word, piece.data, piece.len);
        map_str_put(w.of, str_text(&word), in);
    }
    str_done(&word);
    return w;
}

struct asked_words asked_words_one(const char *word)
{
    struct asked_words w = {word ? map_str_new() : NULL};
    if (word)
        map_str_put(w.of, word, in);
    return w;
}

bool asked_words_have(const struct asked_words *w, const char *word)
{
    return !w->of || map_str_get(w->of, word ? word : "");
}

void asked_words_done(struct asked_words *w)
{
    map_str_free(w->of);
    w->of = NULL;
}

struct map_u64 *asked_uids_read(const char *list)
{
    struct span rest = span_of(list ? list : ""), piece;
    struct map_u64 *uids = list ? map_u64_new() : NULL;
    struct str word = STR_INIT;
    while (list && span_next(&rest, ',', &piece)) {
        uint64_t uid;
        str_clear(&word);
        str_addn(&word, piece.data, piece.len);
        if (text_to_u64(str_text(&word), UINT32_MAX, &uid))
            map_u64_put(uids, uid, in);
    }
    str_done(&word);
    return uids;
}

bool names_fit(const struct core *c, const char *list, struct err *ret_err)
{
    size_t most = c->node.n + NAMES_BEYOND;
    if (!list || hostlist_count(list, most) <= most)
        return true;
    return err_set(ret_err, ERR_LIMIT,
                   "more than %zu names of nodes are listed, and the cluster has %zu nodes: name "
                   "each once",
                   most, c->node.n);
}

bool asked_nodes_read(const struct core *c, const char *list, struct asked_words *ret,
                      struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    *ret = (struct asked_words){0};
    if (!list)
        return true;
    if (!names_fit(c, list, ret_err) || !hostlist_parse(&names, list, ret_err))
        return false;
    ret->of = map_str_new();
    for (size_t i = 0; i < names.n; i++)
        map_str_put(ret->of, names.name[i], in);
    hostlist_done(&names);
    return true;
}

bool asked_nodes_fit(const struct asked_words *w, const struct jobrec *r, size_t *looks)
{
    struct hostlist names = HOSTLIST_INIT;
    bool found = !w->of;
    if (!found && r->j.nodes && hostlist_parse(&names, r->j.nodes, NULL)) {
        *looks += names.n / HOSTS_A_LOOK;
        for (size_t i = 0; i < names.n && !found; i++)
            found = map_str_get(w->of, names.name[i]);
    }
    hostlist_done(&names);
    return found;
}
