/* Users=, Groups= and Accounts= of a reservation: whom it is for, by name, or whom it is not for,
 * each name with '-' before it. += and -= of a list say who may use it from then on: of one that
 * denies, -= denies these, too, and += denies them no more. In an update names that have a sign of
 * their own (Users=-bob) mean the same. A number is the name that has it: jobs are known by
 * names. */
#include "base/alloc.h"
#include "base/list.h"
#include "base/vec.h"
#include "cli/program/room.h"
#include "cli/scontrol/reservation.h"

#include <string.h>

/* The names of a value. */
struct resv_names {
    struct arena *a;
    enum resv_people kind;
    char own; /* the sign that each has, '\0' = none */
    VEC(const char *) v;
};

/* The name of the user, group or account that a word means; NULL = there is none. */
static const char *name_meant(const struct resv_names *n, const char *word)
{
    uint64_t number;
    bool is_number = text_to_u64(word, UINT32_MAX - 1, &number);
    if (n->kind == RESV_ACCOUNTS ||
        (n->kind == RESV_USERS ? user_by_name(word) != NULL : group_by_name(word) != NULL))
        return word;
    if (!is_number)
        return NULL;
    const struct passwd *user = n->kind == RESV_USERS ? user_by_uid((uid_t)number) : NULL;
    const struct group *group = n->kind == RESV_GROUPS ? group_by_gid((gid_t)number) : NULL;
    const char *name = user ? user->pw_name : group ? group->gr_name : NULL;
    return name ? arena_strdup(n->a, name) : NULL;
}

static char sign_take(struct span *word)
{
    char sign = word->len ? word->data[0] : '\0';
    if (sign != '-' && sign != '+')
        return '\0';
    *word = (struct span){word->data + 1, word->len - 1};
    return sign;
}

/* False: it names nobody, or somebody who is not there, or not all of its names have the same
 * sign. */
static bool names_read(struct resv_names *n, const char *value)
{
    struct span rest = span_of(value), word;
    while (span_next(&rest, ',', &word)) {
        word = span_trim(word);
        char own = sign_take(&word);
        if (!word.len)
            continue;
        const char *name = name_meant(n, arena_strndup(n->a, word.data, word.len));
        if (!name || (n->v.n && own != n->own))
            return false;
        n->own = own;
        vec_push(&n->v, name);
    }
    return n->v.n > 0;
}

static bool is_named(const struct resv_names *n, const char *name)
{
    for (size_t i = 0; i < n->v.n; i++)
        if (text_is(n->v.v[i], name))
            return true;
    return false;
}

/* `old` without the names, and with them again if they are to be listed. */
static const char *list_make(const struct resv_names *n, const char *old, bool denies, bool adds)
{
    struct span rest = span_of(old ? old : ""), word;
    struct str out = STR_INIT;
    while (span_next(&rest, ',', &word)) {
        word = span_trim(word);
        char own = sign_take(&word);
        const char *said = arena_strndup(n->a, word.data, word.len), *name = name_meant(n, said);
        name = name ? name : said;
        if (*name && !is_named(n, name))
            list_addf(&out, "%s%s", own == '-' ? "-" : "", name);
    }
    for (size_t i = 0; adds && i < n->v.n; i++)
        list_addf(&out, "%s%s", denies ? "-" : "", n->v.v[i]);
    const char *text = out.len ? arena_strdup(n->a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

/* What the names do to the list; false: they cannot. */
static bool names_apply(const struct resv_names *n, const char *old, char sign, bool create,
                        const char **ret)
{
    if (n->own && (sign || (create && n->own == '+')))
        return false;
    if (!sign && !create)
        sign = n->own;
    if (!sign)
        old = NULL;
    bool denies = text_empty(old) ? sign == '-' || n->own == '-' : old[strspn(old, " ")] == '-';
    bool adds = !sign || (sign == '+') != denies;
    if (n->kind == RESV_GROUPS && denies && adds)
        return false; /* groups are not denied */
    *ret = list_make(n, old, denies, adds);
    return true;
}

const char *scontrol_reservation_people(struct arena *a, enum resv_people kind, const char *old,
                                        const char *value, char sign, bool create, const char **ret)
{
    static const char *const wrong[] = {
        [RESV_USERS] = "Invalid user id",
        [RESV_GROUPS] = "Invalid group id",
        [RESV_ACCOUNTS] = "Invalid account or account/partition combination specified"};
    struct resv_names n = {.a = a, .kind = kind};
    *ret = text_empty(value) ? sign ? old : NULL : value;
    bool ok =
        text_empty(value) || (names_read(&n, value) && names_apply(&n, old, sign, create, ret));
    vec_done(&n.v);
    return ok ? NULL : wrong[kind];
}
