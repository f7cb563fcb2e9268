#include "model/record/priority.h"

#include "base/alloc.h"
#include "base/list.h"

#include <string.h>

#define PRIORITY_ROW(type, name, aux, doc) FIELD_ROW_AT(struct priority_row, , type, name, aux, doc)
static const struct field priority_rows[] = {PRIORITY_FIELDS(PRIORITY_ROW)};
const struct fields priority_fields = {"priority", sizeof(struct priority_row), priority_rows,
                                       ARRAY_LEN(priority_rows)};

#define USAGE_ROW(type, name, aux, doc) FIELD_ROW_AT(struct usage, , type, name, aux, doc)
static const struct field usage_rows[] = {USAGE_FIELDS(USAGE_ROW)};
const struct fields usage_fields = {"usage", sizeof(struct usage), usage_rows,
                                    ARRAY_LEN(usage_rows)};

#define USE_ROW(type, name, aux, doc) FIELD_ROW_AT(struct use_row, , type, name, aux, doc)
static const struct field use_rows[] = {USE_FIELDS(USE_ROW)};
const struct fields use_fields = {"use_of", sizeof(struct use_row), use_rows, ARRAY_LEN(use_rows)};

#define FAIR_SHARE_ROW(type, name, aux, doc) FIELD_ROW_AT(struct fair_share, , type, name, aux, doc)
static const struct field fair_share_rows[] = {FAIR_SHARE_FIELDS(FAIR_SHARE_ROW)};
const struct fields fair_share_fields = {"fair_share", sizeof(struct fair_share), fair_share_rows,
                                         ARRAY_LEN(fair_share_rows)};

/* ---- weights ---- */

/* "-1.25" in thousandths; *ret_rest is what follows. */
static bool milli_parse(const char *text, int64_t *ret, const char **ret_rest)
{
    bool minus = *text == '-', any = false;
    int64_t value = 0, scale = 1000;
    text += minus || *text == '+';
    for (; *text >= '0' && *text <= '9' && value < INT64_C(1) << 40; text++, any = true)
        value = value * 10 + (*text - '0');
    value *= 1000;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, any = true) {
            scale /= 10;
            value += (*text - '0') * scale;
        }
    *ret = minus ? -value : value;
    *ret_rest = text;
    return any;
}

static bool kind_parse(const char *name, struct tres_weight *w)
{
    if (text_is_nocase(name, "cpu"))
        w->kind = TRES_CPU;
    else if (text_is_nocase(name, "mem"))
        w->kind = TRES_MEM;
    else if (text_is_nocase(name, "node"))
        w->kind = TRES_NODE;
    else if (text_starts_nocase(name, "gres/") && name[5] && strlen(name + 5) < sizeof w->name)
        w->kind = TRES_GRES;
    else
        return false;
    if (w->kind == TRES_GRES)
        strcpy(w->name, name + 5);
    return true;
}

static bool weight_parse(char *piece, struct tres_weight *w)
{
    char *equals = strchr(piece, '=');
    const char *rest;
    if (!equals)
        return false;
    *equals = '\0';
    *w = (struct tres_weight){.per = 1};
    if (!kind_parse(piece, w) || !milli_parse(equals + 1, &w->milli, &rest))
        return false;
    if (*rest && w->kind == TRES_MEM && !rest[1]) {
        static const char units[] = "MGTP";
        const char *unit = strchr(units, *rest >= 'a' ? *rest - 32 : *rest);
        for (ptrdiff_t i = 0; unit && i < unit - units; i++)
            w->per *= 1024;
        return unit != NULL;
    }
    return *rest == '\0';
}

bool tres_weights_parse(const char *text, struct tres_weights *ret, struct err *ret_err)
{
    struct span rest = span_of(text ? text : ""), piece;
    *ret = (struct tres_weights){0};
    while (span_next(&rest, ',', &piece)) {
        char one[64] = "";
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        memcpy(one, piece.data, piece.len < sizeof one ? piece.len : sizeof one - 1);
        if (ret->n == TRES_WEIGHTS_MAX || !weight_parse(one, &ret->v[ret->n]))
            return err_set(ret_err, ERR_INVALID,
                           "weights like CPU=1.0,Mem=0.25G,GRES/gpu=2,Node=1 are expected, not "
                           "\"%.60s\"",
                           text) ||
                   list_suggest("CPU,Mem,Node,GRES/gpu", span_of(one), ret_err);
        ret->n++;
    }
    return true;
}

/* ---- powers ---- */

__extension__ typedef __int128 wide;

int64_t scale32(int64_t value, uint64_t factor)
{
    return (int64_t)((wide)value * (wide)factor >> 32);
}

/* 2^(−1/2), 2^(−1/4), 2^(−1/8) … in 2^32nds: a square root each. Their product over the bits of a
 * fraction is its power. */
uint64_t exp2_neg(int64_t part, int64_t whole)
{
    int64_t halves = part / whole;
    if (halves >= 32 || part < 0 || whole <= 0)
        return part < 0 || whole <= 0 ? UINT64_C(1) << 32 : 0;
    int64_t rest = part % whole;
    static const uint32_t root[] = {
        3037000500u, 3611622603u, 3938502376u, 4112874773u, 4202935003u, 4248701965u, 4271771996u,
        4283353945u, 4289156690u, 4292061010u, 4293513907u, 4294240540u, 4294603903u, 4294785595u,
        4294876445u, 4294921870u, 4294944583u, 4294955939u, 4294961618u, 4294964457u, 4294965876u,
        4294966586u, 4294966941u, 4294967119u, 4294967207u, 4294967252u, 4294967274u, 4294967285u,
        4294967290u, 4294967293u, 4294967295u, 4294967295u};
    uint64_t product = UINT64_C(1) << 32;
    for (unsigned i = 0; i < ARRAY_LEN(root); i++) { /* the bits of rest / whole behind the point */
        bool bit = rest >= whole - rest;
        rest = bit ? rest - (whole - rest) : 2 * rest;
        if (bit)
            product = product * root[i] >> 32;
    }
    return product >> halves;
}
