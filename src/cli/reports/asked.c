/* The words behind the name of a report: conditions, times, resources. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/reports/sreport.h"

#include <stdio.h>
#include <string.h>

#define HOUR_US (INT64_C(3600) * USEC_PER_SEC)

static const struct {
    const char *word;
    size_t least;
    bool has_value;
} conditions[COND_COUNT] = {
#define X(key, word, least, has_value) [COND_##key] = {word, least, has_value},
    CONDITIONS(X)
#undef X
};

static const char *value_of(struct sreport *s, const char *word)
{
    const char *value = strchr(word, '=');
    if (!value)
        return NULL;
    value++;
    size_t len = strlen(value);
    bool quoted = len > 1 && (*value == '"' || *value == '\'') && value[len - 1] == *value;
    return quoted ? arena_strndup(s->a, value + 1, len - 2) : value;
}

/* Does the word, up to '=', name the condition? */
static bool names(const char *word, size_t len, int c)
{
    char key[32];
    if (len < conditions[c].least || len >= sizeof key)
        return false;
    snprintf(key, sizeof key, "%.*s", (int)len, word);
    return text_starts_nocase(conditions[c].word, key) ||
           (c == COND_ACCOUNTS && text_is_nocase(key, "acct"));
}

static void word_read(struct sreport *s, unsigned may, const char *word, struct sreport_asked *ret)
{
    const char *value = value_of(s, word);
    size_t len = strcspn(word, "=");
    if (text_is_nocase(word, "where"))
        return;
    for (int c = 0; c < COND_COUNT; c++)
        if ((may >> c & 1u) && conditions[c].has_value == (value != NULL) && names(word, len, c)) {
            ret->value[c] = value ? value : "";
            return;
        }
    if (!value) { /* a name alone, of the cluster, of a user, of a reservation */
        enum condition bare = may >> COND_TOP_COUNT & 1u ? COND_USERS
                              : may >> COND_NAMES & 1u   ? COND_NAMES
                                                         : COND_CLUSTERS;
        ret->value[bare] = word;
        return;
    }
    fprintf(stderr, " Unknown condition: %s\n", word);
    if (may != (COND_COMMON | 1u << COND_WCKEYS)) /* of the report that has this alone */
        fputs("Use keyword set to modify value\n", stderr);
    s->rc = 1;
}

/* ---- times ---------------------------------------------------------------------------------- */

static int64_t midnight(int64_t now_us, int days)
{
    struct civil c;
    civil_local.sec_to_local(now_us / USEC_PER_SEC, &c);
    c = (struct civil){.year = c.year, .month = c.month, .day = c.day};
    civil_from_sec(civil_to_sec(&c) + (int64_t)days * 86400, &c);
    return civil_local.local_to_sec(&c) * USEC_PER_SEC;
}

/* The next whole hour of local time. */
static int64_t hour_up(int64_t us)
{
    struct civil c;
    int64_t sec = us / USEC_PER_SEC;
    civil_local.sec_to_local(sec, &c);
    int64_t past = c.minute * INT64_C(60) + c.second;
    return (past ? sec - past + 3600 : sec) * USEC_PER_SEC;
}

static int64_t time_or(const char *text, int64_t now_us, int64_t otherwise)
{
    struct err e = {0};
    int64_t us;
    if (text_empty(text))
        return otherwise;
    if (civil_parse(text, now_us, &civil_local, false, &us, &e))
        return hour_up(us);
    fprintf(stderr, "%s\n", e.lead[0] ? e.lead : e.text);
    return otherwise;
}

void asked_read(struct sreport *s, unsigned may, int n, char **word, struct sreport_asked *ret)
{
    int64_t now = time_now_us();
    *ret = (struct sreport_asked){0};
    for (int i = 0; i < n; i++)
        word_read(s, may | COND_COMMON, word[i], ret);
    ret->from_us = time_or(ret->value[COND_START], now, midnight(now, -1));
    ret->to_us = time_or(ret->value[COND_END], now, midnight(now, 0));
    if (ret->to_us <= ret->from_us)
        ret->to_us = ret->from_us + HOUR_US;
}

void asked_done(struct sreport_asked *k)
{
    vec_done(&k->tres);
}

bool asked_has(const struct sreport_asked *k, enum condition c, const char *word)
{
    return text_empty(k->value[c]) || (word && list_has_nocase(k->value[c], word));
}

bool asked_elsewhere(const struct sreport *s, const struct sreport_asked *k)
{
    return !k->value[COND_ALL_CLUSTERS] && !asked_has(k, COND_CLUSTERS, s->cluster);
}

/* ---- resources ------------------------------------------------------------------------------ */

struct tres_reading {
    struct sreport *s;
    struct sreport_asked *k;
};

static void tres_row(void *ctx, const void *record)
{
    const struct tres_reading *r = ctx;
    const struct tres *t = record;
    const char *name = t->name ? arena_printf(r->s->a, "%s/%s", t->type, t->name) : t->type;
    if (text_is_nocase(r->s->tres, "all") || list_has_nocase(r->s->tres, name))
        vec_push(&r->k->tres, ((struct tres_kind_of){name, t->id}));
}

static size_t place_in(const char *list, const char *name)
{
    struct span rest = span_of(list), piece;
    size_t at = 0;
    while (span_next(&rest, ',', &piece) && !span_is_nocase(span_trim(piece), name))
        at++;
    return at;
}

/* As they were asked for, all of them by their numbers. */
static int tres_order(const void *a, const void *b, void *asked)
{
    const struct tres_kind_of *p = a, *q = b;
    size_t m = place_in(asked, p->name), n = place_in(asked, q->name);
    return m != n ? (m > n) - (m < n) : (p->id > q->id) - (p->id < q->id);
}

bool asked_tres(struct sreport *s, struct sreport_asked *k)
{
    struct msg_query q = {.what = QUERY_TRES};
    if (!s->tres) {
        vec_push(&k->tres, ((struct tres_kind_of){"cpu", 1}));
        k->one_tres = true;
        return true;
    }
    if (!sreport_query(s, &q, &tres_fields, tres_row, &(struct tres_reading){s, k}))
        return false;
    if (k->tres.n) {
        qsort_r(k->tres.v, k->tres.n, sizeof k->tres.v[0], tres_order, (void *)s->tres);
        return true;
    }
    fputs("sreport: fatal: No valid TRES given\n", stderr);
    program_error("sreport", "`sacctmgr show tres` lists what is counted");
    s->rc = 1;
    return false;
}
