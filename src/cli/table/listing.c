#include "cli/table/listing.h"

#include "base/alloc.h"
#include "base/list.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "model/job/stopped.h"
#include "model/state.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters of an array's indexes: where nothing is said of it, and as many as count. */
#define BITS_SHOWN     64
#define BITS_SHOWN_MAX 4096

static bool uid_of(const char *user, uint64_t *ret)
{
    const struct passwd *entry = user_by_name(user);
    if (entry)
        *ret = entry->pw_uid;
    return entry || text_to_u64(user, UINT32_MAX, ret);
}

#define GROUPS_MAX 1024

const char *listing_groups(const char *user, gid_t primary, struct arena *a)
{
    gid_t list[GROUPS_MAX];
    struct str names = STR_INIT;
    int n = groups_of(user, primary, list, GROUPS_MAX);
    if (n < 0)
        return NULL;
    for (int i = 0; i < n; i++) {
        const struct group *g = group_by_gid(list[i]);
        if (g)
            list_addf(&names, "%s", g->gr_name);
    }
    const char *text = arena_strdup(a, str_text(&names));
    str_done(&names);
    return text;
}

bool listing_uids(const char *users, struct arena *a, const char **ret, struct err *ret_err)
{
    struct span rest = span_of(users), piece;
    struct str uids = STR_INIT;
    bool ok = true;
    while (ok && span_next(&rest, ',', &piece)) {
        uint64_t uid;
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        const char *user = arena_strndup(a, piece.data, piece.len);
        ok = uid_of(user, &uid) || err_set(ret_err, ERR_INVALID, "Invalid user: %s", user);
        if (ok)
            list_addf(&uids, "%llu", (unsigned long long)uid);
    }
    *ret = arena_strdup(a, str_text(&uids));
    str_done(&uids);
    return ok;
}

const char *listing_uids_known(const char *command, const char *users, struct arena *a)
{
    struct span rest = span_of(users), piece;
    const char *uids = NULL;
    while (span_next(&rest, ',', &piece)) {
        struct err err = {0};
        const char *uid, *user = arena_strndup(a, piece.data, piece.len);
        if (listing_uids(user, a, &uid, &err))
            uids = text_empty(uid) ? uids : listing_join(uids, uid, a);
        else
            program_error(command, "%s\n", err.text);
    }
    return uids ? uids : text_empty(users) ? NULL : "";
}

/* The first line is Slurm's; after it all there are, and the nearest. */
static bool state_unknown(const char *command, const char *word, struct err *ret_err)
{
    struct str all = STR_INIT;
    const char *near = text_nearest(word, job_state_names.name, job_state_names.n);
    for (int32_t i = 0; i < (int32_t)job_state_names.n; i++)
        str_addf(&all, "%s%s", i ? "," : "", enum_name(&job_state_names, i));
    if (command)
        program_error(command, "Invalid job state specified: %s", word);
    err_set(ret_err, ERR_INVALID, "Valid job states include: %s%s%s", str_text(&all),
            near ? "; did you mean " : "", near ? near : "");
    str_done(&all);
    return false;
}

bool listing_states(const char *command, const char *states, struct arena *a, const char **ret,
                    struct err *ret_err)
{
    struct span rest = span_of(states), piece;
    struct str names = STR_INIT;
    bool ok = true;
    const char *never = "REVOKED"; /* of those that no job is ever in: then none is meant */
    if (text_is_nocase(states, "all")) {
        *ret = "all";
        return true;
    }
    while (ok && span_next(&rest, ',', &piece)) {
        int32_t state;
        piece = span_trim(piece);
        if (!piece.len && states[1])
            continue;
        const char *word = arena_strndup(a, piece.data, piece.len);
        ok = job_state_parse(word, &state) || state_unknown(command, word, ret_err);
        if (ok && state_word_is_stopped(word))
            list_addf(&names, "%s", STATE_STOPPED);
        if (ok && state >= 0)
            list_addf(&names, "%s", enum_name(&job_state_names, state));
    }
    *ret = names.len ? arena_strdup(a, str_text(&names)) : never;
    str_done(&names);
    return ok;
}

bool listing_clusters(const char *clusters, struct err *ret_err)
{
    const char *own = getenv("SLURM_CLUSTER_NAME");
    struct span rest = span_of(clusters), piece;
    while (clusters && span_next(&rest, ',', &piece)) {
        if (!piece.len || span_is_nocase(piece, "all") || (own && span_is_nocase(piece, own)))
            continue;
        /* The name is checked where the controller is at hand; a name that cannot be one is refused
         * here. */
        if (memchr(piece.data, '/', piece.len) || memchr(piece.data, ' ', piece.len))
            return err_set(ret_err, ERR_INVALID,
                           "'%.*s' can't be reached now, or it is an invalid entry for --cluster",
                           (int)piece.len, piece.data);
    }
    return true;
}

bool listing_cluster_check(const char *command, const char *clusters, const char *from,
                           const char *own, struct err *ret_err)
{
    struct span rest = span_of(clusters), piece;
    while (clusters && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len || span_is_nocase(piece, "all") || text_empty(own) ||
            span_is_nocase(piece, own))
            continue;
        program_error(command, "No cluster '%.*s' known by database.", (int)piece.len, piece.data);
        return err_set(
            ret_err, ERR_NOT_FOUND,
            "'%.*s' can't be reached now, or it is an invalid entry for %s.  This cluster is '%s'.",
            (int)piece.len, piece.data, from, own);
    }
    return true;
}

/* The number that SLURM_BITSTR_LEN begins with, as Slurm reads it: none is 0, which shows all. */
static size_t bits_shown(void)
{
    const char *asked = getenv("SLURM_BITSTR_LEN");
    size_t n = 0;
    if (!asked || *(asked += strspn(asked, " ")) == '-')
        return BITS_SHOWN;
    for (; *asked >= '0' && *asked <= '9' && n < BITS_SHOWN_MAX; asked++)
        n = n * 10 + (size_t)(*asked - '0');
    return n < BITS_SHOWN_MAX ? n : BITS_SHOWN_MAX;
}

struct cell_env listing_env(void)
{
    return (struct cell_env){.now_us = time_now_us(),
                             .time_format = getenv("SLURM_TIME_FORMAT"),
                             .bits_shown = bits_shown()};
}

void listing_time_format_check(const char *command)
{
    const char *format = getenv("SLURM_TIME_FORMAT");
    if (!text_empty(format) && !strchr(format, '%') && !text_is_nocase(format, "standard") &&
        !text_is_nocase(format, "relative"))
        program_error(command, "invalid SLURM_TIME_FORMAT = '%s'", format);
}

bool listing_has(const char *list, const char *word)
{
    return !list || list_has(list, word);
}

const char *listing_join(const char *list, const char *value, struct arena *a)
{
    return list ? arena_printf(a, "%s,%s", list, value) : value;
}

void listing_flush(struct str *out)
{
    fwrite(str_text(out), 1, out->len, stdout);
    str_clear(out);
}
