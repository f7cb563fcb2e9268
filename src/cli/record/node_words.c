/* Flags are read off the words of scontrol's form ("IDLE+COMPLETING+DRAIN"), so that what -t
 * matches and what is shown can never differ. */
#include "cli/record/node_words.h"
#include "cli/program/program.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/idset.h"
#include "model/env/device_out.h"

#include <string.h>

/* ---- states --------------------------------------------------------------------------------- */

static bool flag_is(const struct node *n, const char *word)
{
    struct str words = STR_INIT;
    struct span rest, piece;
    bool found = false;
    node_state_word(n, NODE_WORD_CONTROL, &words);
    rest = span_of(str_text(&words));
    while (!found && span_next(&rest, '+', &piece))
        found = span_is(piece, word);
    str_done(&words);
    return found;
}

bool node_base_is(const struct node *n, const char *word)
{
    struct str words = STR_INIT;
    struct span rest, piece = {0};
    node_state_word(n, NODE_WORD_CONTROL, &words);
    rest = span_of(str_text(&words));
    bool is = span_next(&rest, '+', &piece) && span_is(piece, word);
    str_done(&words);
    return is;
}

bool node_busy(const struct node *n)
{
    return n->alloc_cpus > 0 || n->jobs > 0; /* those are there that are suspended, too */
}

bool node_out(const struct node *n)
{
    return n->drain || n->fail || n->state != NODE_UP;
}

/* What a word of -t asks: the base, a flag, or one of the words that stand for several. */
enum words_ask {
    ASK_BASE,
    ASK_BUSY,
    ASK_FLAG,
    ASK_DRAINED,
    ASK_DRAINING,
    ASK_FAILING,
    ASK_ALL,
    ASK_NEVER
};

static const struct state_word {
    const char *word;
    enum words_ask ask;
    const char *means;
} state_words[] = {
    {"ALLOC", ASK_BUSY, NULL},
    {"ALLOCATED", ASK_BUSY, NULL},
    {"COMP", ASK_FLAG, "COMPLETING"},
    {"COMPLETING", ASK_FLAG, "COMPLETING"},
    {"DOWN", ASK_BASE, "DOWN"},
    {"DRAIN", ASK_FLAG, "DRAIN"},
    {"DRAINED", ASK_DRAINED, NULL},
    {"DRAINING", ASK_DRAINING, NULL},
    {"DRNG", ASK_DRAINING, NULL},
    {"FAIL", ASK_FLAG, "FAIL"},
    {"FAILING", ASK_FAILING, NULL},
    {"FAILG", ASK_FAILING, NULL},
    {"FUTURE", ASK_BASE, "FUTURE"},
    {"FUTR", ASK_BASE, "FUTURE"},
    {"IDLE", ASK_BASE, "IDLE"},
    {"MAINT", ASK_FLAG, "MAINTENANCE"},
    {"MIX", ASK_BASE, "MIXED"},
    {"MIXED", ASK_BASE, "MIXED"},
    {"NO_RESPOND", ASK_FLAG, "NOT_RESPONDING"},
    {"PLANNED", ASK_FLAG, "PLANNED"},
    {"PLND", ASK_FLAG, "PLANNED"},
    {"RESERVED", ASK_FLAG, "RESERVED"},
    {"RESV", ASK_FLAG, "RESERVED"},
    {"UNKNOWN", ASK_BASE, "UNKNOWN"},
    {"UNK", ASK_BASE, "UNKNOWN"},
    {"ALL", ASK_ALL, NULL},
    /* States of Slurm's that no node here is ever in. */
    {"BLOCKED", ASK_NEVER, NULL},
    {"CLOUD", ASK_NEVER, NULL},
    {"INVAL", ASK_NEVER, NULL},
    {"NPC", ASK_NEVER, NULL},
    {"PERFCTRS", ASK_NEVER, NULL},
    {"POWER_DOWN", ASK_NEVER, NULL},
    {"POWER_UP", ASK_NEVER, NULL},
    {"POWERED_DOWN", ASK_NEVER, NULL},
    {"POWERING_DOWN", ASK_NEVER, NULL},
    {"POWERING_UP", ASK_NEVER, NULL},
    {"REBOOT", ASK_NEVER, NULL},
    {"REBOOT_ISSUED", ASK_NEVER, NULL},
    {"REBOOT_REQUESTED", ASK_NEVER, NULL},
};

static const struct state_word *state_word_of(struct span text)
{
    for (size_t i = 0; i < ARRAY_LEN(state_words); i++)
        if (span_is_nocase(text, state_words[i].word))
            return &state_words[i];
    return NULL;
}

/* Takes the '~' that negates, and a sign as sinfo shows it behind a state, off a word. */
static struct span word_bare(struct span word, bool *ret_negated)
{
    word = span_trim(word);
    *ret_negated = word.len && word.data[0] == '~';
    if (*ret_negated)
        word = (struct span){word.data + 1, word.len - 1};
    if (word.len && strchr("*~#!%$@^+-", word.data[word.len - 1]))
        word.len--;
    return word;
}

/* The first line is Slurm's. */
static bool states_bad(struct span word, struct err *ret_err)
{
    struct str valid = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(state_words) && state_words[i].ask != ASK_NEVER; i++)
        str_addf(&valid, "%s%s", i ? "," : "", state_words[i].word);
    program_error("sinfo", "Bad state string: \"%.*s\"", (int)word.len, word.data);
    err_set(ret_err, ERR_INVALID, "valid states: %s", str_text(&valid));
    str_done(&valid);
    return false;
}

bool node_states_check(const char *states, struct err *ret_err)
{
    struct span rest = span_of(states), either, word;
    while (span_next(&rest, ',', &either)) {
        bool negated;
        for (struct span both = either; span_next(&both, '&', &word);)
            if (word.len && !state_word_of(word_bare(word, &negated)))
                return states_bad(word, ret_err);
    }
    return true;
}

static bool word_fits(const struct node *n, const struct state_word *w)
{
    switch (w->ask) {
    case ASK_ALL: return true;
    case ASK_NEVER: return false;
    case ASK_FLAG: return flag_is(n, w->means);
    case ASK_DRAINED: return n->drain && !node_busy(n);
    case ASK_DRAINING: return n->drain && node_busy(n);
    case ASK_FAILING: return n->fail && node_busy(n);
    case ASK_BUSY: return node_base_is(n, "ALLOCATED") || node_base_is(n, "MIXED");
    case ASK_BASE: break;
    }
    /* Whatever else holds of it: an idle node that is drained is idle, too, as in Slurm. */
    return node_base_is(n, w->means);
}

bool node_states_match(const struct node *n, const char *states)
{
    struct span rest = span_of(states), either, word;
    while (span_next(&rest, ',', &either)) {
        bool fits = true, negated;
        for (struct span both = either; fits && span_next(&both, '&', &word);) {
            const struct state_word *w = state_word_of(word_bare(word, &negated));
            fits = w && word_fits(n, w) != negated;
        }
        if (fits)
            return true;
    }
    return false;
}

/* ---- resources ------------------------------------------------------------------------------ */

void node_gres_used(const struct node *n, struct str *out)
{
    str_add(out, text_empty(n->alloc_gres) ? "gpu:0" : n->alloc_gres);
}

/* ---- devices that are out of use ---- */

static const char *type_of(const struct device_list *devices, const struct device_out *d)
{
    for (size_t i = 0; i < devices->n; i++)
        if (devices->v[i].index == d->index && text_is(devices->v[i].kind, d->kind))
            return devices->v[i].type;
    return NULL;
}

static bool same_type(const struct device_list *devices, const struct device_out *a,
                      const struct device_out *b)
{
    return text_is(a->kind, b->kind) && text_is(type_of(devices, a), type_of(devices, b));
}

void node_gres_drained(const struct node *n, struct str *out)
{
    struct arena *a = arena_new();
    struct device_outs outs = {0};
    struct device_list devices = {0};
    size_t from = out->len;
    device_outs_parse(n->devices_out, a, &outs);
    if (n->devices)
        devices_parse(n->devices, a, &devices, NULL);
    for (size_t i = 0; i < outs.n; i++) {
        struct idset index = IDSET_INIT;
        bool said = device_out_is_process(&outs.v[i]);
        size_t count = 0;
        for (size_t k = 0; k < outs.n; k++) {
            if (!same_type(&devices, &outs.v[i], &outs.v[k]))
                continue;
            said |= k < i;
            count++;
            idset_add(&index, (uint32_t)outs.v[k].index);
        }
        const char *type = type_of(&devices, &outs.v[i]);
        if (!said) {
            str_addf(out, "%s%s%s%s:%zu(IDX:", out->len > from ? "," : "", outs.v[i].kind,
                     type ? ":" : "", type ? type : "", count);
            idset_format(&index, out);
            str_addc(out, ')');
        }
        idset_done(&index);
    }
    if (out->len == from)
        str_add(out, "N/A");
    arena_free(a);
}

void device_out_reason(const struct device_out *d, struct str *out)
{
    str_addf(out, "%s:%d %s: %s", d->kind, d->index,
             device_out_is_process(d) ? "unkillable"
             : d->failed              ? "broken"
                                      : "not clean",
             d->why);
}

void node_reason_fill(struct node *n, struct arena *a)
{
    struct device_outs outs = {0};
    struct str text = STR_INIT;
    if (!text_empty(n->reason) || !device_outs_parse(n->devices_out, a, &outs) ||
        (outs.n == 0 && text_empty(n->device_trouble) && text_empty(n->complaint)))
        return;
    n->reason_us = outs.n ? outs.v[0].since_us : n->daemon_start_us;
    str_add(&text, n->complaint ? n->complaint : "");
    for (size_t i = 0; i < outs.n; i++) {
        str_add(&text, text.len ? "; " : "");
        device_out_reason(&outs.v[i], &text);
        n->reason_us = outs.v[i].since_us < n->reason_us ? outs.v[i].since_us : n->reason_us;
    }
    if (!text_empty(n->device_trouble))
        str_addf(&text, "%s%s", text.len ? "; " : "", n->device_trouble);
    n->reason = arena_strdup(a, str_text(&text));
    n->reason_user = "remuda";
    n->reason_uid = 0;
    str_done(&text);
}

/* ---- TRES ---- */

void node_tres(const struct node *n, bool allocated, struct str *out)
{
    int32_t cpus = allocated ? n->alloc_cpus : n->cpus;
    int64_t mem = allocated ? n->alloc_mem_mib : n->memory_mib;
    if (allocated && cpus <= 0 && mem <= 0 && text_empty(n->alloc_gres))
        return;
    struct str tres = STR_INIT;
    if (cpus > 0 || !allocated)
        str_addf(&tres, ",cpu=%d", cpus);
    if (mem > 0) {
        str_add(&tres, ",mem=");
        size_format_mib(mem, 0, &tres);
    }
    if (!allocated)
        str_addf(&tres, ",billing=%d", cpus);
    gres_text_tres(allocated ? n->alloc_gres : n->gres, &tres);
    str_add(out, str_text(&tres) + (tres.len > 0)); /* less the first comma */
    str_done(&tres);
}

void partition_share_word(const struct partition *p, struct str *out)
{
    str_add(out, enum_name(&part_share_names, p->share));
    if (p->share == SHARE_FORCE || p->share == SHARE_YES)
        str_addf(out, ":%d", p->share_count > 0 ? p->share_count : 4);
}
