#include "node/cgroup/controllers.h"

#include "base/alloc.h"
#include "node/cgroup/base.h"
#include "node/cgroup/device_filter.h"
#include "node/cgroup/fs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool cgroup_lists(const char *dir, const char *file, const char *controller)
{
    char text[256];
    return cgroup_get(dir, file, text, sizeof text) && strstr(text, controller);
}

bool cgroup_base_next(struct span *rest, char *controller, size_t controller_size, char *dir,
                      size_t dir_size)
{
    ASSERT(controller_size > 0 && dir_size > 0);
    struct span line, head;
    if (!span_next(rest, '\n', &line) || line.len == 0 || !span_next(&line, '=', &head))
        return false;
    snprintf(controller, controller_size, "%.*s", (int)head.len, head.data);
    snprintf(dir, dir_size, "%.*s", (int)line.len, line.data);
    return true;
}

bool cgroup_unified_has(const char *controller, const char *which)
{
    struct span rest = span_of(text_starts(controller, "unified:") ? controller + strlen("unified:")
                                                                   : ""),
                one;
    while (span_next(&rest, '+', &one))
        if (span_is(one, which))
            return true;
    return false;
}

bool cgroup_base_of(const struct cgroup_bases *b, const char *which, char *dir, size_t size,
                    bool *ret_v2)
{
    struct span rest = span_of(str_text(&b->text));
    char controller[300];
    while (cgroup_base_next(&rest, controller, sizeof controller, dir, size)) {
        *ret_v2 = cgroup_unified_has(controller, which);
        if (*ret_v2 || strcmp(controller, which) == 0)
            return true;
    }
    return false;
}

struct telling {
    struct cgroup_bases *b;
    struct str v1, v2, lacks;
};

static void has_add(struct telling *t, bool is_v2, const char *what)
{
    struct str *to = is_v2 ? &t->v2 : &t->v1;
    str_addf(to, "%s%s", to->len ? ", " : "", what);
}

/* "What, in other words (why): what is done instead". */
static void lacks_add(struct telling *t, const char *what, const char *why, const char *instead)
{
    str_addf(&t->lacks, "; %s (%s)%s%s", what, why, *instead ? ": " : "", instead);
}

static const char *why_of(struct base_place *v1, const struct base_place *v2,
                          const char *controller)
{
    if (!*v1->point && *v2->point && !*v2->why &&
        cgroup_lists(v2->point, "cgroup.controllers", controller))
        snprintf(v1->why, sizeof v1->why, "the %s controller is not delegated to %.400s",
                 controller, v2->own);
    return *v1->point && *v1->why ? v1->why : *v2->point && *v2->why ? v2->why : v1->why;
}

static void cores_tell(struct telling *t, const char *why)
{
    char dir[PATH_MAX];
    bool v2;
    if (cgroup_base_of(t->b, "cpuset", dir, sizeof dir, &v2))
        has_add(t, v2, "cores");
    else
        lacks_add(t, "jobs are kept on their cores by affinity only", why,
                  "programs can change it");
}

static void memory_tell(struct telling *t, const char *why)
{
    char dir[PATH_MAX];
    bool v2;
    t->b->limits_memory = cgroup_base_of(t->b, "memory", dir, sizeof dir, &v2);
    if (!t->b->limits_memory) {
        lacks_add(t, "memory is not limited by the kernel", why,
                  "jobs over their memory are found by sampling and ended");
        return;
    }
    has_add(t, v2, "memory");
    if (cgroup_has(dir, v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes"))
        has_add(t, v2, "swap");
    else
        lacks_add(t, "swap is not limited",
                  "this kernel does not count it; swapaccount=1 at boot may help", "");
}

/* By rules of version 1? Not where its list allows one of them by a wildcard. */
static bool rules_hide(const char *dir, const char *devices)
{
    struct device_number number[DEVICE_DENY_MAX];
    struct str list = STR_INIT;
    size_t n = device_numbers_parse(devices ? devices : "", number);
    bool takes = n != SIZE_MAX && (!device_list_read(dir, &list) ||
                                   device_list_takes_rules(str_text(&list), number, n));
    str_done(&list);
    return takes;
}

static bool programs_hide(const struct cgroup_bases *b)
{
    return strstr(str_text(&b->text), "unified:") != NULL;
}

bool cgroup_bases_hide(const struct cgroup_bases *b, bool is_root, const char *devices)
{
    char dir[PATH_MAX];
    bool v2, v1 = cgroup_base_of(b, "devices", dir, sizeof dir, &v2);
    return is_root && (programs_hide(b) || (v1 && rules_hide(dir, devices)));
}

static void devices_tell(struct telling *t, const struct cgroup_system *sys, const char *why)
{
    char dir[PATH_MAX];
    bool v2, has_v1 = cgroup_base_of(t->b, "devices", dir, sizeof dir, &v2);
    bool v1 = has_v1 && rules_hide(dir, sys->devices);
    if (has_v1 && !v1)
        why = "the devices control group allows them by a wildcard, against which no rule helps";
    t->b->hides_devices = cgroup_bases_hide(t->b, sys->is_root, sys->devices);
    if (t->b->hides_devices)
        has_add(t, !v1, "devices");
    else
        lacks_add(t, "devices of other jobs are not hidden", sys->is_root ? why : "that takes root",
                  "");
}

bool cgroup_bases_end_all(const struct cgroup_bases *b)
{
    struct span rest = span_of(str_text(&b->text));
    char controller[300], dir[PATH_MAX];
    bool kills = false;
    while (cgroup_base_next(&rest, controller, sizeof controller, dir, sizeof dir))
        kills |= cgroup_has(dir, "cgroup.kill");
    return kills;
}

static void end_tell(struct telling *t)
{
    char dir[PATH_MAX];
    bool v2;
    if (cgroup_bases_end_all(t->b))
        has_add(t, true, "the end of all processes");
    else if (cgroup_base_of(t->b, "freezer", dir, sizeof dir, &v2))
        has_add(t, false, "the end of all processes");
    else
        lacks_add(t, "processes of a job are found by descent to end them",
                  "there is no cgroup.kill and no freezer", "");
}

void cgroup_bases_tell(struct cgroup_bases *b, const struct cgroup_system *sys,
                       struct base_places *p)
{
    struct telling t = {.b = b, .v1 = STR_INIT, .v2 = STR_INIT, .lacks = STR_INIT};
    char dir[PATH_MAX];
    bool is_v2;
    if (!sys->is_virtual)
        cores_tell(&t, why_of(&p->cpuset, &p->v2, "cpuset"));
    memory_tell(&t, why_of(&p->memory, &p->v2, "memory"));
    if (!sys->is_virtual)
        devices_tell(&t, sys, why_of(&p->devices, &p->v2, "devices"));
    if (cgroup_base_of(b, "pids", dir, sizeof dir, &is_v2))
        has_add(&t, is_v2, "number of processes");
    else
        lacks_add(&t, "the number of processes is not limited", why_of(&p->pids, &p->v2, "pids"),
                  "");
    end_tell(&t);
    if (*p->v2.no_scope)
        lacks_add(&t, "systemd gave no scope for jobs", p->v2.no_scope,
                  "their groups are beside its own");
    b->complete = t.lacks.len == 0;
    if (t.v1.len)
        str_addf(&b->said, "enforced by cgroup v1: %s", str_text(&t.v1));
    if (t.v2.len)
        str_addf(&b->said, "%senforced by cgroup v2: %s", b->said.len ? "; " : "", str_text(&t.v2));
    if (t.lacks.len)
        str_add(&b->said, str_text(&t.lacks) + (b->said.len ? 0 : 2));
    str_done(&t.v1);
    str_done(&t.v2);
    str_done(&t.lacks);
}
