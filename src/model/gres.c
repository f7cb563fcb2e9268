#include "model/gres.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"

#include <string.h>
#include <strings.h>

#define GRES_HELP "generic resources are written kind:count or kind:type:count, as in gpu:2 or gpu:v100:2"

typedef VEC(struct gres_item) item_vec;

static void item_add(item_vec *items, const struct gres_item *item)
{
    for (size_t i = 0; i < items->n; i++) {
        struct gres_item *other = &items->v[i];
        if (text_is(other->kind, item->kind) && text_is_nocase(other->type, item->type)) {
            other->count += item->count;
            return;
        }
    }
    vec_push(items, *item);
}

static bool name_ok(const char *name)
{
    return *name && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.|/+") ==
                        strlen(name);
}

static bool is_count(const char *text, int64_t *ret)
{
    return *text >= '0' && *text <= '9' && count_parse(text, ret, NULL);
}

/* "kind", "kind:count", "kind:type", "kind:type:count"; with a given kind (--gpus): "count", "type",
 * "type:count". */
static bool item_parse(char *text, const char *kind, struct gres_item *ret, struct err *ret_err)
{
    char *part[3] = {text, NULL, NULL};
    size_t n = 1;
    *ret = (struct gres_item){.kind = kind, .count = 1};
    for (char *at = text; (at = strchr(at, ':')); n++) {
        if (n == 3)
            return err_set(ret_err, ERR_INVALID, "\"%s\" has too many parts: " GRES_HELP, text);
        *at++ = '\0';
        part[n] = at;
    }
    size_t next = 0;
    if (!kind) {
        if (!name_ok(part[0]))
            return err_set(ret_err, ERR_INVALID, "\"%s\" is no kind of resource: " GRES_HELP, part[0]);
        ret->kind = part[next++];
    }
    if (next < n && !is_count(part[next], &ret->count))
        ret->type = part[next++];
    else if (next < n)
        return next + 1 == n ||
               err_set(ret_err, ERR_INVALID, "after the count %s nothing may follow: " GRES_HELP, part[next]);
    if (ret->type && !name_ok(ret->type))
        return err_set(ret_err, ERR_INVALID, "\"%s\" is no type of resource: " GRES_HELP, ret->type);
    if (next < n && !is_count(part[next++], &ret->count))
        return err_set(ret_err, ERR_INVALID, "\"%s\" is no count: " GRES_HELP, part[next - 1]);
    return next == n || err_set(ret_err, ERR_INVALID, "after the count nothing may follow: " GRES_HELP);
}

static bool list_parse(const char *text, const char *kind, struct arena *a, struct gres_list *ret,
                       struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    item_vec items = {0};
    bool ok = true;
    while (ok && text && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!kind && piece.len > 5 &&
            (strncasecmp(piece.data, "gres:", 5) == 0 || strncasecmp(piece.data, "gres/", 5) == 0))
            piece = (struct span){piece.data + 5, piece.len - 5};
        struct gres_item item;
        if (!piece.len || span_is_nocase(piece, "none"))
            continue;
        /* scontrol shows the sockets of a device in parentheses: gpu:v100:2(S:0-1) */
        const char *paren = memchr(piece.data, '(', piece.len);
        if (paren)
            piece.len = (size_t)(paren - piece.data);
        ok = item_parse(arena_strndup(a, piece.data, piece.len), kind, &item, ret_err);
        if (ok && item.count > 0)
            item_add(&items, &item);
    }
    if (ok) {
        ret->n = items.n;
        ret->item = arena_dup(a, items.v, items.n * sizeof items.v[0]);
    }
    vec_done(&items);
    return ok;
}

bool gres_parse(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err)
{
    return list_parse(text, NULL, a, ret, ret_err);
}

bool gres_parse_gpus(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err)
{
    return list_parse(text, "gpu", a, ret, ret_err);
}

void gres_format(const struct gres_list *list, struct str *out)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct gres_item *item = &list->item[i];
        str_addf(out, "%s%s", i ? "," : "", item->kind);
        if (item->type)
            str_addf(out, ":%s", item->type);
        str_addf(out, ":%lld", (long long)item->count);
    }
}

int64_t gres_count(const struct gres_list *list, const char *kind)
{
    int64_t count = 0;
    for (size_t i = 0; i < list->n; i++)
        if (text_is(list->item[i].kind, kind))
            count += list->item[i].count;
    return count;
}

bool gres_type_matches(const char *asked, const char *has)
{
    if (text_empty(asked))
        return true;
    struct span rest = span_of(asked), piece;
    while (has && span_next(&rest, '|', &piece))
        if (span_is_nocase(span_trim(piece), has))
            return true;
    return false;
}

/* ---- devices ---- */

static const char *part_or_null(struct span part, struct arena *a)
{
    return part.len ? arena_strndup(a, part.data, part.len) : NULL;
}

static bool device_parse(struct span text, struct arena *a, struct device *ret, struct err *ret_err)
{
    struct span rest = text, part[6] = {{0}}, piece;
    int64_t number;
    size_t n = 0;
    /* The uuid may hold ':' (MIG-GPU-…/1/0 has none, PCI-like ones do): it is all that is left after five
     * parts. */
    while (n < 5 && span_next(&rest, ':', &piece))
        part[n++] = piece;
    if (n == 5 && rest.data)
        part[5] = rest;
    *ret = (struct device){.kind = part_or_null(part[0], a),
                           .type = part_or_null(part[1], a),
                           .cpus = part_or_null(part[4], a),
                           .uuid = part_or_null(part[5], a)};
    const char *index = part_or_null(part[2], a), *mem = part_or_null(part[3], a);
    if (!ret->kind || !index || !text_to_i64(index, 0, INT32_MAX, &number))
        return err_set(ret_err, ERR_INVALID, "\"%.*s\" is no device: kind:type:index:memory:CPUs:uuid",
                       (int)(text.len < 80 ? text.len : 80), text.data);
    ret->index = (int32_t)number;
    return !mem || text_to_i64(mem, 0, INT64_MAX, &ret->mem_mib) ||
           err_set(ret_err, ERR_INVALID, "\"%s\" is no device memory in MiB", mem);
}

bool devices_parse(const char *text, struct arena *a, struct device_list *ret, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    VEC(struct device) devices = {0};
    bool ok = true;
    while (ok && text && span_next(&rest, ';', &piece)) {
        struct device d;
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        ok = device_parse(piece, a, &d, ret_err);
        vec_push(&devices, d);
    }
    if (ok) {
        ret->n = devices.n;
        ret->v = arena_dup(a, devices.v, devices.n * sizeof devices.v[0]);
    }
    vec_done(&devices);
    return ok;
}

void devices_format(const struct device_list *list, struct str *out)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct device *d = &list->v[i];
        str_addf(out, "%s%s:%s:%d:", i ? ";" : "", d->kind, d->type ? d->type : "", d->index);
        if (d->mem_mib)
            str_add_i64(out, d->mem_mib);
        str_addf(out, ":%s:%s", d->cpus ? d->cpus : "", d->uuid ? d->uuid : "");
    }
}
