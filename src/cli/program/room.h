/* Calls of libc that answer "there is none" also where they had no room (memory, descriptors) to
 * look. A command that took the one for the other would say what is not so, and end well; here it
 * ends with a sentence and an error. */
#ifndef REMUDA_CLI_PROGRAM_ROOM_H
#define REMUDA_CLI_PROGRAM_ROOM_H

#include <dirent.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

const struct passwd *user_by_uid(uid_t uid);         /* as getpwuid: NULL = there is none */
const struct passwd *user_by_name(const char *name); /* as getpwnam */
const struct group *group_by_gid(gid_t gid);         /* as getgrgid */
const struct group *group_by_name(const char *name); /* as getgrnam */

/* As getgrouplist, with the number of the user's groups as its answer. */
int groups_of(const char *name, gid_t primary, gid_t *list, int most);
/* As localtime_r: libc takes UTC for a zone that it had no room to read. */
void local_time(time_t at, struct tm *ret);
/* As setlocale(LC_CTYPE, ""): how letters are written here. */
void local_letters_read(void);
/* A call failed with this errno for want of memory or of descriptors. */
bool has_no_room(int error);
/* After a call that failed with errno: ends the command, which was to read `what`, if there was no
 * room for it. */
void room_check(const char *what);
/* As fopen(path, "re"), of what may not be there. */
FILE *file_if_there(const char *path);
DIR *dir_if_there(const char *path); /* as opendir */

#endif
