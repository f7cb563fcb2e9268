/* One user, asked for with the patience that a machine short of memory or descriptors needs: on a
 * thread beside the loop, as what is asked may be far away. */
#include "base/alloc.h"
#include "base/str.h"
#include "io/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_FIRST_US INT64_C(10000)
#define NAP_MOST_US  500000
#define NAPS         25 /* ten seconds */

bool lookup_again(int why, int *naps)
{
    if ((why != ENOMEM && why != EMFILE && why != ENFILE) || *naps >= NAPS)
        return false;
    int64_t us = *naps < 6 ? NAP_FIRST_US << *naps : NAP_MOST_US;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    ++*naps;
    return true;
}

/* getpwuid_r and friends want a buffer whose size nobody knows: double it until it fits. */
static char *group_name(gid_t gid)
{
    char *name = NULL;
    int naps = 0;
    for (size_t size = 4096; size <= (64u << 20);) {
        char *room = xmalloc(size);
        struct group entry, *found = NULL;
        int rc = getgrgid_r(gid, &entry, room, size, &found);
        if (found)
            name = xstrdup(entry.gr_name);
        free(room);
        if (rc == ERANGE)
            size *= 4;
        else if (found || !lookup_again(rc, &naps))
            break;
    }
    return name;
}

/* libc takes a file that it had no room to read for one without groups: only errno tells. */
gid_t *groups_list(const char *name, gid_t primary, int *ret_n)
{
    int room = 64, naps = 0;
    for (;;) {
        int n = room;
        gid_t *gids = xcalloc((size_t)room, sizeof *gids);
        errno = 0;
        bool fits = getgrouplist(name, primary, gids, &n) >= 0;
        bool again = lookup_again(errno, &naps);
        if (!again && !fits && n <= room) { /* it cannot be told which */
            gids[0] = primary;
            n = 1;
            fits = true;
        }
        *ret_n = n;
        if (!again && fits)
            return gids;
        free(gids);
        room = n > room ? n : room;
    }
}

static void groups_lookup(struct user *u)
{
    int n = 0;
    gid_t *gids = groups_list(u->name, u->primary_gid, &n);
    struct str names = STR_INIT;
    u->member = xcalloc((size_t)n, sizeof *u->member);
    u->nmembers = (size_t)n;
    for (int i = 0; i < n; i++) {
        char *name = group_name(gids[i]);
        u->member[i] = (struct user_group){gids[i], name};
        if (name && names.len > 0)
            str_addc(&names, ',');
        str_add(&names, name);
    }
    free(gids);
    u->groups = str_take(&names);
}

const struct user_group *user_group(const struct user *user, gid_t gid)
{
    for (size_t i = 0; i < user->nmembers; i++)
        if (user->member[i].gid == gid)
            return &user->member[i];
    return NULL;
}

static bool passwd_lookup(uid_t uid, struct user *ret)
{
    bool known = false;
    int naps = 0;
    for (size_t size = 4096; size <= (1u << 20);) {
        char *room = xmalloc(size);
        struct passwd entry, *found = NULL;
        int rc = getpwuid_r(uid, &entry, room, size, &found);
        if (found) {
            known = true;
            ret->primary_gid = entry.pw_gid;
            ret->name = xstrdup(entry.pw_name);
            ret->home = xstrdup(entry.pw_dir);
            ret->shell = xstrdup(entry.pw_shell);
        }
        free(room);
        if (rc == ERANGE)
            size *= 4;
        else if (known || !lookup_again(rc, &naps))
            break;
    }
    return known;
}

bool user_lookup(uid_t uid, gid_t gid, struct user *ret)
{
    *ret = (struct user){.uid = uid, .gid = gid, .primary_gid = gid};
    bool known = passwd_lookup(uid, ret);
    if (gid == GID_OF_USER)
        ret->gid = ret->primary_gid;
    ret->group = ret->gid == GID_OF_USER ? NULL : group_name(ret->gid);
    if (known)
        groups_lookup(ret);
    return known;
}

static void text_free(const char *text)
{
    free((void *)text);
}

void user_done(struct user *user)
{
    text_free(user->name);
    text_free(user->group);
    text_free(user->groups);
    text_free(user->home);
    text_free(user->shell);
    for (size_t i = 0; i < user->nmembers; i++)
        text_free(user->member[i].name);
    free(user->member);
    *user = (struct user){0};
}
