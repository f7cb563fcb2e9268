/* bsub -R: "select[E] order[K] rusage[U] span[S] same[R] cu[C] affinity[A]", any of them; text
 * before the first section is what select would hold. */
#include "script/lsf/lsf.h"
#include "script/lsf/select.h"
#include "script/lsf/term.h"
#include "script/lsf/write.h"

#include "base/alloc.h"

#include <string.h>

#define UNIT_KIB_MIB 1024

/* ---- one text of -R ---- */

struct resources_reading {
    struct lsf_request *r;
    const char *whole;
    struct arena *a;
    struct err *e;
};

static bool refuse_value(struct resources_reading *d, struct span piece, const char *allowed)
{
    return dialect_blame(d->e, "-R", d->whole, "\"%.*s\": %s", SPAN_QUOTED(piece), allowed);
}

static char *kept(struct resources_reading *d, struct span s)
{
    return arena_strndup(d->a, s.data, s.len);
}

static void list_join(struct resources_reading *d, const char **list, struct span word,
                      const char *between)
{
    *list = *list ? arena_printf(d->a, "%s%s%.*s", *list, between, (int)word.len, word.data)
                  : kept(d, word);
}

/* ---- select ---- */

static void features_add(struct resources_reading *d, const char *more)
{
    d->r->features = dialect_features_join(d->r->features, more, d->a);
}

/* What no option of a job says is asked of each host when the job is submitted. */
static bool of_hosts(struct resources_reading *d, struct span text)
{
    struct lsf_request *r = d->r;
    text = span_trim(text);
    if (!lsf_select_check(text, r->site->lsf_resource_kib, d->e))
        return err_prefix(d->e, "-R %s", d->whole);
    r->host_select =
        r->host_select ? arena_printf(d->a, "%s&&(%.*s)", r->host_select, (int)text.len, text.data)
                       : arena_printf(d->a, "(%.*s)", (int)text.len, text.data);
    return true;
}

static bool size_term(struct resources_reading *d, const struct lsf_term *t)
{
    int64_t kib;
    if (!lsf_size_read(t->value, d->r->site->lsf_resource_kib, &kib))
        return refuse_value(d, t->value, "a size is needed, as 4000 or 4GB");
    if (!lsf_term_is_least(t))
        return refuse_value(d, t->name, "only a least amount can be asked for: mem>4GB");
    d->r->tmp_mib = (kib + UNIT_KIB_MIB - 1) / UNIT_KIB_MIB;
    return true;
}

static bool host_term(struct resources_reading *d, const struct lsf_term *t)
{
    if (lsf_term_is_equal(t))
        list_join(d, &d->r->candidates, t->value, ",");
    else if (text_is(t->op, "!="))
        list_join(d, &d->r->excluded, t->value, ",");
    else
        return refuse_value(d, t->name, "== and != are allowed");
    return true;
}

static bool defined_term(struct span name, struct span *ret)
{
    if (name.len < 10 || strncasecmp(name.data, "defined(", 8) != 0 ||
        name.data[name.len - 1] != ')')
        return false;
    *ret = span_trim((struct span){name.data + 8, name.len - 9});
    return true;
}

/* A term that names a property of hosts: *ret is the feature. False with no error: another. */
static bool feature_of(const struct lsf_term *t, struct span *ret)
{
    if (!t->op[0] && defined_term(t->name, ret))
        return lsf_is_feature(*ret);
    *ret = t->op[0] ? t->value : t->name;
    return lsf_is_feature(*ret) &&
           (!t->op[0] || (lsf_term_is_equal(t) && lsf_name_is_one_of(t->name, "model")));
}

static bool term_take(struct resources_reading *d, struct span text)
{
    struct lsf_term t;
    struct span feature;
    if (!lsf_term_split(text, &t))
        return refuse_value(d, text, "a resource, or NAME OP VALUE, is needed");
    if (feature_of(&t, &feature))
        features_add(d, kept(d, feature));
    else if (lsf_name_is_one_of(t.name, "type"))
        return lsf_term_is_equal(&t) ||
               refuse_value(d, text, "type==any and type==local are allowed");
    else if (lsf_name_is_one_of(t.name, "hname"))
        return host_term(d, &t);
    else if (lsf_name_is_one_of(t.name, "mem maxmem ngpus"))
        return of_hosts(d, text);
    else if (lsf_name_is_one_of(t.name, "tmp maxtmp"))
        return size_term(d, &t);
    else if (lsf_name_is_one_of(t.name, "ncpus ncores maxcpus"))
        return (lsf_term_is_least(&t) && lsf_count_read(t.value, 1 << 20, &d->r->min_cpus)) ||
               refuse_value(d, text, "a least number is needed: ncpus>=4");
    else if (lsf_name_is_one_of(t.name, "swp maxswp r15s r1m r15m ut pg io ls it"))
        lsf_note(d->r, d->a, arena_printf(d->a, "select[%.*s]", (int)t.name.len, t.name.data),
                 "hosts are not chosen by load");
    else
        return refuse_value(d, text,
                            "no such resource; type, hname, model, mem, tmp, ncpus and features "
                            "of hosts are known");
    return true;
}

static struct span parentheses_off(struct span s)
{
    for (s = span_trim(s); s.len > 1 && s.data[0] == '(';) {
        size_t depth = 1, i = 1;
        for (; i < s.len && depth; i++)
            depth += (size_t)(s.data[i] == '(') - (size_t)(s.data[i] == ')');
        if (depth || i < s.len)
            break; /* the first one closes before the end */
        s = span_trim((struct span){s.data + 1, s.len - 2});
    }
    return s;
}

/* Takes the piece up to the token off *rest, at the level of no parenthesis. */
static bool piece_next(struct span *rest, char doubled, struct span *ret)
{
    size_t depth = 0;
    if (!rest->data)
        return false;
    for (size_t i = 0; i + 1 < rest->len; i++) {
        depth += rest->data[i] == '(';
        depth -= rest->data[i] == ')' && depth;
        if (!depth && rest->data[i] == doubled && rest->data[i + 1] == doubled) {
            *ret = (struct span){rest->data, i};
            *rest = (struct span){rest->data + i + 2, rest->len - i - 2};
            return true;
        }
    }
    *ret = *rest;
    *rest = (struct span){0};
    return true;
}

/* "a && b || c": || holds the parts together. */
static bool piece_is_either(struct span text)
{
    struct span rest = text, one;
    return piece_next(&rest, '|', &one) && one.len < text.len;
}

/* Features and models of hosts alone, with || between: true, and they are taken. */
static bool alternatives_take(struct resources_reading *d, struct span text)
{
    struct span rest = text, one, feature;
    const char *list = NULL;
    while (piece_next(&rest, '|', &one)) {
        struct lsf_term t;
        if (!lsf_term_split(parentheses_off(one), &t) || !feature_of(&t, &feature))
            return false;
        list_join(d, &list, feature, "|");
    }
    features_add(d, list);
    return true;
}

#define SELECT_DEPTH 32 /* parentheses in parentheses of select[] */

/* "a && b && (c || d)", with features and models alone in the parentheses, are options of the job;
 * what else there may be is an expression that hosts answer. */
static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '!' && (i + 1 == text.len || text.data[i + 1] != '='))
            return false;
    return true;
}

/* Does each parenthesis that is opened have its end, behind it, and each end its beginning? */
static bool parentheses_fit(struct span text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ')' && !depth)
            return false;
        depth += (size_t)(text.data[i] == '(') - (size_t)(text.data[i] == ')');
    }
    return !depth;
}

static bool pieces_take(struct resources_reading *d, struct span whole, unsigned depth)
{
    struct span rest = parentheses_off(whole), one;
    if (piece_is_either(rest))
        return alternatives_take(d, rest) || of_hosts(d, whole);
    while (rest.len && piece_next(&rest, '&', &one)) {
        bool several = memmem(one.data, one.len, "&&", 2) || memmem(one.data, one.len, "||", 2);
        if (several && depth == SELECT_DEPTH)
            return refuse_value(d, one, "its parentheses are too deep");
        if (!(several ? pieces_take(d, one, depth + 1) : term_take(d, parentheses_off(one))))
            return false;
    }
    return true;
}

static bool select_read(struct resources_reading *d, struct span text)
{
    struct span whole = span_trim(text);
    if (!is_plain(whole))
        return of_hosts(d, whole);
    return parentheses_fit(whole) ? pieces_take(d, whole, 0)
                                  : refuse_value(d, whole, "a parenthesis is missing");
}

/* ---- rusage ---- */

static bool mem_read(struct resources_reading *d, struct span value)
{
    const char *slash = memchr(value.data, '/', value.len);
    struct span size = {value.data, slash ? (size_t)(slash - value.data) : value.len};
    if (slash) {
        struct span per = {slash + 1, value.len - size.len - 1};
        if (span_is_nocase(per, "host"))
            d->r->mem_per = LSF_MEM_HOST;
        else if (span_is_nocase(per, "task") || span_is_nocase(per, "slot"))
            d->r->mem_per = LSF_MEM_SLOT;
        else if (span_is_nocase(per, "job"))
            d->r->mem_per = LSF_MEM_JOB;
        else
            return refuse_value(d, value, "/host, /task and /job are allowed");
    }
    return lsf_size_read(size, d->r->site->lsf_resource_kib, &d->r->mem_kib) ||
           refuse_value(d, value, "a size is needed, as 4000 or 4GB");
}

static bool rusage_term(struct resources_reading *d, struct span text)
{
    struct lsf_term t;
    int64_t kib;
    if (!lsf_term_split(text, &t) || !lsf_term_is_equal(&t))
        return refuse_value(d, text, "NAME=AMOUNT is needed");
    if (span_is_nocase(t.name, "mem"))
        return mem_read(d, t.value);
    if (span_is_nocase(t.name, "tmp")) {
        if (!lsf_size_read(t.value, d->r->site->lsf_resource_kib, &kib))
            return refuse_value(d, text, "a size is needed, as 4000 or 4GB");
        d->r->tmp_mib = (kib + UNIT_KIB_MIB - 1) / UNIT_KIB_MIB;
        return true;
    }
    if (span_is_nocase(t.name, "ngpus_physical") || span_is_nocase(t.name, "ngpus_excl_p") ||
        span_is_nocase(t.name, "ngpus_shared") || span_is_nocase(t.name, "ngpus"))
        return lsf_count_read(t.value, 1 << 20, &d->r->gpus) ||
               refuse_value(d, text, "a number of GPUs is needed");
    if (lsf_name_is_one_of(t.name, "duration decay swp r15s r1m r15m ut pg io ls it")) {
        lsf_note(d->r, d->a, arena_printf(d->a, "rusage[%.*s]", (int)t.name.len, t.name.data),
                 "what a job has it has until its end, and load is not reserved");
        return true;
    }
    int32_t count;
    if (!lsf_is_feature(t.name) || !lsf_count_read(t.value, 1 << 20, &count))
        return refuse_value(d, text, "NAME=AMOUNT is needed");
    struct span licence =
        span_of(arena_printf(d->a, "%.*s:%d", (int)t.name.len, t.name.data, count));
    list_join(d, &d->r->licences, licence, ",");
    return true;
}

static bool rusage_read(struct resources_reading *d, struct span text)
{
    if (memmem(text.data, text.len, "||", 2))
        return dialect_refuse(d->e, "-R rusage[] with ||", "ask for what the larger of them needs");
    for (struct span part; span_next(&text, ',', &part);)
        for (struct span one; span_next(&part, ':', &one);) {
            one = span_trim(one);
            if (memchr(one.data, '(', one.len))
                return dialect_refuse(d->e, "-R rusage[] with phases",
                                      "ask for the most of all phases");
            if (one.len && !rusage_term(d, one))
                return false;
        }
    return true;
}

/* ---- the other sections ---- */

static bool span_term(struct resources_reading *d, struct span text)
{
    struct lsf_term t;
    int32_t n;
    struct lsf_request *r = d->r;
    if (span_is_nocase(text, "stripe") || span_is_nocase(text, "balance")) {
        r->cyclic = true;
        return true;
    }
    if (span_is_nocase(text, "block")) {
        r->cyclic = false; /* one host after the other is how slots are dealt anyway */
        return true;
    }
    if (!lsf_term_split(text, &t) || !lsf_term_is_equal(&t))
        return refuse_value(d, text, "hosts=1 and ptile=N are allowed");
    if (span_is_nocase(t.name, "hosts") && span_is(t.value, "-1")) {
        r->one_host = false;
        r->ptile = 0;
        return true;
    }
    if (span_is_nocase(t.name, "stripe") && lsf_count_read(t.value, 1 << 20, &n)) {
        r->cyclic = true;
        return true;
    }
    if (span_is_nocase(t.name, "block") && lsf_count_read(t.value, 1 << 20, &n)) {
        r->plane = n;
        return true;
    }
    if (span_is_nocase(t.name, "hosts") && lsf_count_read(t.value, 1, &n)) {
        r->one_host = true;
        r->ptile = 0;
        return true;
    }
    if (span_is_nocase(t.name, "ptile") && lsf_count_read(t.value, 1 << 20, &n)) {
        r->ptile = n;
        r->one_host = false;
        return true;
    }
    return refuse_value(d, text, "hosts=1, hosts=-1, ptile=N, stripe and block are allowed");
}

static bool span_read(struct resources_reading *d, struct span text)
{
    for (struct span one; span_next(&text, ':', &one);)
        if (!span_term(d, span_trim(one)))
            return false;
    return true;
}

/* All hosts have the same type anyway; of which models there are only a cluster knows. */
static bool same_read(struct resources_reading *d, struct span text)
{
    for (struct span one; span_next(&text, ':', &one);) {
        one = span_trim(one);
        if (span_is_nocase(one, "model"))
            d->r->same_model = true;
        else if (span_is_nocase(one, "hname"))
            d->r->one_host = true;
        else if (!span_is_nocase(one, "type"))
            return refuse_value(d, one, "same[type], same[model] and same[hname] are taken");
    }
    return true;
}

static bool cu_read(struct resources_reading *d, struct span text)
{
    for (struct span one; span_next(&text, ':', &one);) {
        struct lsf_term t;
        bool max = lsf_term_split(one, &t) && span_is_nocase(t.name, "maxcus");
        if (max && !lsf_count_read(t.value, 1 << 20, &d->r->max_switches))
            return refuse_value(d, one, "a number of compute units is needed");
        if (!max)
            lsf_note(d->r, d->a, "cu[]", "only maxcus counts");
    }
    return true;
}

static bool affinity_read(struct resources_reading *d, struct span text)
{
    const char *open = memchr(text.data, '(', text.len);
    size_t name = open ? (size_t)(open - text.data) : 0;
    struct span kind = {text.data, name};
    if (!open || !(span_is_nocase(kind, "core") || span_is_nocase(kind, "thread")))
        return refuse_value(d, text, "core(N) and thread(N) are allowed");
    struct span inside = {open + 1, text.len - name - 1};
    size_t digits = 0;
    while (digits < inside.len && inside.data[digits] >= '0' && inside.data[digits] <= '9')
        digits++;
    if (!lsf_count_read((struct span){inside.data, digits}, 1 << 16, &d->r->cores))
        return refuse_value(d, text, "a number of cores is needed: core(4)");
    if (digits + 1 < inside.len)
        lsf_note(d->r, d->a, "affinity[]", "of it only the number of cores counts");
    return true;
}

static bool order_read(struct resources_reading *d, struct span text)
{
    lsf_note(d->r, d->a, arena_printf(d->a, "order[%.*s]", (int)text.len, text.data),
             "hosts are not chosen by load");
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct resources_reading *d, struct span text);
    void (*write)(struct writing *w, struct str *out); /* NULL = it says nothing of a job */
} sections[] = {{"select", select_read, lsf_write_select},
                {"order", order_read, NULL},
                {"rusage", rusage_read, lsf_write_rusage},
                {"span", span_read, lsf_write_span},
                {"same", same_read, NULL},
                {"cu", cu_read, lsf_write_cu},
                {"affinity", affinity_read, lsf_write_affinity}};

/* ---- the whole ---- */

static bool section_read(struct resources_reading *d, struct span name, struct span inside)
{
    for (size_t i = 0; i < ARRAY_LEN(sections); i++)
        if (span_is_nocase(name, sections[i].name))
            return sections[i].read(d, span_trim(inside));
    return refuse_value(d, name,
                        "no such section; select, order, rusage, span, same, cu and affinity are "
                        "known");
}

/* Where a section name begins, before its '['. */
static size_t section_start(struct span text, size_t bracket)
{
    size_t from = bracket;
    while (from > 0 &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", text.data[from - 1]))
        from--;
    return from;
}

bool lsf_resources_read(struct lsf_request *r, const char *text, struct arena *a,
                        struct err *ret_err)
{
    struct resources_reading d = {r, text, a, ret_err};
    struct span rest = span_trim(span_of(text));
    if (strchr(text, '{'))
        return lsf_compound_read(r, text, a, ret_err);
    while (rest.len) {
        const char *open = memchr(rest.data, '[', rest.len);
        if (!open)
            return select_read(&d, rest);
        size_t at = (size_t)(open - rest.data), from = section_start(rest, at);
        struct span before = span_trim((struct span){rest.data, from});
        const char *close = memchr(open, ']', rest.len - at);
        if (!close)
            return refuse_value(&d, rest, "the bracket is not closed");
        struct span name = {rest.data + from, at - from},
                    inside = {open + 1, (size_t)(close - open) - 1};
        if ((before.len && !select_read(&d, before)) || !section_read(&d, name, inside))
            return false;
        size_t used = (size_t)(close - rest.data) + 1;
        rest = span_trim((struct span){rest.data + used, rest.len - used});
    }
    return true;
}

void lsf_resources_write(struct writing *w, const struct option_row *row)
{
    struct str text = STR_INIT, inside = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        str_clear(&inside);
        if (sections[i].write)
            sections[i].write(w, &inside);
        if (inside.len)
            str_addf(&text, "%s%s[%s]", text.len ? " " : "", sections[i].name, str_text(&inside));
    }
    if (text.len)
        writing_line(w, row->name, str_text(&text));
    str_done(&text);
    str_done(&inside);
}
