/* Whose files a directory of Slurm's configuration names. It is a stranger's, maybe: what root
 * reads there may be links to what he may not read, and what was read is written where all may read
 * it. So root reads with the rights of who has the directory, and nothing where anybody may put
 * files. */
#include "cli/accounts/import/import.h"

#include "base/alloc.h"
#include "cli/program/room.h"
#include "io/files.h"
#include "model/limits.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODYS_GROUP 65534 /* of an owner whom name services do not know */

bool import_conf_open(struct import *m, struct err *ret_err)
{
    char real[PATH_MAX];
    struct stat st;
    m->owner = 0;
    if (geteuid() != 0 || !realpath(m->conf, real) || stat(real, &st) != 0)
        return true;                    /* the first file says why it cannot be read */
    m->conf = arena_strdup(m->a, real); /* a link may lead elsewhere in a moment */
    m->owner = st.st_uid;
    return !(st.st_mode & S_IWOTH) ||
           err_set(ret_err, ERR_DENIED,
                   "%s: anybody may put files there; copy what is to be imported into a directory "
                   "that others may not write to",
                   m->conf);
}

/* Groups that the process had. */
struct groups_before {
    int n;
    gid_t *gid;
};

static bool owner_become(uid_t owner, struct groups_before *before)
{
    const struct passwd *pw = user_by_uid(owner);
    gid_t gid = pw ? pw->pw_gid : NOBODYS_GROUP;
    before->n = getgroups(0, NULL);
    before->gid = xcalloc((size_t)before->n + 1, sizeof *before->gid);
    return getgroups(before->n, before->gid) == before->n &&
           (pw ? initgroups(pw->pw_name, gid) : setgroups(0, NULL)) == 0 && setegid(gid) == 0 &&
           seteuid(owner) == 0;
}

static void root_again(struct groups_before *before)
{
    CHECK(seteuid(0) == 0 && setegid(getgid()) == 0);
    CHECK(setgroups((size_t)before->n, before->gid) == 0);
    free(before->gid);
}

bool import_file_read(struct import *m, const char *path, struct str *out, struct err *ret_err)
{
    struct groups_before before = {0};
    if (!m->owner)
        return file_read(path, LIMIT_CONFIG_BYTES, out, ret_err);
    bool became = owner_become(m->owner, &before),
         ok = became ? file_read(path, LIMIT_CONFIG_BYTES, out, ret_err)
                     : err_set(ret_err, ERR_DENIED, "cannot read %s: %s", path, strerror(errno));
    root_again(&before);
    if (!ok && ret_err->code == ERR_DENIED)
        err_prefix(ret_err, "as user %u, whose directory %s is", (unsigned)m->owner, m->conf);
    return ok;
}
