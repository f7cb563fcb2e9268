/* or := and { "||" and }, and := not { "&&" not }, not := "!" not | "(" or ")" | term. A term is a
 * name, defined(name), or NAME OP VALUE. The whole is read for each host: it is short, and what it
 * says of a part that is decided already must be right all the same. */
#include "script/lsf/select.h"

#include "script/lsf/lsf.h"
#include "script/lsf/term.h"

#include <string.h>

#define DEPTH_MAX 64 /* parentheses and signs within each other */

struct select_reading {
    struct span rest;
    int64_t kib;
    const struct lsf_host_facts *host; /* NULL = it is only checked */
    unsigned depth;
    struct err *e;
    bool failed;
};

static bool fail(struct select_reading *d, struct span at, const char *what)
{
    if (!d->failed)
        err_set(d->e, ERR_VALUE, "\"%.*s\": %s", SPAN_QUOTED(at), what);
    d->failed = true;
    return false;
}

static bool take(struct select_reading *d, const char *sign)
{
    size_t len = strlen(sign);
    d->rest = span_trim(d->rest);
    if (d->rest.len < len || memcmp(d->rest.data, sign, len) != 0)
        return false;
    d->rest = (struct span){d->rest.data + len, d->rest.len - len};
    return true;
}

/* ---- terms ---- */

static bool compare(const char *op, int64_t a, int64_t b)
{
    bool less = a < b, equal = a == b;
    if (op[0] == '<')
        return less || (op[1] && equal);
    if (op[0] == '>')
        return (!less && !equal) || (op[1] && equal);
    return op[0] == '!' ? !equal : equal;
}

static bool has_feature(const struct lsf_host_facts *host, struct span name)
{
    struct span rest = span_of(host->features), one;
    while (host->features && span_next(&rest, ',', &one))
        if (one.len == name.len && memcmp(one.data, name.data, name.len) == 0)
            return true;
    return false;
}

/* A name alone: a feature, or an amount that is not 0. */
static bool word_holds(struct select_reading *d, struct span name)
{
    bool wrapped = name.len > 9 && strncasecmp(name.data, "defined(", 8) == 0 &&
                   name.data[name.len - 1] == ')';
    if (wrapped)
        name = span_trim((struct span){name.data + 8, name.len - 9});
    if (!lsf_is_feature(name))
        return fail(d, name, "a resource, or NAME OP VALUE, is needed");
    if (lsf_name_is_one_of(name, "mem maxmem tmp maxtmp ncpus ncores maxcpus r15s r1m r15m ut pg "
                                 "io ls it swp maxswp"))
        return true;
    if (lsf_name_is_one_of(name, "ngpus"))
        return !d->host || d->host->gpus > 0;
    return !d->host || has_feature(d->host, name);
}

static bool size_holds(struct select_reading *d, const struct lsf_term *t, int64_t mib)
{
    int64_t kib;
    if (!lsf_size_read(t->value, d->kib, &kib))
        return fail(d, t->value, "a size is needed, as 4000 or 4GB");
    return compare(t->op, mib * 1024, kib);
}

static bool count_holds(struct select_reading *d, const struct lsf_term *t, int32_t n)
{
    int32_t count = 0;
    if (!span_is(t->value, "0") && !lsf_count_read(t->value, INT32_MAX, &count))
        return fail(d, t->value, "a number is needed");
    return compare(t->op, n, count);
}

static bool text_term(struct select_reading *d, const struct lsf_term *t, bool equal)
{
    if (!lsf_term_is_equal(t) && !text_is(t->op, "!="))
        return fail(d, t->name, "== and != are allowed");
    return equal == lsf_term_is_equal(t);
}

static bool term_holds(struct select_reading *d, struct span text)
{
    static const struct lsf_host_facts none = {.name = ""};
    const struct lsf_host_facts *h = d->host ? d->host : &none;
    struct lsf_term t;
    if (!lsf_term_split(text, &t))
        return fail(d, text, "a resource, or NAME OP VALUE, is needed");
    if (!t.op[0])
        return word_holds(d, t.name);
    if (lsf_name_is_one_of(t.name, "mem maxmem"))
        return size_holds(d, &t, h->mem_mib);
    if (lsf_name_is_one_of(t.name, "tmp maxtmp"))
        return size_holds(d, &t, h->tmp_mib);
    if (lsf_name_is_one_of(t.name, "ncpus ncores maxcpus"))
        return count_holds(d, &t, h->cpus);
    if (lsf_name_is_one_of(t.name, "ngpus"))
        return count_holds(d, &t, h->gpus);
    if (lsf_name_is_one_of(t.name, "hname"))
        return text_term(d, &t, span_is(t.value, h->name));
    if (lsf_name_is_one_of(t.name, "model"))
        return text_term(d, &t, has_feature(h, t.value));
    if (lsf_name_is_one_of(t.name, "type"))
        return text_term(d, &t, true);
    if (lsf_name_is_one_of(t.name, "swp maxswp r15s r1m r15m ut pg io ls it"))
        return true;
    return fail(d, t.name,
                "no such resource; type, hname, model, mem, tmp, ncpus, ngpus and features of "
                "hosts are known");
}

/* Up to && or ||, or a parenthesis that it did not open. */
static struct span term_take(struct select_reading *d)
{
    size_t n = 0;
    unsigned open = 0;
    char quote = 0;
    for (; n < d->rest.len; n++) {
        char c = d->rest.data[n];
        if (quote) {
            quote = c == quote ? 0 : quote;
            continue;
        }
        if (c == '\'' || c == '"')
            quote = c;
        if (c == ')' && !open)
            break;
        open += c == '(';
        open -= c == ')';
        if ((c == '&' || c == '|') && n + 1 < d->rest.len && d->rest.data[n + 1] == c)
            break;
    }
    struct span term = span_trim((struct span){d->rest.data, n});
    d->rest = (struct span){d->rest.data + n, d->rest.len - n};
    return term;
}

/* ---- the expression ---- */

static bool either(struct select_reading *d);

static bool one(struct select_reading *d)
{
    bool holds;
    if (++d->depth > DEPTH_MAX)
        return fail(d, d->rest, "too many parentheses");
    if (take(d, "!")) {
        holds = !one(d);
    } else if (take(d, "(")) {
        holds = either(d);
        if (!take(d, ")"))
            fail(d, d->rest, "a parenthesis is not closed");
    } else {
        holds = term_holds(d, term_take(d));
    }
    d->depth--;
    return holds;
}

static bool both(struct select_reading *d)
{
    bool holds = one(d);
    while (!d->failed && take(d, "&&"))
        holds = one(d) && holds;
    return holds;
}

static bool either(struct select_reading *d)
{
    bool holds = both(d);
    while (!d->failed && take(d, "||"))
        holds = both(d) || holds;
    return holds;
}

bool lsf_select_check(struct span text, int64_t kib, struct err *ret_err)
{
    struct select_reading d = {.rest = text, .kib = kib, .e = ret_err};
    either(&d);
    d.rest = span_trim(d.rest);
    return !d.failed && (d.rest.len == 0 || fail(&d, d.rest, "&& or || is needed before it"));
}

bool lsf_select_holds(struct span text, int64_t kib, const struct lsf_host_facts *host)
{
    struct select_reading d = {.rest = text, .kib = kib, .host = host};
    return either(&d) && !d.failed;
}

static void part_add(struct str *out, struct span text)
{
    text = span_trim(text);
    if (text.len)
        str_addf(out, "%s(%.*s)", out->len ? "&&" : "", (int)text.len, text.data);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool lsf_select_part(struct span text, struct str *out)
{
    for (text = span_trim(text); text.len;) {
        const char *open = memchr(text.data, '[', text.len), *close;
        size_t at = open ? (size_t)(open - text.data) : text.len, from = at;
        while (open && from > 0 && is_letter(text.data[from - 1]))
            from--;
        part_add(out, (struct span){text.data, open ? from : text.len});
        if (!open)
            return true;
        if (!(close = memchr(open, ']', text.len - at)))
            return false;
        if (span_is_nocase((struct span){text.data + from, at - from}, "select"))
            part_add(out, (struct span){open + 1, (size_t)(close - open) - 1});
        size_t used = (size_t)(close - text.data) + 1;
        text = span_trim((struct span){text.data + used, text.len - used});
    }
    return true;
}
