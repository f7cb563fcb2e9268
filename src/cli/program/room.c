#include "cli/program/room.h"

#include "cli/program/program.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void refused(const char *what)
{
    program_error(program_invocation_short_name, "cannot read %s: %s", what, strerror(errno));
    exit(EXIT_FAILURE);
}

bool has_no_room(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE;
}

void room_check(const char *what)
{
    if (has_no_room(errno))
        refused(what);
}

/* One call, and the look at how it went. What libc looked for and did not find leaves another
 * errno, or none. */
#define LOOKED(call, what)                                                                         \
    errno = 0;                                                                                     \
    const void *found = call;                                                                      \
    if (!found)                                                                                    \
        room_check(what);                                                                          \
    return found

const struct passwd *user_by_uid(uid_t uid)
{
    LOOKED(getpwuid(uid), "who the users are");
}

const struct passwd *user_by_name(const char *name)
{
    LOOKED(getpwnam(name), "who the users are");
}

const struct group *group_by_gid(gid_t gid)
{
    LOOKED(getgrgid(gid), "which groups there are");
}

const struct group *group_by_name(const char *name)
{
    LOOKED(getgrnam(name), "which groups there are");
}

int groups_of(const char *name, gid_t primary, gid_t *list, int most)
{
    int n = most;
    errno = 0;
    if (getgrouplist(name, primary, list, &n) < 0)
        n = -1;
    room_check("which groups there are");
    return n;
}

/* Read once, as libc has it. */
static void zone_read(void)
{
    static bool was_read;
    errno = 0;
    if (!was_read)
        tzset();
    was_read = true;
    room_check("the time zone");
}

void local_time(time_t at, struct tm *ret)
{
    *ret = (struct tm){0};
    zone_read();
    localtime_r(&at, ret);
}

void local_letters_read(void)
{
    errno = 0;
    if (!setlocale(LC_CTYPE, ""))
        room_check("the locale");
}

FILE *file_if_there(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        room_check(path);
    return file;
}

DIR *dir_if_there(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        room_check(path);
    return dir;
}
