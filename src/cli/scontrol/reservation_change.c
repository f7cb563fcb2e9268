/* scontrol create, update and delete of reservations. += and -= are worked out here, from the
 * reservation as it is. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/program/localtime.h"
#include "cli/record/reservation_words.h"
#include "cli/scontrol/reservation.h"
#include "cli/table/listing.h"
#include "model/limits.h"

#include <stdio.h>
#include <string.h>

struct resv_change {
    struct scontrol *s;
    const char *fields;
    struct reservation r, old; /* old: as it is, when += and -= need it */
    const char *wrong;         /* with whom it is for, in Slurm's words; NULL = nothing */
    bool create, looked, skip;
    const char *word; /* at hand */
    bool unknown;     /* it has a key that there is not */
    bool fixed;       /* nothing is added to what its key says */
};

static bool set(struct resv_change *c, const char *field)
{
    c->fields = listing_join(c->fields, field, c->s->a);
    return true;
}

static bool old_find(struct resv_change *c, struct err *ret_err)
{
    struct resv_found f;
    if (c->looked || c->create)
        return true;
    if (!scontrol_reservations_load(c->s, &f))
        return err_set(ret_err, ERR_NOT_FOUND, "the reservation cannot be read");
    for (size_t i = 0; i < f.v.n; i++)
        if (text_is(f.v.v[i]->name, c->r.name))
            c->old = *f.v.v[i];
    vec_done(&f.v);
    c->looked = true;
    return true;
}

static bool take_nodes(struct resv_change *c, const char *value, char sign, struct err *ret_err)
{
    if (c->create && sign == '-')
        return err_set(ret_err, ERR_INVALID,
                       "a new reservation has no nodes: Nodes=LIST says which");
    if (!sign || c->create) {
        c->r.nodes = text_empty(value) ? NULL : value;
        return set(c, "nodes");
    }
    if (!old_find(c, ret_err) ||
        !scontrol_nodes_change(c->s->a, c->old.nodes, value, sign, &c->r.nodes, ret_err))
        return false;
    if (text_empty(c->r.nodes))
        return err_set(ret_err, ERR_INVALID,
                       "none would be left of %s; `scontrol delete ReservationName=%s` ends it",
                       c->old.nodes, c->r.name);
    return set(c, "nodes");
}

/* What is wrong is said when all words are read. */
static bool take_people(struct resv_change *c, enum resv_people kind, const char *value, char sign,
                        struct err *ret_err)
{
    static const struct {
        const char *field;
        size_t offset;
    } rows[] = {[RESV_USERS] = {"users", offsetof(struct reservation, users)},
                [RESV_GROUPS] = {"groups", offsetof(struct reservation, groups)},
                [RESV_ACCOUNTS] = {"accounts", offsetof(struct reservation, accounts)}};
    const char **to = (const char **)((char *)&c->r + rows[kind].offset);
    if (!old_find(c, ret_err))
        return false;
    bool again = c->fields && listing_has(c->fields, rows[kind].field);
    const char *old = again ? *to : *(const char **)((char *)&c->old + rows[kind].offset);
    const char *wrong = scontrol_reservation_people(c->s->a, kind, old, value, sign, c->create, to);
    c->wrong = c->wrong ? c->wrong : wrong;
    return set(c, rows[kind].field);
}

static bool take_time(int64_t *to, const char *value, struct err *ret_err)
{
    return civil_parse(value, time_now_us(), &civil_local, true, to, ret_err);
}

static bool take_length(struct resv_change *c, const char *value, char sign, struct err *ret_err)
{
    int64_t us;
    if (!duration_parse(value, &us, ret_err) || (sign && !old_find(c, ret_err)))
        return false;
    int64_t old = c->old.end_us - c->old.start_us;
    c->r.duration_us = sign == '+' ? time_add(old, us) : sign == '-' ? old - us : us;
    return set(c, "duration_us");
}

static bool take_count(struct resv_change *c, const char *value, char sign, struct err *ret_err)
{
    struct span rest = span_of(value), piece;
    int64_t sum = 0, one;
    if (sign && !old_find(c, ret_err))
        return false;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(c->s->a, piece.data, piece.len);
        if (!count_parse(word, &one, ret_err))
            return false;
        sum = sum > LIMIT_NODES || one > LIMIT_NODES ? LIMIT_NODES + 1 : sum + one;
    }
    sum = sign == '+' ? c->old.node_count + sum : sign == '-' ? c->old.node_count - sum : sum;
    if (sum < 1 || sum > LIMIT_NODES)
        return err_set(ret_err, ERR_INVALID, "a number of nodes is expected, not \"%s\"", value);
    c->r.node_count = (int32_t)sum;
    return set(c, "node_count");
}

/* As in Slurm, Flags= adds like Flags+=; Flags-= takes away. */
static bool take_flags(struct resv_change *c, const char *value, char sign, struct err *ret_err)
{
    uint32_t flags = 0;
    if (!resv_flags_parse(value, &flags, &c->r.purge_us, ret_err) || !old_find(c, ret_err))
        return false;
    for (int i = 0; sign == '-' && i < RESV_FLAG_COUNT; i++)
        if ((flags >> i & 1) && resv_flag_table[i].sign != '-')
            return err_set(ret_err, ERR_INVALID, "%s cannot be taken away",
                           resv_flag_table[i].name);
    if (sign == '-')
        flags = c->old.flags & ~flags;
    else if (flags & RESV_RECURRING)
        flags |= c->old.flags & ~(uint32_t)RESV_RECURRING;
    else
        flags |= c->old.flags;
    c->r.flags = flags;
    if (c->r.purge_us == 0)
        c->r.purge_us = c->old.purge_us;
    return set(c, "flags") && set(c, "purge_us");
}

static bool take_tres(struct resv_change *c, const char *value, struct err *ret_err)
{
    struct resv_asked asked = {.node_count = 0};
    if (!resv_tres_parse(value, c->s->a, &asked, ret_err))
        return false;
    if (asked.cores)
        c->r.core_counts = asked.cores, set(c, "core_counts");
    if (asked.node_count)
        c->r.node_count = asked.node_count, set(c, "node_count");
    if (asked.licenses)
        c->r.licenses = asked.licenses, set(c, "licenses");
    if (asked.gres)
        c->r.gres = asked.gres, set(c, "gres");
    return true;
}

static const struct {
    const char *name;
    enum resv_people kind;
} people[] = {{"Users", RESV_USERS}, {"Accounts", RESV_ACCOUNTS}, {"Groups", RESV_GROUPS}};
static const struct {
    const char *name, *field;
    size_t offset;
} texts[] = {{"CoreCnt", "core_counts", offsetof(struct reservation, core_counts)},
             {"PartitionName", "partition", offsetof(struct reservation, partition)},
             {"Features", "features", offsetof(struct reservation, features)},
             {"Licenses", "licenses", offsetof(struct reservation, licenses)},
             {"Comment", "comment", offsetof(struct reservation, comment)}};
static const char *const other_keys[] = {"ReservationName", "StartTime", "EndTime",
                                         "Duration",        "Nodes",     "NodeCnt",
                                         "Flags",           "TRES",      "Skip"};

static bool key_is(const char *name, const char *key)
{
    size_t len = strlen(name);
    return text_is_nocase(name, key) || (len >= 4 && text_starts_nocase(key, name));
}

static bool key_unknown(const char *name, struct err *ret_err)
{
    const char *names[ARRAY_LEN(people) + ARRAY_LEN(texts) + ARRAY_LEN(other_keys)];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(people); i++)
        names[n++] = people[i].name;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        names[n++] = texts[i].name;
    for (size_t i = 0; i < ARRAY_LEN(other_keys); i++)
        names[n++] = other_keys[i];
    if (text_is_nocase(name, "BurstBuffer") || text_is_nocase(name, "Watts") ||
        text_is_nocase(name, "MaxStartDelay"))
        return err_set(ret_err, ERR_UNSUPPORTED, "%s of a reservation: not supported", name);
    const char *near = text_nearest(name, names, n);
    return err_set(ret_err, ERR_INVALID, "%s is no key of a reservation%s%s", name,
                   near ? "; did you mean " : "", near ? near : "");
}

static bool key_take(struct resv_change *c, const char *name, const char *value, char sign,
                     struct err *ret_err)
{
    for (size_t i = 0; i < ARRAY_LEN(people); i++)
        if (key_is(name, people[i].name))
            return take_people(c, people[i].kind, value, sign, ret_err);
    if (key_is(name, "Nodes"))
        return take_nodes(c, value, sign, ret_err);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (key_is(name, texts[i].name) && sign) {
            c->fixed = true;
            return err_set(ret_err, ERR_INVALID, "%s=VALUE says what it becomes", texts[i].name);
        } else if (key_is(name, texts[i].name)) {
            *(const char **)((char *)&c->r + texts[i].offset) = text_empty(value) ? NULL : value;
            return set(c, texts[i].field);
        }
    if (key_is(name, "ReservationName") || text_is_nocase(name, "res"))
        return true;
    if (key_is(name, "StartTime"))
        return take_time(&c->r.start_us, value, ret_err) && set(c, "start_us");
    if (key_is(name, "EndTime"))
        return take_time(&c->r.end_us, value, ret_err) && set(c, "end_us");
    if (key_is(name, "Duration"))
        return take_length(c, value, sign, ret_err);
    if (key_is(name, "NodeCnt"))
        return take_count(c, value, sign, ret_err);
    if (key_is(name, "Flags"))
        return take_flags(c, value, sign, ret_err);
    if (key_is(name, "TRES"))
        return take_tres(c, value, ret_err);
    c->unknown = true;
    return key_unknown(name, ret_err);
}

static bool word_take(struct resv_change *c, const char *word, struct err *ret_err)
{
    const char *equals = strchr(word, '=');
    char sign = '\0';
    if (text_is_nocase(word, "skip")) {
        c->skip = true;
        return true;
    }
    if (!equals)
        return err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%s\"", word);
    size_t len = (size_t)(equals - word);
    if (len && (word[len - 1] == '+' || word[len - 1] == '-'))
        sign = word[--len];
    const char *name = arena_strndup(c->s->a, word, len);
    return key_take(c, name, equals + 1, sign, ret_err) || err_prefix(ret_err, "%s", name);
}

/* ---- the commands ---- */

/* The name in "reservation NAME", "[reservation] ReservationName=NAME", "reservation=NAME";
 * *ret_taken words are done with. NULL: the words are not about a reservation; "": it has no
 * name. */
static const char *name_find(int n, char **word, int *ret_taken)
{
    bool said = n > 0 && strlen(word[0]) >= 3 && text_starts_nocase("reservations", word[0]);
    *ret_taken = said ? 1 : 0;
    for (int i = 0; i < n; i++)
        if (text_starts_nocase(word[i], "ReservationName=") ||
            text_starts_nocase(word[i], "Reservation=") || text_starts_nocase(word[i], "Res="))
            return strchr(word[i], '=') + 1;
    if (!said)
        return NULL;
    if (n < 2 || strchr(word[1], '='))
        return "";
    *ret_taken = 2;
    return word[1];
}

static void send(struct resv_change *c, struct msg_update_reservation *m, const char *what)
{
    struct client *client = scontrol_connect(c->s, what);
    struct message answer;
    struct err err = {0};
    if (!client)
        return;
    if (!client_call(client, MSG_UPDATE_RESERVATION, m, 0, c->s->a, &answer, &err)) {
        scontrol_fail(c->s, "%s error: %s", what, err.text);
        return;
    }
    const struct msg_done *done = answer.body;
    if (done->refusal != REFUSE_NONE) {
        scontrol_refuse(c->s, "%s: %s", what, refusal_text((enum refusal)done->refusal));
        if (!m->create && !m->remove)
            scontrol_refuse(c->s, "slurm_update error: %s",
                            refusal_text((enum refusal)done->refusal));
        if (done->detail)
            scontrol_fail(c->s, "%s", done->detail);
    } else if (m->create && done->detail) {
        puts(done->detail);
    } else if (!m->remove && !c->s->quiet) {
        puts("Reservation updated.");
    }
}

static const char *outcome(const struct resv_change *c)
{
    return c->create ? "No reservation created." : "No reservation update.";
}

/* Slurm's line about a word that cannot be taken, then why. */
static void word_blame(struct resv_change *c, const struct err *err)
{
    const char *word = c->word ? c->word : "";
    bool time = text_starts_nocase(word, "StartTime") || text_starts_nocase(word, "EndTime");
    if (err->lead[0])
        scontrol_refuse(c->s, "%s", err->lead);
    if (!strchr(word, '='))
        scontrol_fail(c->s,
                      "Misformatted parameter '%s', most options have a parameter after '='.  %s",
                      word, outcome(c));
    else if (text_starts_nocase(word, "StartTime"))
        scontrol_fail(c->s, "Invalid start time %s.  %s", word, outcome(c));
    else if (text_starts_nocase(word, "EndTime"))
        scontrol_fail(c->s, "Invalid end time %s.  %s", word, outcome(c));
    else if (text_starts_nocase(word, "Duration"))
        scontrol_fail(c->s, "Invalid duration %s.  %s", word, outcome(c));
    else if (text_starts_nocase(word, "Flags"))
        scontrol_fail(c->s, "Error parsing flags %s.  %s", strchr(word, '=') + 1, outcome(c));
    else if (c->fixed)
        scontrol_fail(c->s, "The +=/-= notation is not supported when updating %.*s.  %s",
                      (int)strcspn(word, "+-="), word, outcome(c));
    else if (c->unknown)
        scontrol_fail(c->s, "Unknown parameter %s.  %s", word, outcome(c));
    scontrol_fail(c->s, "%s", err->text);
    if (!c->create)
        scontrol_refuse(c->s, "slurm_update error: %s",
                        time ? refusal_text(REFUSE_INVALID_TIME) : "No error");
}

/* What a new reservation needs; what is missing is said as Slurm says it. */
static bool is_complete(struct resv_change *c)
{
    const struct reservation *r = &c->r;
    const char *missing = NULL;
    bool end = c->fields && listing_has(c->fields, "end_us"),
         length = c->fields && listing_has(c->fields, "duration_us");
    if (!c->fields || !listing_has(c->fields, "start_us"))
        missing = "A start time must be given.";
    else if (!end && !length)
        missing = "An end time or duration must be given.";
    else if (end && !length && r->end_us <= r->start_us)
        missing = "Start time cannot be after end time.";
    else if (!r->nodes && !r->node_count && !r->core_counts && !r->gres && !r->partition &&
             !r->licenses)
        missing = "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.";
    else if (!r->users && !r->accounts && !r->groups)
        missing = "Either Users/Groups and/or Accounts must be specified.";
    if (missing)
        scontrol_fail(c->s, "%s  No reservation created.", missing);
    return !missing;
}

static bool change(struct scontrol *s, int n, char **word, bool create)
{
    struct resv_change c = {.s = s, .create = create};
    struct err err = {0};
    int taken = 0;
    const char *name = name_find(n, word, &taken);
    if (!name)
        return false;
    c.r.name = text_empty(name) ? NULL : name;
    bool ok = create || c.r.name;
    if (!ok) {
        scontrol_fail(s, "ReservationName= is missing");
        return true;
    }
    for (int i = taken; ok && i < n; i++) {
        c.word = word[i];
        ok = word_take(&c, word[i], &err);
    }
    if (!ok) {
        word_blame(&c, &err);
        return true;
    }
    if (create && !is_complete(&c))
        return true;
    if (c.wrong) {
        scontrol_refuse(s, "Error %s the reservation: %s", create ? "creating" : "updating",
                        c.wrong);
        if (!create)
            scontrol_refuse(s, "slurm_update error: %s", c.wrong);
        return true;
    }
    if (!create && !c.fields && !c.skip) {
        scontrol_refuse(s, "No changes specified");
        return true;
    }
    struct msg_update_reservation m = {.name = c.r.name,
                                       .create = create,
                                       .skip = c.skip,
                                       .fields = c.fields,
                                       .values = {&c.r, 1}};
    send(&c, &m, create ? "Error creating the reservation" : "Error updating the reservation");
    return true;
}

bool scontrol_reservation_update(struct scontrol *s, int n, char **word)
{
    return change(s, n, word, false);
}

bool scontrol_reservation_create(struct scontrol *s, int n, char **word)
{
    return change(s, n, word, true);
}

bool scontrol_reservation_delete(struct scontrol *s, int n, char **word)
{
    int taken = 0;
    const char *name = name_find(n, word, &taken);
    struct resv_change c = {.s = s};
    struct msg_update_reservation m = {.name = name, .remove = true};
    if (!name)
        return false;
    if (text_empty(name))
        scontrol_fail(s, "ReservationName= is missing");
    else
        send(&c, &m, arena_printf(s->a, "delete_reservation %s", word[0]));
    return true;
}
