#include "sched/books/limits/licences.h"

#include "base/alloc.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

/* The name, cut off at the colon in place, and how many of it; false if that is no number. */
static bool piece_read(char *piece, int64_t *ret_count)
{
    char *colon = strchr(piece, ':');
    *ret_count = 1;
    if (!colon)
        return true;
    *colon = '\0';
    return text_to_i64(colon + 1, 1, INT32_MAX, ret_count);
}

/* How many of it the list has now. */
static int64_t licence_add(struct licence_list *list, uint32_t lic, int64_t count)
{
    size_t at = 0;
    while (at < list->n && list->v[at].lic != lic)
        at++;
    if (at == list->n)
        list->v[list->n++] = (struct lic_use){.lic = lic};
    return list->v[at].count += count;
}

/* One piece of the text, which it cuts off at its colon. */
static bool licence_find(const struct cluster *cl, char *piece, struct arena *a,
                         struct licence_list *ret, const char **ret_wrong)
{
    int64_t count;
    if (!piece_read(piece, &count)) {
        *ret_wrong = "a licence is written name or name:count";
        return false;
    }
    ptrdiff_t lic = cluster_licence(cl, piece);
    if (lic < 0) {
        *ret_wrong = arena_printf(a, "this cluster has no licence named %.100s", piece);
        return false;
    }
    count = licence_add(ret, (uint32_t)lic, count);
    if (cl->lic.v[lic].total < count) {
        *ret_wrong = arena_printf(a, "%lld of the licence %s were asked for; there are %lld in all",
                                  (long long)count, piece, (long long)cl->lic.v[lic].total);
        return false;
    }
    return true;
}

/* As many as there are have room at most: a text may name one again and again. */
bool licences_find(const struct cluster *cl, const char *text, struct arena *a,
                   struct licence_list *ret, const char **ret_wrong)
{
    struct span rest = span_of(text ? text : ""), piece;
    size_t most = 1;
    bool ok = true;
    for (const char *at = text; at && most <= cl->lic.named.n && (at = strchr(at, ',')); at++)
        most++;
    *ret = (struct licence_list){.v = arena_alloc(a, (most + 1) * sizeof ret->v[0])};
    while (ok && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        char *name = xstrndup(piece.data, piece.len);
        ok = licence_find(cl, name, a, ret, ret_wrong);
        free(name);
    }
    return ok;
}

enum refusal sched_check_licences(const struct cluster *cl, const char *list, struct str *detail)
{
    struct arena *a = arena_new();
    struct licence_list found;
    const char *wrong;
    bool ok = licences_find(cl, list, a, &found, &wrong);
    if (!ok)
        str_add(detail, wrong);
    arena_free(a);
    return ok ? REFUSE_NONE : REFUSE_LICENSES;
}

bool cluster_licences_within(const struct cluster *cl, const char *list, const char *most)
{
    struct arena *a = arena_new();
    struct licence_list asked, had;
    const char *wrong;
    bool within = licences_find(cl, list, a, &asked, &wrong);
    (void)licences_find(cl, most, a, &had, &wrong);
    for (size_t i = 0; within && i < asked.n; i++) {
        int64_t of_it = 0;
        for (size_t k = 0; k < had.n; k++)
            of_it = had.v[k].lic == asked.v[i].lic ? had.v[k].count : of_it;
        within = asked.v[i].count <= of_it;
    }
    arena_free(a);
    return within;
}
