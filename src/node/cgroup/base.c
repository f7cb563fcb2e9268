/* The node's groups lie below the group the daemon itself is in, so that whatever limits the daemon
 * limits its jobs too, and what systemd delegated is used. A version 2 group may have processes or
 * children with controllers, not both. The daemon's own group can be used when all processes in it
 * can be moved into a leaf, which is done where the group is the daemon's to arrange: the root of a
 * container, or delegated to an ordinary user. As root of a whole machine systemd is asked for a
 * scope; without systemd the top group, exempt from the rule, serves.
 *
 * Each group is locked (flock) by the daemon that uses it; who gets the lock of another's group may
 * take it away. Removing never ends anything: a group with processes cannot be removed. */
#include "node/cgroup/base.h"

#include "base/alloc.h"
#include "base/list.h"
#include "io/process/groups.h"
#include "node/cgroup/controllers.h"
#include "node/cgroup/fs.h"
#include "node/cgroup/scope.h"
#include "node/step/shortage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAEMONS_LEAF "remuda-daemons"
#define LOCK_TRIES   10
#define LOCK_WAIT_NS 2000000

struct cgroup_system cgroup_system_here(void)
{
    return (struct cgroup_system){.mounts = "/proc/self/mounts",
                                  .own = "/proc/self/cgroup",
                                  .is_root = geteuid() == 0,
                                  .has_systemd = access("/run/systemd/system", F_OK) == 0};
}

/* ---- where controllers are ---- */

/* `controller` "" = version 2. */
static bool mount_find(const struct cgroup_system *sys, const char *controller,
                       struct base_place *ret)
{
    char line[PATH_MAX + 512], type[64], options[512];
    bool found = false;
    FILE *f = shortage_fopen(sys->mounts);
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%*s %4095s %63s %511s", ret->point, type, options) == 3 &&
                (*controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller)
                             : strcmp(type, "cgroup2") == 0);
    if (f)
        fclose(f);
    if (!found)
        ret->point[0] = '\0'; /* the last line's */
    return found;
}

static bool own_find(const struct cgroup_system *sys, const char *controller,
                     struct base_place *ret)
{
    char line[PATH_MAX + 512];
    bool found = false;
    FILE *f = shortage_fopen(sys->own);
    while (f && !found && fgets(line, sizeof line, f)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = *controller ? list_has(list + 1, controller) : list[1] == '\0';
        if (found)
            snprintf(ret->own, sizeof ret->own, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    if (f)
        fclose(f);
    return found;
}

/* In a container the path may be that of the host, which is not to be seen here: then the mount is
 * the group. */
static bool place_find(const struct cgroup_system *sys, const char *controller,
                       struct base_place *ret)
{
    char dir[2 * PATH_MAX];
    if (!mount_find(sys, controller, ret) || !own_find(sys, controller, ret)) {
        snprintf(ret->why, sizeof ret->why,
                 *controller ? "no %s controller is mounted" : "no version 2 groups are mounted%s",
                 controller);
        return false;
    }
    snprintf(dir, sizeof dir, "%s%s", ret->point, ret->own);
    if (access(dir, F_OK) != 0)
        ret->own[0] = '\0';
    return true;
}

static bool refused(struct base_place *p, const char *dir)
{
    snprintf(p->why, sizeof p->why, "%.400s cannot be written: %s", dir, strerror(errno));
    return false;
}

/* ---- groups nobody uses any more ---- */

static int lock_try(const char *dir, int how)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, how | LOCK_NB) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static void abandoned_remove(const char *dir)
{
    int fd = lock_try(dir, LOCK_EX);
    if (fd < 0)
        return;
    cgroup_remove(dir);
    close(fd);
}

/* By a daemon that lives. */
static bool is_in_use(const char *dir)
{
    int fd = lock_try(dir, LOCK_EX);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EWOULDBLOCK;
}

static void siblings_remove(const char *parent, const char *mine)
{
    char path[3 * PATH_MAX];
    struct dirent *e;
    DIR *d = opendir(parent);
    while (d && (e = readdir(d))) {
        if (!text_starts(e->d_name, CGROUP_NAME_START) || text_is(e->d_name, mine))
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, e->d_name);
        abandoned_remove(path);
    }
    if (d)
        closedir(d);
}

static void former_remove(const char *former)
{
    struct span rest = span_of(former);
    char controller[300], dir[PATH_MAX];
    while (cgroup_base_next(&rest, controller, sizeof controller, dir, sizeof dir))
        abandoned_remove(dir);
}

/* ---- ours ---- */

/* Made and locked; another daemon that starts might remove it in between. Whoever could open it
 * could lock it, and the next daemon would have no groups: others may go through it alone. */
static bool base_take(struct cgroup_bases *b, const char *dir)
{
    struct stat there, locked;
    struct shortage shortage = {0};
    for (int i = 0; i < LOCK_TRIES; i++) {
        while ((mkdir(dir, 0711) != 0 && errno != EEXIST) || chmod(dir, 0711) != 0)
            if (!shortage_passes(&shortage)) /* else no job of this daemon would have limits */
                return false;
        int fd = lock_try(dir, LOCK_SH);
        if (fd >= 0 && fstat(fd, &locked) == 0 && stat(dir, &there) == 0 &&
            there.st_ino == locked.st_ino) {
            CHECK(b->nlocks < CGROUP_BASES_MAX);
            b->lock[b->nlocks++] = fd;
            return true;
        }
        if (fd >= 0)
            close(fd);
        nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_NS}, NULL);
    }
    errno = EBUSY;
    return false;
}

/* A version 1 cpuset is empty until it is told its CPUs and memory nodes. */
static bool cpuset_fill(const char *from, const char *to)
{
    char value[1024];
    return cgroup_get(from, "cpuset.cpus", value, sizeof value) &&
           cgroup_put(to, "cpuset.cpus", value) &&
           cgroup_get(from, "cpuset.mems", value, sizeof value) &&
           cgroup_put(to, "cpuset.mems", value) && cgroup_put(to, "cgroup.clone_children", "1");
}

static bool v1_base(struct cgroup_bases *b, const struct cgroup_system *sys, const char *controller,
                    const char *name, struct base_place *p)
{
    char own[2 * PATH_MAX], dir[3 * PATH_MAX];
    if (!place_find(sys, controller, p))
        return false;
    snprintf(own, sizeof own, "%s%s", p->point, p->own);
    snprintf(dir, sizeof dir, "%s/%s", own, name);
    siblings_remove(own, name);
    if (!base_take(b, dir))
        return refused(p, own);
    if (strcmp(controller, "cpuset") == 0 && !cpuset_fill(own, dir)) {
        refused(p, dir);
        rmdir(dir);
        return false;
    }
    if (strcmp(controller, "memory") == 0)
        cgroup_put(dir, "memory.use_hierarchy", "1"); /* newer kernels know nothing else */
    str_addf(&b->text, "%s=%s\n", controller, dir);
    return true;
}

/* Of the group itself, not of those in it. */
static void processes_move(const char *from, const char *leaf)
{
    char text[65536];
    struct span rest, one;
    if (!cgroup_get(from, "cgroup.procs", text, sizeof text))
        return;
    rest = span_of(text);
    while (span_next(&rest, '\n', &one)) {
        int64_t pid = 0;
        char number[24];
        snprintf(number, sizeof number, "%.*s", (int)one.len, one.data);
        if (text_to_i64(number, 2, INT32_MAX, &pid))
            cgroup_put_number(leaf, "cgroup.procs", pid);
    }
}

static const char *const v2_wanted[] = {"memory", "cpuset", "pids"};

/* A group with processes cannot hand down memory; the other controllers it could, but becomes the
 * root of a threaded tree by that, and no group in it takes a process then. */
static bool may_hand_down(const char *dir)
{
    char text[24];
    bool is_top = !cgroup_has(dir, "cgroup.type");
    return is_top || (cgroup_get(dir, "cgroup.procs", text, sizeof text) && !*text);
}

static void controllers_enable(const char *dir)
{
    char word[16];
    if (!may_hand_down(dir))
        return;
    for (size_t i = 0; i < ARRAY_LEN(v2_wanted); i++) {
        snprintf(word, sizeof word, "+%s", v2_wanted[i]);
        cgroup_put(dir, "cgroup.subtree_control", word);
    }
}

/* Makes `dir/name` with what controllers can be had there. */
static bool v2_base_in(struct cgroup_bases *b, const char *dir, const char *name,
                       struct base_place *p)
{
    char base[3 * PATH_MAX], controllers[256];
    struct span rest, word;
    snprintf(base, sizeof base, "%s/%s", dir, name);
    siblings_remove(dir, name);
    if (!base_take(b, base))
        return refused(p, dir);
    controllers_enable(dir);
    controllers_enable(base);
    if (!cgroup_get(base, "cgroup.subtree_control", controllers, sizeof controllers))
        return refused(p, base);
    controllers[strcspn(controllers, "\n")] = '\0';
    str_add(&b->text, "unified:");
    rest = span_of(controllers);
    for (bool first = true; span_next(&rest, ' ', &word); first = false)
        str_addf(&b->text, "%s%.*s", first ? "" : "+", (int)word.len, word.data);
    str_addf(&b->text, "=%s\n", base);
    return true;
}

/* As root of a whole machine. */
static bool v2_machine_base(struct cgroup_bases *b, const struct cgroup_system *sys,
                            const char *name, struct base_place *p)
{
    char scope[PATH_MAX];
    const char *key = name + strlen(CGROUP_NAME_START);
    if (!sys->has_systemd)
        return v2_base_in(b, p->point, name, p);
    if (!cgroup_scope_take(p->point, key, scope, sizeof scope, p->no_scope, sizeof p->no_scope))
        return v2_base_in(b, p->point, name, p);
    str_add(&b->scope, scope);
    return v2_base_in(b, scope, name, p);
}

static bool v2_base(struct cgroup_bases *b, const struct cgroup_system *sys, const char *name,
                    bool wants_memory, struct base_place *p)
{
    char own[2 * PATH_MAX], leaf[3 * PATH_MAX];
    if (!place_find(sys, "", p))
        return false;
    snprintf(own, sizeof own, "%s%s", p->point, p->own);
    bool machine_root = sys->is_root && *p->own;
    bool offered = cgroup_lists(machine_root ? p->point : own, "cgroup.controllers", "memory");
    if (machine_root && wants_memory && offered)
        return v2_machine_base(b, sys, name, p);
    if (offered && !cgroup_lists(own, "cgroup.subtree_control", "memory") && !may_hand_down(own)) {
        snprintf(leaf, sizeof leaf, "%s/" DAEMONS_LEAF, own);
        if (cgroup_make(leaf))
            processes_move(own, leaf);
    }
    return v2_base_in(b, own, name, p);
}

/* ---- the whole ---- */

/* Jobs must not be able to leave nobody else on the machine a process to start. */
static void pids_limit(const struct cgroup_bases *b, const struct cgroup_system *sys)
{
    char dir[PATH_MAX];
    bool is_v2;
    if (sys->pids > 0 && cgroup_base_of(b, "pids", dir, sizeof dir, &is_v2))
        cgroup_put_number(dir, "pids.max", sys->pids);
}

void cgroup_bases_make(struct cgroup_bases *b, const struct cgroup_system *sys, const char *key,
                       const char *former)
{
    struct base_places *p = xcalloc(1, sizeof *p);
    char name[300];
    *b = (struct cgroup_bases){.text = STR_INIT, .said = STR_INIT, .scope = STR_INIT};
    snprintf(name, sizeof name, CGROUP_NAME_START "%.200s", key);
    bool memory = v1_base(b, sys, "memory", name, &p->memory);
    v1_base(b, sys, "cpuset", name, &p->cpuset);
    v1_base(b, sys, "devices", name, &p->devices);
    v1_base(b, sys, "pids", name, &p->pids);
    v2_base(b, sys, name, !memory, &p->v2);
    if (!cgroup_bases_end_all(b))
        v1_base(b, sys, "freezer", name, &p->freezer);
    pids_limit(b, sys);
    cgroup_bases_tell(b, sys, p);
    free(p);
    if (former)
        former_remove(former);
}

void cgroup_bases_known(const struct cgroup_bases *b, const char *former, struct str *out)
{
    struct span rest = span_of(former ? former : ""), line;
    char controller[300], dir[PATH_MAX];
    str_add(out, str_text(&b->text));
    while (span_next(&rest, '\n', &line)) {
        struct span one = line;
        if (line.len == 0 ||
            !cgroup_base_next(&one, controller, sizeof controller, dir, sizeof dir) ||
            access(dir, F_OK) != 0)
            continue;
        bool is_there = memmem(out->data ? out->data : "", out->len, line.data, line.len);
        if (!is_there && !is_in_use(dir)) {
            str_addn(out, line.data, line.len);
            str_addc(out, '\n');
        }
    }
}

void cgroup_bases_done(struct cgroup_bases *b)
{
    struct span rest = span_of(str_text(&b->text));
    char controller[300], dir[PATH_MAX];
    bool empty = true;
    while (cgroup_base_next(&rest, controller, sizeof controller, dir, sizeof dir))
        /* Not what is in it: a step that is just being started may have no process there yet. */
        empty &= rmdir(dir) == 0;
    if (empty && b->scope.len)
        cgroup_scope_end(str_text(&b->scope));
    for (size_t i = 0; i < b->nlocks; i++)
        close(b->lock[i]);
    str_done(&b->text);
    str_done(&b->said);
    str_done(&b->scope);
    *b = (struct cgroup_bases){.text = STR_INIT, .said = STR_INIT, .scope = STR_INIT};
}
