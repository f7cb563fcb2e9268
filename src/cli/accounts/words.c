/* The words after an entity: conditions and what is set, in any letter case, cut short as Slurm
 * lets them. */
#include "cli/accounts/accounts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct key_row {
    const char *words;
    size_t least;
    unsigned where, set; /* bits of enum entity */
};
static const struct key_row keys[KEY_COUNT] = {
#define X(key, words, least, where, set) [KEY_##key] = {words, least, where, set},
    KEYS(X)
#undef X
};

static const struct {
    const char *word;
    size_t least;
} entities[ENTITY_COUNT] = {
#define X(name, word, least) [ENTITY_##name] = {word, least},
    ENTITIES(X)
#undef X
};

/* Limits of one resource, as Slurm had them before there were others. */
static const struct {
    const char *word, *tres;
    enum resource_limit limit;
} of_one[] = {
    {"GrpCPUs", "cpu", LIMIT_GRP_TRES}, /* the shorter words first: GrpCPU means CPUs */
    {"GrpCPUMins", "cpu", LIMIT_GRP_TRES_MINS},
    {"GrpCPURunMins", "cpu", LIMIT_GRP_TRES_RUN_MINS},
    {"GrpMemory", "mem", LIMIT_GRP_TRES},
    {"GrpNodes", "node", LIMIT_GRP_TRES},
    {"MaxCPUsPerJob", "cpu", LIMIT_MAX_TRES},
    {"MaxCPUMinsPerJob", "cpu", LIMIT_MAX_TRES_MINS},
    {"MaxNodesPerJob", "node", LIMIT_MAX_TRES},
    {"MaxCPUsPerUser", "cpu", LIMIT_MAX_TRES_PER_USER},
    {"MaxNodesPerUser", "node", LIMIT_MAX_TRES_PER_USER},
    {"MinCPUsPerJob", "cpu", LIMIT_MIN_TRES},
};

/* The word, or its beginning of at least that many letters. */
static bool begins(const char *word, const char *asked, size_t least)
{
    size_t len = strlen(asked);
    return len <= strlen(word) && strncasecmp(word, asked, len) == 0 &&
           (len >= least || len == strlen(word));
}

const char *entity_word(enum entity entity)
{
    return entities[entity].word;
}

bool entity_find(const char *word, enum entity *ret)
{
    char *plural = NULL;
    size_t len = strlen(word);
    struct str one = STR_INIT;
    bool found = false;
    str_add(&one, word);
    if (len > 1 && tolower((unsigned char)word[len - 1]) == 's')
        str_cut(&one, len - 1);
    plural = one.data;
    for (int i = 0; i < ENTITY_COUNT && !found; i++)
        if (begins(entities[i].word, word, entities[i].least) ||
            (plural && begins(entities[i].word, plural, entities[i].least)) ||
            (i == ENTITY_ACCOUNT && begins("acct", word, 4)) ||
            (i == ENTITY_RESERVATION && begins("resv", word, 4)) ||
            (i == ENTITY_TRANSACTION && begins("txn", word, 1))) {
            *ret = (enum entity)i;
            found = true;
        }
    str_done(&one);
    return found;
}

static bool key_has(const struct key_row *row, const char *asked)
{
    struct span rest = span_of(row->words), word;
    while (span_next(&rest, ',', &word)) {
        size_t len = strlen(asked);
        if (len <= word.len && strncasecmp(word.data, asked, len) == 0 &&
            (len >= row->least || len == word.len))
            return true;
    }
    return false;
}

/* The key as a condition (or, with `set`, as what is set). */
static bool key_find(enum entity entity, bool set, const char *asked, struct spec *sp)
{
    for (int pass = 0; pass < 2; pass++) /* the whole word first */
        for (int i = 0; i < KEY_COUNT; i++) {
            const struct key_row *row = &keys[i];
            struct span rest = span_of(row->words), word;
            bool whole = false;
            if (!((set ? row->set : row->where) >> entity & 1u))
                continue;
            while (span_next(&rest, ',', &word))
                whole |= span_is_nocase(word, asked);
            if (pass ? key_has(row, asked) : whole) {
                sp->key = (enum sacctmgr_key)i;
                sp->word = row->words;
                return true;
            }
        }
    return false;
}

static bool limit_find(enum entity entity, const char *asked, struct spec *sp)
{
    enum limit_owner owner = entity == ENTITY_QOS ? OWNER_QOS : OWNER_ASSOC;
    if (!((TREE | ON(QOS) | ON(CLUSTER)) >> entity & 1u))
        return false;
    for (size_t i = 0; i < sizeof of_one / sizeof of_one[0]; i++)
        if ((resource_limit_table[of_one[i].limit].owners >> owner & 1u) &&
            begins(of_one[i].word, asked, 6) && strlen(asked) >= 6) {
            sp->is_limit = true;
            sp->limit = of_one[i].limit;
            sp->tres = of_one[i].tres;
            sp->word = of_one[i].word;
            return true;
        }
    sp->is_limit = resource_limit_find(asked, owner, 4, &sp->limit);
    if (sp->is_limit)
        sp->word = resource_limit_table[sp->limit].word;
    return sp->is_limit;
}

/* "key+=value" taken apart; quotes around the value go. False: there is no '='. */
static bool word_split(struct sacctmgr *s, const char *word, const char **ret_key, struct spec *sp)
{
    const char *equals = strchr(word, '=');
    if (!equals)
        return false;
    size_t len = (size_t)(equals - word);
    sp->typed = word;
    sp->how = LIST_SET;
    if (len && (word[len - 1] == '+' || word[len - 1] == '-')) {
        sp->how = word[len - 1] == '+' ? LIST_MORE : LIST_LESS;
        len--;
    }
    *ret_key = arena_strndup(s->a, word, len);
    const char *value = equals + 1;
    size_t n = strlen(value);
    if (n > 1 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0])
        value = arena_strndup(s->a, value + 1, n - 2);
    sp->value = value;
    return true;
}

static bool unknown(struct sacctmgr *s, enum entity entity, const char *word, bool set)
{
    if (set && entity == ENTITY_ACCOUNT && text_starts_nocase(word, "name=")) {
        sacctmgr_refuse(s, " Can't modify the name of an account");
    } else if (set && entity == ENTITY_ACCOUNT && text_starts_nocase(word, "cluster")) {
        sacctmgr_refuse(s, " Can't modify the cluster of an account");
    } else if (set && (entity == ENTITY_QOS || entity == ENTITY_JOB)) { /* where Slurm says it */
        printf(" Unknown option: %s\n Use keyword 'where' to modify condition\n", word);
        s->rc = 1;
    } else if (set && entity != ENTITY_COORDINATOR) {
        sacctmgr_refuse(s, " Unknown option: %s", word);
        sacctmgr_refuse(s, " Use keyword 'where' to modify condition");
    } else {
        sacctmgr_refuse(s, " Unknown condition: %s", word);
        if (entity != ENTITY_ASSOC)
            sacctmgr_refuse(s, " Use keyword 'set' to modify value");
    }
    return false;
}

/* A word without '=': a flag, or a name. False: it can be neither. */
static bool bare_take(enum entity entity, const char *word, struct specs *ret)
{
    struct spec sp = {.key = KEY_NAMES, .value = word};
    struct spec flag = {.value = ""};
    bool flags =
        key_find(entity, false, word, &flag) &&
        (flag.key >= KEY_WITH_ASSOC || flag.key == KEY_TREE || flag.key == KEY_ONLY_DEFAULTS ||
         flag.key == KEY_ALL_TIME || flag.key == KEY_ALL_CLUSTERS) &&
        strlen(word) >= 4;
    if (!flags && (entity == ENTITY_RESERVATION || entity == ENTITY_JOB))
        return false;
    vec_push(&ret->where, flags ? flag : sp);
    return true;
}

static bool spec_take(struct sacctmgr *s, enum spec_mode mode, bool setting, const char *word,
                      struct specs *ret)
{
    struct spec sp = {0};
    const char *key;
    if (!word_split(s, word, &key, &sp)) {
        if (setting)
            return unknown(s, ret->entity, word, true);
        return bare_take(ret->entity, word, ret) || unknown(s, ret->entity, word, false);
    }
    bool where = (mode != SPECS_SET || !setting) && key_find(ret->entity, false, key, &sp);
    if (where && !(mode == SPECS_MIXED && keys[sp.key].set >> ret->entity & 1u)) {
        vec_push(&ret->where, sp);
        return true;
    }
    if (mode == SPECS_WHERE || (mode == SPECS_SET && !setting))
        return unknown(s, ret->entity, word, false);
    if (!key_find(ret->entity, true, key, &sp) && !limit_find(ret->entity, key, &sp))
        return unknown(s, ret->entity, word, true);
    vec_push(&ret->set, sp);
    return true;
}

bool specs_read(struct sacctmgr *s, enum entity entity, enum spec_mode mode, int n, char **word,
                struct specs *ret)
{
    bool setting = mode == SPECS_MIXED, known = true; /* each that is not is named */
    *ret = (struct specs){.entity = entity, .mode = mode};
    for (int i = 0; i < n; i++) {
        if (text_is_nocase(word[i], "where"))
            setting = mode == SPECS_MIXED;
        else if (text_is_nocase(word[i], "set"))
            setting = mode != SPECS_WHERE;
        else
            known &= spec_take(s, mode, setting && (mode == SPECS_SET || strchr(word[i], '=')),
                               word[i], ret);
    }
    return known;
}

void specs_done(struct specs *sp)
{
    vec_done(&sp->where);
    vec_done(&sp->set);
}

/* Accounts and QOS are kept in small letters, as in Slurm. */
static bool is_lower(enum sacctmgr_key key, enum entity entity)
{
    return key == KEY_ACCOUNTS || key == KEY_QOS_LIST || key == KEY_DEFAULT_QOS ||
           key == KEY_PARENT || key == KEY_DEFAULT_ACCOUNT ||
           (key == KEY_NAMES && (entity == ENTITY_ACCOUNT || entity == ENTITY_QOS));
}

char *name_lowered(const char *name, struct arena *a)
{
    char *low = arena_strdup(a, name);
    for (char *p = low; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return low;
}

static const char *value_of(const struct specs *sp, const struct spec *one, struct arena *a)
{
    return is_lower(one->key, sp->entity) ? name_lowered(one->value, a)
                                          : arena_strdup(a, one->value);
}

const char *specs_where(const struct specs *sp, enum sacctmgr_key key, struct arena *a)
{
    const char *list = NULL;
    for (size_t i = 0; i < sp->where.n; i++)
        if (sp->where.v[i].key == key) {
            const char *value = value_of(sp, &sp->where.v[i], a);
            list = list ? arena_printf(a, "%s,%s", list, value) : value;
        }
    return list;
}

bool specs_flag(const struct specs *sp, enum sacctmgr_key key)
{
    for (size_t i = 0; i < sp->where.n; i++)
        if (sp->where.v[i].key == key)
            return true;
    return false;
}

static bool chooses(const struct specs *sp, enum sacctmgr_key key)
{
    unsigned of = 1u << sp->entity;
    switch ((int)key) {
    case KEY_NAMES:
    case KEY_CLUSTERS:
    case KEY_FORMAT: return true;
    case KEY_ACCOUNTS:
        return of & (1u << ENTITY_USER | 1u << ENTITY_ASSOC | 1u << ENTITY_COORDINATOR);
    case KEY_USERS: return sp->entity != ENTITY_ACCOUNT || sp->mode == SPECS_SET;
    case KEY_PARTITIONS: return of & (1u << ENTITY_USER | 1u << ENTITY_ASSOC);
    case KEY_IDS:
    case KEY_QOS_LIST: return sp->entity == ENTITY_QOS;
    case KEY_DESCRIPTION:
    case KEY_ORGANIZATION: return sp->entity == ENTITY_QOS || sp->entity == ENTITY_ACCOUNT;
    case KEY_PARENT: return of & (1u << ENTITY_ACCOUNT | 1u << ENTITY_ASSOC);
    case KEY_DEFAULT_ACCOUNT:
    case KEY_ADMIN_LEVEL: return sp->entity == ENTITY_USER;
    default: return key >= KEY_WITH_ASSOC || key == KEY_TREE;
    }
}

const struct spec *specs_idle(const struct specs *sp)
{
    for (size_t i = 0; i < sp->where.n; i++)
        if (!chooses(sp, sp->where.v[i].key))
            return &sp->where.v[i];
    return NULL;
}

const struct spec *specs_set(const struct specs *sp, enum sacctmgr_key key)
{
    for (size_t i = sp->set.n; i > 0; i--)
        if (!sp->set.v[i - 1].is_limit && sp->set.v[i - 1].key == key)
            return &sp->set.v[i - 1];
    return NULL;
}

const char *spec_value(const char *word, const char *key)
{
    const char *equals = strchr(word, '=');
    if (!equals)
        return NULL;
    size_t len = (size_t)(equals - word);
    return len && len <= strlen(key) && strncasecmp(word, key, len) == 0 ? equals + 1 : NULL;
}

bool specs_match(const char *list, const char *word)
{
    struct span rest = span_of(list ? list : ""), piece;
    if (!list)
        return true;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len > 1 && (piece.data[0] == '\'' || piece.data[0] == '"')) {
            piece.data++;
            piece.len -= 2;
        }
        if (word ? span_is(piece, word) : !piece.len)
            return true;
    }
    return false;
}

bool actions_check(struct sacctmgr *s, const struct specs *sp)
{
    static const char *const known[] = {
        "Add Accounts",        "Add Account Coord",
        "Add Associations",    "Add Clusters",
        "Add Federations",     "Add QOS",
        "Add Resources",       "Add TRES",
        "Add Users",           "Add WCKeys",
        "Modify Accounts",     "Modify Associations",
        "Modify Clusters",     "Modify Federations",
        "Modify Job",          "Modify QOS",
        "Modify Resources",    "Modify Users",
        "Remove Accounts",     "Remove Account Coords",
        "Remove Associations", "Remove Clusters",
        "Remove Federations",  "Remove QOS",
        "Remove Resources",    "Remove Users",
        "Remove WCKeys",       "Refund Job",
    };
    const char *asked = specs_where(sp, KEY_ACTION, s->a);
    struct span rest = span_of(asked ? asked : ""), piece;
    while (asked && span_next(&rest, ',', &piece)) {
        bool is = false;
        piece = span_trim(piece);
        for (size_t i = 0; i < ARRAY_LEN(known) && !is; i++)
            is = span_is_nocase(piece, known[i]);
        if (!is) {
            sacctmgr_fail(s, "You gave a bad action '%.*s'.", (int)piece.len, piece.data);
            return false;
        }
    }
    return true;
}

void say_unknown_flags(const char *asked)
{
    printf(" Unknown QOS flag used in:\n  '%s'\n Valid QOS flags are\n  '", asked);
    for (size_t i = 0; i < QOS_FLAG_COUNT; i++)
        printf("%s%s", i ? "," : "", qos_flag_words[i].word);
    puts("'");
}

bool preempt_mode_of(const char *text, int32_t *ret)
{
    char one[16];
    const char *comma = strchr(text, ',');
    if (!comma)
        return enum_value(&preempt_mode_names, text, ret);
    bool first = text_starts_nocase(text, "gang,"), last = text_is_nocase(comma + 1, "gang");
    size_t len = first ? strlen(comma + 1) : (size_t)(comma - text);
    if ((!first && !last) || len >= sizeof one)
        return false;
    memcpy(one, first ? comma + 1 : text, len);
    one[len] = 0;
    return enum_value(&preempt_mode_names, one, ret);
}
