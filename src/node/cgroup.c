#include "node/cgroup.h"

#include "base/alloc.h"
#include "node/device_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The node's groups lie below the group the daemon itself is in, so that whatever limits the daemon limits
 * its steps too. A version 2 group may have processes or children with controllers, not both: the daemon's
 * own group can be used only when the daemon can move into a leaf of it and is alone there; as root the top
 * group, which is exempt from the rule, serves instead. */

static bool text_put(const char *dir, const char *file, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = write(fd, text, strlen(text));
    int saved = errno;
    close(fd);
    errno = saved;
    return n == (ssize_t)strlen(text);
}

static bool text_get(const char *dir, const char *file, char *buffer, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    if (n < 0)
        return false;
    buffer[n] = '\0';
    return true;
}

static int64_t number_of_key(const char *text, const char *key)
{
    size_t len = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return strtoll(line + len + 1, NULL, 10);
    return -1;
}

/* ---- the node's groups ---- */

/* Where a controller is mounted ("" = version 2) and which group of it this process is in; both from
 * /proc/self. */
struct mount {
    char point[PATH_MAX], own[PATH_MAX];
};

static bool words_have(const char *list, const char *word)
{
    struct span rest = span_of(list), piece;
    while (span_next(&rest, ',', &piece))
        if (span_is(piece, word))
            return true;
    return false;
}

static bool mount_find(const char *controller, struct mount *ret)
{
    char line[PATH_MAX + 512], type[64], options[512];
    bool found = false;
    FILE *f = fopen("/proc/self/mounts", "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%*s %4095s %63s %511s", ret->point, type, options) == 3 &&
                (*controller ? strcmp(type, "cgroup") == 0 && words_have(options, controller)
                             : strcmp(type, "cgroup2") == 0);
    if (f)
        fclose(f);
    return found;
}

static bool own_find(const char *controller, struct mount *ret)
{
    char line[PATH_MAX + 512];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = *controller ? words_have(list + 1, controller) : list[1] == '\0';
        if (found)
            snprintf(ret->own, sizeof ret->own, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    if (f)
        fclose(f);
    return found;
}

static bool group_make(const char *dir)
{
    return mkdir(dir, 0755) == 0 || errno == EEXIST;
}

/* A version 1 cpuset is empty until it is told its CPUs and memory nodes. */
static bool cpuset_fill(const char *from, const char *to)
{
    char value[1024];
    return text_get(from, "cpuset.cpus", value, sizeof value) && text_put(to, "cpuset.cpus", value) &&
           text_get(from, "cpuset.mems", value, sizeof value) && text_put(to, "cpuset.mems", value) &&
           text_put(to, "cgroup.clone_children", "1");
}

static bool v1_base(const char *controller, const char *key, struct str *bases)
{
    struct mount m;
    char own[2 * PATH_MAX], dir[3 * PATH_MAX];
    if (!mount_find(controller, &m) || !own_find(controller, &m))
        return false;
    snprintf(own, sizeof own, "%s%s", m.point, m.own);
    snprintf(dir, sizeof dir, "%s/%s", own, key);
    if (!group_make(dir) || (strcmp(controller, "cpuset") == 0 && !cpuset_fill(own, dir)))
        return false;
    str_addf(bases, "%s=%s\n", controller, dir);
    return true;
}

/* Makes `dir/key` with what controllers can be had there. */
static bool v2_base_in(const char *dir, const char *key, struct str *bases, char *ret_controllers,
                       size_t size)
{
    static const char *const wanted[] = {"memory", "cpuset", "cpu", "pids", "io"};
    char base[3 * PATH_MAX], word[16];
    snprintf(base, sizeof base, "%s/%s", dir, key);
    if (!group_make(base))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        snprintf(word, sizeof word, "+%s", wanted[i]);
        text_put(dir, "cgroup.subtree_control", word);
        text_put(base, "cgroup.subtree_control", word);
    }
    if (!text_get(base, "cgroup.subtree_control", ret_controllers, size))
        return false;
    ret_controllers[strcspn(ret_controllers, "\n")] = '\0';
    str_add(bases, "unified:");
    struct span rest = span_of(ret_controllers), word_of;
    for (bool first = true; span_next(&rest, ' ', &word_of); first = false) {
        str_add(bases, first ? "" : "+");
        str_addn(bases, word_of.data, word_of.len);
    }
    str_addf(bases, "=%s\n", base);
    return true;
}

static bool v2_base(const char *key, struct str *bases, char *controllers, size_t size)
{
    struct mount m;
    char own[2 * PATH_MAX], leaf[3 * PATH_MAX], pid[24];
    size_t before = bases->len;
    if (!mount_find("", &m) || !own_find("", &m))
        return false;
    snprintf(own, sizeof own, "%s%s", m.point, m.own);
    if (*m.own) {
        snprintf(leaf, sizeof leaf, "%s/%s.daemon", own, key);
        snprintf(pid, sizeof pid, "%ld", (long)getpid());
        if (group_make(leaf) && !text_put(leaf, "cgroup.procs", pid))
            rmdir(leaf);
    }
    if (v2_base_in(own, key, bases, controllers, size) && strstr(controllers, "memory"))
        return true;
    if (geteuid() == 0 && *m.own) {
        str_cut(bases, before);
        return v2_base_in(m.point, key, bases, controllers, size);
    }
    return bases->len > before;
}

void cgroup_bases_make(const char *key, struct str *bases, struct str *missing)
{
    char controllers[256] = "";
    bool memory = v1_base("memory", key, bases);
    bool cpuset = v1_base("cpuset", key, bases);
    bool devices = v1_base("devices", key, bases);
    bool unified = !memory && v2_base(key, bases, controllers, sizeof controllers);
    memory = memory || (unified && strstr(controllers, "memory"));
    cpuset = cpuset || (unified && strstr(controllers, "cpuset"));
    devices = devices || (unified && geteuid() == 0);
    if (!memory)
        str_add(missing, "memory limits are enforced by sampling /proc only: no memory control group can be "
                         "written here\n");
    if (!cpuset)
        str_add(
            missing,
            "jobs are kept on their CPUs by affinity only: no cpuset control group can be written here\n");
    if (!devices)
        str_add(missing,
                "devices of other jobs are not hidden: no devices control group can be written here\n");
}

bool cgroup_hides_devices(const char *bases)
{
    return bases && geteuid() == 0 && (strncmp(bases, "devices=", 8) == 0 || strstr(bases, "\ndevices=") || strstr(bases, "unified:"));
}

/* ---- a step's groups ---- */

static bool base_next(struct span *rest, char *controller, size_t controller_size, char *dir, size_t dir_size)
{
    struct span line, head;
    if (!span_next(rest, '\n', &line) || line.len == 0 || !span_next(&line, '=', &head))
        return false;
    snprintf(controller, controller_size, "%.*s", (int)head.len, head.data);
    snprintf(dir, dir_size, "%.*s", (int)line.len, line.data);
    return true;
}

void cgroup_bases_remove(const char *bases)
{
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX];
    while (base_next(&rest, controller, sizeof controller, base, sizeof base))
        rmdir(base);
}

static void group_keep(struct step_cgroup *c, const char *controller, const char *dir)
{
    c->dir[c->n] = xstrdup(dir);
    if (strcmp(controller, "memory") == 0) {
        c->memory = c->dir[c->n];
    } else if (strstr(controller, "unified") && strstr(controller, "memory")) {
        c->memory = c->dir[c->n];
        c->unified = true;
    }
    c->n++;
}

static bool limits_put(const char *controller, const char *dir, int64_t mem_limit_bytes, const char *cpus)
{
    char number[24];
    if (strcmp(controller, "devices") == 0)
        return true;
    snprintf(number, sizeof number, "%lld", (long long)mem_limit_bytes);
    if (strcmp(controller, "memory") == 0)
        return mem_limit_bytes == 0 || text_put(dir, "memory.limit_in_bytes", number);
    if (strcmp(controller, "cpuset") == 0)
        return text_put(dir, "cpuset.cpus", cpus);
    if (mem_limit_bytes > 0 && strstr(controller, "memory")) {
        text_put(dir, "memory.max", number);
        text_put(dir, "memory.oom.group", "0");
    }
    if (cpus && strstr(controller, "cpuset"))
        text_put(dir, "cpuset.cpus", cpus);
    return true;
}

/* A devices group without rules would only cost time. */
static bool group_wanted(const char *controller, const char *cpus, const char *deny)
{
    return strcmp(controller, "memory") == 0 || (strcmp(controller, "devices") == 0 && deny) || (strcmp(controller, "cpuset") == 0 && cpus) ||
           strncmp(controller, "unified", 7) == 0;
}

/* True when this group hides the devices from now on. */
static bool devices_hide(const char *controller, const char *dir, const char *deny)
{
    struct device_number number[DEVICE_DENY_MAX];
    size_t n = device_numbers_parse(deny, number);
    if (n == SIZE_MAX)
        return false;
    if (strcmp(controller, "devices") == 0)
        return device_filter_write(dir, number, n);
    return strncmp(controller, "unified", 7) == 0 && device_filter_attach(dir, number, n);
}

void step_cgroup_make(struct step_cgroup *c, const char *bases, const char *name, int64_t mem_limit_bytes,
                      const char *cpus, const char *deny)
{
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX], dir[PATH_MAX + 300];
    memset(c, 0, sizeof *c);
    while (c->n < STEP_CGROUP_MAX && base_next(&rest, controller, sizeof controller, base, sizeof base)) {
        snprintf(dir, sizeof dir, "%s/%s", base, name);
        if (!group_wanted(controller, cpus, deny) || !group_make(dir))
            continue;
        if (deny && devices_hide(controller, dir, deny))
            c->hides = true;
        if (limits_put(controller, dir, mem_limit_bytes, cpus))
            group_keep(c, controller, dir);
        else
            rmdir(dir);
    }
}

void step_cgroup_open(struct step_cgroup *c, const char *bases, const char *name)
{
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX], dir[PATH_MAX + 300];
    memset(c, 0, sizeof *c);
    while (c->n < STEP_CGROUP_MAX && base_next(&rest, controller, sizeof controller, base, sizeof base)) {
        snprintf(dir, sizeof dir, "%s/%s", base, name);
        if (access(dir, F_OK) == 0)
            group_keep(c, controller, dir);
    }
}

void step_cgroup_enter(const struct step_cgroup *c)
{
    for (size_t i = 0; i < c->n; i++)
        text_put(c->dir[i], "cgroup.procs", "0");
}

int64_t step_cgroup_rss(const struct step_cgroup *c)
{
    char text[8192];
    if (!c->memory || !text_get(c->memory, "memory.stat", text, sizeof text))
        return -1;
    return number_of_key(text, c->unified ? "anon" : "total_rss");
}

bool step_cgroup_oom(const struct step_cgroup *c)
{
    char text[1024];
    return c->memory &&
           text_get(c->memory, c->unified ? "memory.events" : "memory.oom_control", text, sizeof text) &&
           number_of_key(text, "oom_kill") > 0;
}

void step_cgroup_kill(const struct step_cgroup *c)
{
    char text[16384];
    for (size_t i = 0; i < c->n; i++) {
        if (!text_get(c->dir[i], "cgroup.procs", text, sizeof text))
            continue;
        for (char *at = text; *at;) {
            char *end;
            long pid = strtol(at, &end, 10);
            if (end == at)
                break;
            if (pid > 1)
                kill((pid_t)pid, SIGKILL);
            at = end;
        }
    }
}

void step_cgroup_remove(struct step_cgroup *c)
{
    for (size_t i = 0; i < c->n; i++) {
        rmdir(c->dir[i]);
        free(c->dir[i]);
    }
    memset(c, 0, sizeof *c);
}
