#include "model/grammar/gres.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GRES_HELP                                                                                  \
    "generic resources are written kind:count or kind:type:count, as in gpu:2 or gpu:v100:2"

#define ITEMS_MOST  256 /* each is compared with each */
#define PIECES_MOST 256 /* with those that name one again: the list is read many times */

typedef VEC(struct gres_item) item_vec;

/* What a kind and type named again does to the count before. */
enum repeated { REPEATED_ADDS, REPEATED_REPLACES };

static bool item_add(item_vec *items, const struct gres_item *item, enum repeated repeated,
                     struct err *ret_err)
{
    for (size_t i = 0; i < items->n; i++) {
        struct gres_item *other = &items->v[i];
        if (!text_is(other->kind, item->kind) || !text_is_nocase(other->type, item->type))
            continue;
        if (repeated == REPEATED_REPLACES) {
            other->count = item->count;
            return true;
        }
        other->count += item->count;
        return true;
    }
    if (items->n == ITEMS_MOST)
        return err_set(ret_err, ERR_LIMIT, "a list names at most %d kinds and types of resources",
                       ITEMS_MOST);
    vec_push(items, *item);
    return true;
}

static bool letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

#define KIND_MARKS  "_-"
#define TYPE_MARKS  "_-.+/"
#define ASKED_MARKS TYPE_MARKS "|" /* types that are asked for may be alternatives: "a100|a40" */

/* Letters, digits and, but not first, the marks. */
static bool name_ok(const char *name, const char *marks)
{
    size_t len = strlen(name), i = 0;
    while (i < len && (letter_or_digit(name[i]) || (i && strchr(marks, name[i]))))
        i++;
    return len && i == len;
}

/* "gres" is a prefix of kinds (prefix_drop), so no kind can be called so. */
static bool kind_ok(const char *name)
{
    return name_ok(name, KIND_MARKS) && !text_is_nocase(name, "gres");
}

bool gres_can_be_asked(const char *kind, const char *type)
{
    return kind_ok(kind) && (!type || name_ok(type, TYPE_MARKS));
}

/* The parts of "kind:type:count" between colons; more than `max` are an error. */
static bool parts_split(char *text, size_t max, char **ret_part, size_t *ret_n, struct err *ret_err)
{
    ASSERT(max > 0);
    *ret_n = 0;
    for (char *at = text; at;) {
        if (*ret_n == max)
            return err_set(ret_err, ERR_INVALID, "\"%.60s\" has too many parts: " GRES_HELP, text);
        char *colon = strchr(at, ':');
        ret_part[(*ret_n)++] = at;
        if (colon)
            *colon++ = '\0';
        at = colon;
    }
    return true;
}

/* "kind", "kind:count", "kind:type", "kind:type:count"; with a given kind (--gpus): "count",
 * "type", "type:count". A type may look like a count ("gpu:1g:2"): before a count it is a type. */
static bool item_parse(char *text, const char *kind, struct gres_item *ret, struct err *ret_err)
{
    char *part[3];
    size_t n, at = kind ? 0 : 1;
    *ret = (struct gres_item){.kind = kind, .count = 1};
    if (!parts_split(text, at + 2, part, &n, ret_err))
        return false;
    if (!kind && !kind_ok(part[0]))
        return err_set(ret_err, ERR_INVALID, "\"%.60s\" is no kind of resource: " GRES_HELP,
                       part[0]);
    if (!kind)
        ret->kind = part[0];
    if (n == at + 1 && count_parse(part[at], &ret->count, NULL))
        return true;
    if (n > at)
        ret->type = part[at];
    if (ret->type && !name_ok(ret->type, ASKED_MARKS))
        return err_set(ret_err, ERR_INVALID,
                       "\"%.60s\" is no type or count of a resource: " GRES_HELP, ret->type);
    return n < at + 2 || count_parse(part[at + 1], &ret->count, ret_err);
}

/* scontrol shows more in parentheses, "gpu:v100:2(S:0-1)", "gpu:2(IDX:0,2)": commas in there
 * separate nothing, and all of it is left out. */
static bool piece_next(struct span *rest, struct span *ret)
{
    if (!rest->data)
        return false;
    size_t depth = 0, end = 0, len = rest->len;
    for (; end < rest->len && (depth || rest->data[end] != ','); end++) {
        if (rest->data[end] == '(') {
            len = len < end ? len : end;
            depth++;
        } else if (rest->data[end] == ')' && depth) {
            depth--;
        }
    }
    *ret = span_trim((struct span){rest->data, len < end ? len : end});
    *rest = end < rest->len ? (struct span){rest->data + end + 1, rest->len - end - 1}
                            : (struct span){0};
    return true;
}

/* "gres:gpu:2" and "gres/gpu:2" are accepted for "gpu:2". */
static struct span prefix_drop(struct span piece)
{
    bool has = piece.len > 5 && strncasecmp(piece.data, "gres", 4) == 0 &&
               (piece.data[4] == ':' || piece.data[4] == '/');
    return has ? (struct span){piece.data + 5, piece.len - 5} : piece;
}

static bool sum_add(int64_t *sum, const struct gres_item *item, struct err *ret_err)
{
    if (item->count > GRES_COUNT_MAX - *sum)
        return err_set(ret_err, ERR_LIMIT,
                       "\"%.60s\": the counts of a list of resources add up to 1T (2^40) at most",
                       item->kind);
    *sum += item->count;
    return true;
}

static bool list_parse(const char *text, const char *kind, enum repeated repeated, struct arena *a,
                       struct gres_list *ret, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    item_vec items = {0};
    size_t n = 0;
    int64_t sum = 0; /* of the counts as they are written, one named again, too */
    while (n <= PIECES_MOST && piece_next(&rest, &piece))
        n++;
    bool ok = n <= PIECES_MOST ||
              err_set(ret_err, ERR_LIMIT, "a list of resources has at most %d items", PIECES_MOST);
    rest = span_of(text);
    while (ok && piece_next(&rest, &piece)) {
        struct gres_item item;
        if (!kind)
            piece = prefix_drop(piece);
        if (!piece.len || span_is_nocase(piece, "none"))
            continue;
        ok = item_parse(arena_strndup(a, piece.data, piece.len), kind, &item, ret_err) &&
             sum_add(&sum, &item, ret_err) &&
             (!item.count || item_add(&items, &item, repeated, ret_err));
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
    return list_parse(text, NULL, REPEATED_ADDS, a, ret, ret_err);
}

bool gres_parse_node(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err)
{
    if (!gres_parse(text, a, ret, ret_err))
        return false;
    for (size_t i = 0; i < ret->n; i++)
        if (!gres_can_be_asked(ret->item[i].kind, ret->item[i].type))
            return err_set(ret_err, ERR_INVALID,
                           "\"%.60s\" is no type of a node's: alternatives are what jobs ask for",
                           ret->item[i].type);
    return true;
}

bool gres_parse_gpus(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err)
{
    return list_parse(text, "gpu", REPEATED_ADDS, a, ret, ret_err);
}

static void gpus_format(const struct gres_list *list, struct str *out)
{
    for (size_t i = 0; i < list->n; i++)
        str_addf(out, "%s%s%s%lld", i ? "," : "", list->item[i].type ? list->item[i].type : "",
                 list->item[i].type ? ":" : "", (long long)list->item[i].count);
}

bool gres_last_counts(const char **text, const char *kind, struct arena *a, struct err *ret_err)
{
    struct gres_list sum, last;
    struct str out = STR_INIT;
    bool differ = false, mixed = false;
    if (!list_parse(*text, kind, REPEATED_ADDS, a, &sum, ret_err) ||
        !list_parse(*text, kind, REPEATED_REPLACES, a, &last, ret_err))
        return false;
    for (size_t i = 0; i < sum.n; i++) {
        differ |= sum.item[i].count != last.item[i].count;
        for (size_t k = 0; k < i; k++)
            mixed |= text_is(sum.item[k].kind, sum.item[i].kind) &&
                     !sum.item[k].type != !sum.item[i].type;
    }
    if (mixed) {
        err_set(ret_err, ERR_INVALID,
                "of one kind either each has a type or none has: gpu:3, or gpu:v100:1,gpu:p100:2");
        return err_lead(ret_err,
                        "error: Invalid GRES specification (with and without type identification)");
    }
    if (differ) {
        (kind ? gpus_format : gres_format)(&last, &out);
        *text = arena_strdup(a, str_text(&out));
    }
    str_done(&out);
    return true;
}

bool gres_asked(const char **text, struct arena *a, struct err *ret_err)
{
    struct gres_list list;
    if (!gres_last_counts(text, NULL, a, ret_err) || !gres_parse(*text, a, &list, ret_err))
        return false;
    if (prefix_drop(span_of(*text)).data != *text)
        *text += strlen("gres:");
    *text = list.n ? *text : NULL;
    return true;
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

/* What a later release adds is skipped. */
static void device_more(struct span text, struct arena *a, struct device *ret)
{
    const char *piece = arena_strndup(a, text.data, text.len), *value = strchr(piece, '=');
    if (!value || !value[1])
        return;
    value++;
    if (text_starts(piece, "pci="))
        ret->pci = value;
    else if (text_starts(piece, "numa="))
        ret->numa = value;
    else if (text_starts(piece, "links="))
        ret->links = value;
    else if (text_starts(piece, "via="))
        ret->via = value;
}

static bool device_parse(struct span text, struct arena *a, struct device *ret, struct err *ret_err)
{
    struct span rest = text, part[6] = {{0}}, piece;
    int64_t number;
    size_t n = 0;
    /* The uuid may hold ':' (MIG-GPU-…/1/0 has none, PCI-like ones do): it is all that is left
     * after five parts. */
    while (n < 5 && span_next(&rest, ':', &piece))
        part[n++] = piece;
    if (n == 5 && rest.data && span_next(&rest, '|', &piece))
        part[5] = span_trim(piece);
    *ret = (struct device){.kind = part_or_null(part[0], a),
                           .type = part_or_null(part[1], a),
                           .cpus = part_or_null(part[4], a),
                           .uuid = part_or_null(part[5], a)};
    while (n == 5 && rest.data && span_next(&rest, '|', &piece))
        device_more(span_trim(piece), a, ret);
    const char *index = part_or_null(part[2], a), *mem = part_or_null(part[3], a);
    if (!ret->kind || !index || !text_to_i64(index, 0, INT32_MAX, &number))
        return err_set(ret_err, ERR_INVALID,
                       "\"%.*s\" is no device: kind:type:index:memory:CPUs:uuid",
                       SPAN_QUOTED(text));
    ret->index = (int32_t)number;
    return !mem || text_to_i64(mem, 0, INT64_MAX, &ret->mem_mib) ||
           err_set(ret_err, ERR_INVALID, "\"%s\" is no device memory in MiB", mem);
}

static int by_kind_and_index(const void *x, const void *y)
{
    const struct device *one = x, *other = y;
    int kinds = strcmp(one->kind, other->kind);
    return kinds ? kinds : (one->index > other->index) - (one->index < other->index);
}

/* One that stands there twice would be given to two jobs. */
static bool devices_differ(const struct device_list *list, struct arena *a, struct err *ret_err)
{
    struct device *sorted = arena_dup(a, list->v, list->n * sizeof *sorted);
    if (list->n > 1)
        qsort(sorted, list->n, sizeof *sorted, by_kind_and_index);
    for (size_t i = 1; i < list->n; i++)
        if (by_kind_and_index(&sorted[i - 1], &sorted[i]) == 0)
            return err_set(ret_err, ERR_INVALID, "device %.60s %d is named twice", sorted[i].kind,
                           sorted[i].index);
    return true;
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
    ok = ok && devices_differ(&(struct device_list){devices.v, devices.n}, a, ret_err);
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
        if (d->pci)
            str_addf(out, "|pci=%s", d->pci);
        if (d->numa)
            str_addf(out, "|numa=%s", d->numa);
        if (d->links)
            str_addf(out, "|links=%s", d->links);
        if (d->via)
            str_addf(out, "|via=%s", d->via);
    }
}

struct span device_name_of(const char *names, uint32_t index)
{
    struct span rest = span_of(names ? names : ""), one, number;
    while (span_next(&rest, ',', &one))
        if (one.len > 0 && span_next(&one, '=', &number) && strtoul(number.data, NULL, 10) == index)
            return one;
    return (struct span){0};
}

/* ---- as trackable resources ---- */

void gres_list_tres(const struct gres_list *list, struct str *out)
{
    for (size_t i = 0; i < list->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= text_is(list->item[k].kind, list->item[i].kind);
        if (!seen)
            str_addf(out, ",gres/%s=%lld", list->item[i].kind,
                     (long long)gres_count(list, list->item[i].kind));
    }
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i].type)
            str_addf(out, ",gres/%s:%s=%lld", list->item[i].kind, list->item[i].type,
                     (long long)list->item[i].count);
}

/* The gres list of a text that may carry "(IDX:…)" after its counts, or "=" before them, as what a
 * job has does: gpu:v100=2 */
static bool gres_bare(const char *text, struct arena *a, struct gres_list *ret)
{
    struct str bare = STR_INIT;
    int depth = 0;
    for (const char *at = text; at && *at; at++) {
        depth += *at == '(';
        if (!depth)
            str_addc(&bare, *at == '=' ? ':' : *at);
        depth -= *at == ')';
    }
    bool ok = gres_parse(str_text(&bare), a, ret, NULL);
    str_done(&bare);
    return ok;
}

void gres_text_tres(const char *text, struct str *out)
{
    struct arena *a = arena_new();
    struct gres_list list = {0};
    if (!text_empty(text) && gres_bare(text, a, &list))
        gres_list_tres(&list, out);
    arena_free(a);
}
