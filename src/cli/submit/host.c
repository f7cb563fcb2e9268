#include "cli/submit/host.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/str.h"
#include "cli/program/room.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

const char *submit_cwd(struct arena *a, struct err *ret_err)
{
    char *cwd = get_current_dir_name();
    if (!cwd) {
        err_set(ret_err, ERR_NOT_FOUND,
                "the current directory cannot be named (%s); submit from another", strerror(errno));
        return NULL;
    }
    const char *copy = arena_strdup(a, cwd);
    free(cwd);
    return copy;
}

const char *submit_hostname(struct arena *a)
{
    char name[HOST_NAME_MAX + 1] = "localhost";
    (void)gethostname(name, sizeof name - 1);
    return arena_strndup(a, name, strcspn(name, "."));
}

static const struct {
    const char *name;
    int resource;
} limits[] = {
    {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
    {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
    {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RSS", RLIMIT_RSS},
    {"STACK", RLIMIT_STACK},
};

/* Is the limit in the list? "" and ALL name all; the names may have RLIMIT_ before them. */
static bool limit_named(const char *list, const char *name)
{
    if (text_empty(list))
        return true;
    struct span rest = span_of(list), word;
    while (span_next(&rest, ',', &word)) {
        if (word.len > 7 && strncasecmp(word.data, "RLIMIT_", 7) == 0)
            word = (struct span){word.data + 7, word.len - 7};
        if (span_is_nocase(word, "ALL") || span_is_nocase(word, name))
            return true;
    }
    return false;
}

const char *submit_rlimits(const char *propagate, struct arena *a)
{
    struct str out = STR_INIT;
    if (propagate)
        str_add(&out, "ASKED");
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct rlimit r;
        if (!limit_named(propagate, limits[i].name) ||
            getrlimit((__rlimit_resource_t)limits[i].resource, &r) != 0)
            continue;
        list_addf(&out, "%s=", limits[i].name);
        if (r.rlim_cur == RLIM_INFINITY)
            str_add(&out, "unlimited");
        else
            str_add_u64(&out, (uint64_t)r.rlim_cur);
    }
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

uint32_t submit_umask(void)
{
    const char *given = getenv("SLURM_UMASK");
    if (given && *given) {
        char *end;
        unsigned long mask = strtoul(given, &end, 8);
        if (!*end && mask <= 0777)
            return (uint32_t)mask;
    }
    mode_t mask = umask(0);
    umask(mask);
    return (uint32_t)mask;
}

static bool find_user(const char *user, uid_t *ret_uid, gid_t *ret_gid, struct err *e)
{
    uint64_t number;
    const struct passwd *pw = user_by_name(user);
    if (!pw && text_to_u64(user, UINT32_MAX - 1, &number))
        pw = user_by_uid((uid_t)number);
    if (!pw) {
        err_set(e, ERR_VALUE, "--uid=%s: no such user", user);
        return err_lead(e, "error: Invalid --uid specification");
    }
    *ret_uid = pw->pw_uid;
    *ret_gid = pw->pw_gid;
    return true;
}

static bool find_group(const char *group, gid_t *ret_gid, struct err *e)
{
    uint64_t number;
    const struct group *gr = group_by_name(group);
    if (gr)
        *ret_gid = gr->gr_gid;
    else if (text_to_u64(group, UINT32_MAX - 1, &number))
        *ret_gid = (gid_t)number;
    else {
        err_set(e, ERR_VALUE, "--gid=%s: no such group", group);
        return err_lead(e, "error: Invalid --gid specification");
    }
    return true;
}

bool submit_become(const char *user, const char *group, struct err *ret_err)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    if (!user && !group)
        return true;
    if ((user && !find_user(user, &uid, &gid, ret_err)) ||
        (group && !find_group(group, &gid, ret_err)))
        return false;
    if (uid == geteuid() && gid == getegid())
        return true;
    if (geteuid() != 0) {
        err_set(ret_err, ERR_DENIED, "only root may submit with --uid and --gid of others");
        return err_lead(ret_err, uid != geteuid() ? "error: --uid only permitted by root user"
                                                  : "error: --gid only permitted by root user");
    }
    const struct passwd *pw =
        user ? user_by_uid(uid) : NULL; /* groups that may open his files, too */
    bool groups = pw ? initgroups(pw->pw_name, gid) == 0 : setgroups(0, NULL) == 0;
    /* Where fs.suid_dumpable is 1 the user could trace it, and read what root had in it. */
    if (!groups || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ||
        (uid != 0 && prctl(PR_SET_DUMPABLE, 0) != 0))
        return err_set(ret_err, ERR_DENIED, "cannot become user %u, group %u: %s", (unsigned)uid,
                       (unsigned)gid, strerror(errno));
    return true;
}

/* Whom the namespace of users around this one has for this one's root: in a container of a user's
 * (podman, Apptainer, unshare -r), the user. False: nobody. */
static bool root_outside(uint32_t *ret_uid)
{
    unsigned in, out, n;
    bool found = false;
    FILE *f = fopen("/proc/self/uid_map", "re");
    while (f && !found && fscanf(f, "%u %u %u", &in, &out, &n) == 3)
        found = in == 0 && n > 0;
    if (f)
        fclose(f);
    if (found)
        *ret_uid = out;
    return found;
}

bool submit_root_for_other(uint32_t owner)
{
    uint32_t outside;
    return geteuid() == 0 && owner != 0 && !(root_outside(&outside) && outside == owner);
}
