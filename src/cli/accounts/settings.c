/* What is set of an association or a QOS, read from the command line's words: one setter a key. */
#include "cli/accounts/settings.h"

#include "base/duration.h"
#include "model/grammar/gpu_idle.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Taken back: "" and -1. */
static bool is_none(const char *value)
{
    return text_empty(value) || text_is(value, "-1");
}

static void field_note(struct taking *t, const char *field)
{
    if (!t->fields.len || !specs_match(str_text(&t->fields), field))
        str_addf(&t->fields, "%s%s", t->fields.len ? "," : "", field);
}

static const char *plain_key(struct sacctmgr *s, const struct spec *sp)
{
    size_t len = strcspn(sp->word, ",");
    return arena_strndup(s->a, sp->word, len);
}

/* Slurm's lines about a value that is none, after ours. */
static bool wrong(struct taking *t, const struct spec *sp)
{
    sacctmgr_refuse(t->s, " Unknown option: %s", sp->typed);
    sacctmgr_refuse(t->s, " Use keyword 'where' to modify condition");
    return false;
}

static bool number_take(struct taking *t, const struct spec *sp, const char *word, int64_t max,
                        int64_t *ret)
{
    if (text_to_i64(sp->value, -1, max, ret))
        return true;
    sacctmgr_fail(t->s, "Invalid value for %s (%s)", word, sp->value);
    sacctmgr_fail(t->s, "%s is a whole number up to %lld, or -1 for none", word, (long long)max);
    return wrong(t, sp);
}

/* ---- what both have ------------------------------------------------------------------------- */

static bool qos_names_check(struct taking *t, const struct spec *sp, const char *list)
{
    struct span rest = span_of(list), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(t->s->a, piece.data, piece.len);
        if (!*name || book_qos(t->b, name))
            continue;
        struct str known = STR_INIT;
        for (size_t i = 0; i < t->b->qos.n; i++)
            if (!t->b->qos.v[i]->q->deleted)
                str_addf(&known, "%s%s", known.len ? "," : "", t->b->qos.v[i]->q->name);
        sacctmgr_fail(t->s, "You gave a bad qos '%s'. Valid QOS's are %s", name, str_text(&known));
        str_done(&known);
        return wrong(t, sp);
    }
    return true;
}

/* A list of QOS: set, or as more and less. */
static bool list_take(struct taking *t, const struct spec *sp, const char *field,
                      const char **ret_set, const char **ret_more, const char **ret_less)
{
    const char *list = is_none(sp->value) ? NULL : name_lowered(sp->value, t->s->a);
    if (list && !qos_names_check(t, sp, list))
        return false;
    if (sp->how == LIST_SET) {
        *ret_set = list;
        field_note(t, field);
    } else if (sp->how == LIST_MORE) {
        *ret_more = list;
        t->st->more[0] = field;
    } else {
        *ret_less = list;
        t->st->more[1] = field;
    }
    return true;
}

static bool priority_take(struct taking *t, const struct spec *sp)
{
    int64_t n;
    if (!number_take(t, sp, "Priority", INT32_MAX, &n))
        return false;
    if (t->of_qos) {
        t->st->qos.priority = n < 0 ? 0 : (uint32_t)n;
        field_note(t, "priority");
    } else {
        t->st->assoc.priority_plus1 = (uint32_t)(n + 1);
        field_note(t, "priority_plus1");
    }
    return true;
}

static bool limit_take(struct taking *t, const struct spec *sp)
{
    struct record_list list = {0};
    struct err e = {0};
    const char *text = sp->value;
    if (sp->tres)
        text = arena_printf(t->s->a, "%s=%s", sp->tres, text);
    const struct resource_limit_row *row = &resource_limit_table[sp->limit];
    bool of_tres = row->unit == UNIT_TRES || row->unit == UNIT_TRES_MINUTES;
    bool ok = limits_parse(sp->limit, text, book_has_tres, (void *)t->b, t->s->a, &list, &e);
    if (ok && !list.n && of_tres)
        ok = err_set(&e, ERR_INVALID,
                     "%s: a resource and how much of it, as in cpu=4; cpu=-1 takes "
                     "the limit back",
                     row->word);
    if (!ok) {
        if (row->unit == UNIT_MINUTES)
            sacctmgr_refuse(t->s, " Bad %s time format: %s", row->heading, sp->typed);
        else if (!of_tres)
            sacctmgr_fail(t->s, "Invalid value for %s (%s)", row->word, sp->value);
        sacctmgr_fail(t->s, "%s", e.text);
        return wrong(t, sp);
    }
    for (size_t i = 0; i < list.n; i++)
        vec_push(&t->limit, ((const struct limit *)list.v)[i]);
    return true;
}

/* ---- associations --------------------------------------------------------------------------- */

static bool shares_take(struct taking *t, const struct spec *sp)
{
    int64_t n;
    field_note(t, "shares");
    if (text_starts_nocase("parent", sp->value) && *sp->value) {
        t->st->assoc.shares = SHARES_PARENT;
        return true;
    }
    if (!number_take(t, sp, "FairShare", INT32_MAX, &n))
        return false;
    t->st->assoc.shares = n < 0 ? 0 : n == 0 ? SHARES_NONE : (int32_t)n;
    return true;
}

static bool default_qos_take(struct taking *t, const struct spec *sp)
{
    const char *name = is_none(sp->value) && *sp->value ? NULL : name_lowered(sp->value, t->s->a);
    if (name && !book_qos(t->b, name)) {
        sacctmgr_refuse(t->s,
                        "You gave a bad default qos '%s'.  Use 'list qos' to get complete list.",
                        sp->value);
        return false;
    }
    t->st->assoc.default_qos = name;
    field_note(t, "default_qos");
    return true;
}

static bool assoc_take(struct taking *t, const struct spec *sp)
{
    struct sacctmgr_given *st = t->st;
    switch ((int)sp->key) {
    case KEY_FAIRSHARE: return shares_take(t, sp);
    case KEY_PRIORITY: return priority_take(t, sp);
    case KEY_DEFAULT_QOS: return default_qos_take(t, sp);
    case KEY_QOS_LIST:
        return list_take(t, sp, "qos", &st->assoc.qos, &st->assoc_more[0].qos,
                         &st->assoc_more[1].qos);
    case KEY_COMMENT:
        st->assoc.comment = text_empty(sp->value) ? NULL : sp->value;
        field_note(t, "comment");
        return true;
    case KEY_PARENT:
        st->assoc.parent = name_lowered(sp->value, t->s->a);
        field_note(t, "parent");
        return true;
    default: return true; /* of the user or account itself */
    }
}

/* ---- QOS ------------------------------------------------------------------------------------ */

static bool span_take(struct taking *t, const struct spec *sp, bool seconds, const char *field,
                      int64_t *ret)
{
    struct err e = {0};
    int64_t n;
    field_note(t, field);
    if (is_none(sp->value)) {
        *ret = 0;
        return true;
    }
    if (seconds && text_to_i64(sp->value, 0, INT32_MAX, &n)) {
        *ret = n * USEC_PER_SEC;
        return true;
    }
    if (duration_parse(sp->value, ret, &e) && *ret != TIME_UNLIMITED)
        return true;
    if (seconds) {
        sacctmgr_fail(t->s, "Invalid value for GraceTime (%s)", sp->value);
        sacctmgr_fail(t->s, "GraceTime is a number of seconds, or a time as in 00:10:00");
        return false;
    }
    sacctmgr_refuse(t->s, " Bad %s time format: %s=%s", plain_key(t->s, sp), plain_key(t->s, sp),
                    sp->value);
    return false;
}

static bool factor_take(struct taking *t, const struct spec *sp, const char *field, int64_t *ret)
{
    double value = 0;
    char after;
    field_note(t, field);
    *ret = 0;
    if (is_none(sp->value))
        return true;
    if (sscanf(sp->value, "%lf%c", &value, &after) != 1 || !(value >= 0 && value <= 1e6)) {
        const char *key = sp->key == KEY_USAGE_FACTOR      ? "UsageFactor"
                          : sp->key == KEY_USAGE_THRESHOLD ? "UsageThreshold"
                                                           : "LimitFactor";
        sacctmgr_fail(t->s, "Invalid value for %s (%s)", key, sp->value);
        sacctmgr_fail(t->s, "%s is a number from 0, or -1 for none", key);
        return wrong(t, sp);
    }
    *ret = (int64_t)(value * 1e6 + 0.5) + 1;
    return true;
}

static bool flags_take(struct taking *t, const struct spec *sp)
{
    struct err e = {0};
    uint32_t bits = 0;
    if (!is_none(sp->value) &&
        !flag_words_parse(qos_flag_words, QOS_FLAG_COUNT, sp->value, &bits, &e)) {
        say_unknown_flags(sp->value);
        sacctmgr_fail(t->s, "%s", e.text);
        return false;
    }
    if (sp->how == LIST_SET) {
        t->st->qos.flags = bits;
        field_note(t, "flags");
    } else {
        int less = sp->how == LIST_LESS;
        t->st->qos_more[less].flags = bits;
        t->st->more[less] = t->st->more[less] ? "preempt,flags" : "flags";
    }
    return true;
}

static bool preempt_take(struct taking *t, const struct spec *sp)
{
    struct sacctmgr_given *st = t->st;
    bool both[2] = {st->more[0] != NULL, st->more[1] != NULL};
    if (!list_take(t, sp, "preempt", &st->qos.preempt, &st->qos_more[0].preempt,
                   &st->qos_more[1].preempt))
        return false;
    for (int i = 0; i < 2; i++)
        if (both[i])
            st->more[i] = "preempt,flags";
    return true;
}

static bool preempt_mode_take(struct taking *t, const struct spec *sp)
{
    int32_t mode = PREEMPT_UNSET;
    if (!is_none(sp->value) && !preempt_mode_of(sp->value, &mode)) {
        sacctmgr_refuse(t->s, " Bad Preempt Mode given: preemptmode=%s", sp->value);
        sacctmgr_fail(t->s, "PreemptMode is cluster, cancel, requeue, suspend, gang or off");
        return false;
    }
    t->st->qos.preempt_mode = mode;
    field_note(t, "preempt_mode");
    return true;
}

/* "none" is a policy: that nothing is done. Without one, that of the partition holds. */
static bool gpu_idle_take(struct taking *t, const struct spec *sp)
{
    struct gpu_idle read;
    struct err e = {0};
    const char *value = text_empty(sp->value) || text_is(sp->value, "-1") ? NULL : sp->value;
    if (!gpu_idle_parse(value, &read, &e)) {
        sacctmgr_fail(t->s, "%s", e.text);
        return wrong(t, sp);
    }
    t->st->qos.gpu_idle = value;
    field_note(t, "gpu_idle");
    return true;
}

static bool qos_take(struct taking *t, const struct spec *sp)
{
    struct qos *q = &t->st->qos;
    switch ((int)sp->key) {
    case KEY_PRIORITY: return priority_take(t, sp);
    case KEY_DESCRIPTION:
        q->description = sp->value;
        field_note(t, "description");
        return true;
    case KEY_FLAGS: return flags_take(t, sp);
    case KEY_PREEMPT: return preempt_take(t, sp);
    case KEY_PREEMPT_MODE: return preempt_mode_take(t, sp);
    case KEY_EXEMPT_TIME:
        return span_take(t, sp, false, "preempt_exempt_us", &q->preempt_exempt_us);
    case KEY_GPU_IDLE: return gpu_idle_take(t, sp);
    case KEY_GRACE_TIME: return span_take(t, sp, true, "grace_us", &q->grace_us);
    case KEY_USAGE_FACTOR:
        return factor_take(t, sp, "usage_factor_e6_plus1", &q->usage_factor_e6_plus1);
    case KEY_USAGE_THRESHOLD:
        return factor_take(t, sp, "usage_threshold_e6_plus1", &q->usage_threshold_e6_plus1);
    case KEY_LIMIT_FACTOR:
        return factor_take(t, sp, "limit_factor_e6_plus1", &q->limit_factor_e6_plus1);
    default: return true;
    }
}

static bool usage_take(struct taking *t, const struct spec *sp)
{
    t->st->no_usage = text_is(sp->value, "0");
    if (t->st->no_usage)
        return true;
    sacctmgr_fail(t->s, "Raw usage can only be set to 0 (zero)");
    return false;
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool one_take(struct taking *t, const struct spec *one)
{
    if (one->is_limit)
        return limit_take(t, one);
    if (one->key == KEY_RAW_USAGE)
        return usage_take(t, one);
    return t->of_qos ? qos_take(t, one) : assoc_take(t, one);
}

static bool is_signed(const struct spec *sp)
{
    bool list = sp->key == KEY_QOS_LIST || sp->key == KEY_PREEMPT || sp->key == KEY_FLAGS,
         found = false;
    struct span rest = span_of(sp->value), piece;
    while (list && !sp->is_limit && sp->how == LIST_SET && !is_none(sp->value) &&
           span_next(&rest, ',', &piece))
        found |= piece.len && (piece.data[0] == '+' || piece.data[0] == '-');
    return found;
}

/* "=+a,-b,+c" is "+=a,c" and "-=b". */
static bool signed_take(struct taking *t, const struct spec *sp)
{
    struct span rest = span_of(sp->value), piece;
    const char *lists[2] = {NULL, NULL}; /* more, less */
    bool ok = true;
    while (span_next(&rest, ',', &piece)) {
        int less = piece.len && piece.data[0] == '-';
        if (!less && !(piece.len && piece.data[0] == '+')) {
            sacctmgr_fail(t->s,
                          "You can't set %s equal to something and then add or subtract from it in "
                          "the same line",
                          sp->key == KEY_QOS_LIST ? "qos" : plain_key(t->s, sp));
            return wrong(t, sp);
        }
        const char *name = arena_strndup(t->s->a, piece.data + 1, piece.len - 1);
        lists[less] = lists[less] ? arena_printf(t->s->a, "%s,%s", lists[less], name) : name;
    }
    for (int less = 0; less < 2 && ok; less++) {
        struct spec part = *sp;
        part.how = less ? LIST_LESS : LIST_MORE;
        part.value = lists[less];
        ok = !lists[less] || one_take(t, &part);
    }
    return ok;
}

bool settings_read(struct sacctmgr *s, const struct book *b, const struct specs *sp,
                   struct sacctmgr_given *ret)
{
    struct taking t = {.s = s, .b = b, .st = ret, .of_qos = sp->entity == ENTITY_QOS};
    bool ok = true;
    *ret = (struct sacctmgr_given){0};
    for (size_t i = 0; i < sp->set.n && ok; i++) {
        const struct spec *one = &sp->set.v[i];
        ok = is_signed(one) ? signed_take(&t, one) : one_take(&t, one);
    }
    ret->limits.n = t.limit.n;
    ret->limits.v = arena_dup(s->a, t.limit.n ? (void *)t.limit.v : (void *)"",
                              t.limit.n * sizeof t.limit.v[0]);
    ret->fields = t.fields.len ? arena_strdup(s->a, str_text(&t.fields)) : NULL;
    if (ok && t.of_qos)
        qos_settings_say(&t);
    else if (ok)
        assoc_settings_say(&t, sp);
    vec_done(&t.limit);
    str_done(&t.fields);
    return ok;
}

void settings_done(struct sacctmgr_given *st)
{
    str_done(&st->said);
}

void settings_to_assoc(struct changes *c, const struct sacctmgr_given *st, enum account_verb verb,
                       const struct assoc *key)
{
    struct assoc a = st->assoc;
    a.account = key->account;
    a.user = key->user;
    a.partition = key->partition;
    a.parent = a.parent ? a.parent : key->parent;
    if (verb == VERB_ADD || st->fields || st->limits.n || st->no_usage) {
        struct account_change *ch = change_assoc(c, NOUN_ASSOC, verb, st->fields, &a);
        ch->limits = st->limits;
        ch->no_usage = st->no_usage;
    }
    for (int i = 0; i < 2; i++)
        if (st->more[i]) {
            a.qos = st->assoc_more[i].qos;
            change_assoc(c, NOUN_ASSOC, VERB_MODIFY, st->more[i], &a)->list =
                i ? LIST_LESS : LIST_MORE;
        }
}

void settings_to_qos(struct changes *c, const struct sacctmgr_given *st, enum account_verb verb,
                     const char *name)
{
    struct qos q = st->qos;
    q.name = name;
    if (verb == VERB_ADD || st->fields || st->limits.n || st->no_usage) {
        struct account_change *ch = change_qos(c, verb, st->fields, &q);
        ch->limits = st->limits;
        ch->no_usage = st->no_usage;
    }
    for (int i = 0; i < 2; i++)
        if (st->more[i]) {
            q.preempt = st->qos_more[i].preempt;
            q.flags = st->qos_more[i].flags;
            change_qos(c, VERB_MODIFY, st->more[i], &q)->list = i ? LIST_LESS : LIST_MORE;
        }
}
