#include "node/hardware/amd/amd.h"

#include "base/alloc.h"
#include "node/hardware/gpu_sentences.h"
#include "node/hardware/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *amd_kfd_path(void)
{
    const char *path = getenv("REMUDA_KFD"); /* of tests */
    return path ? path : "/dev/kfd";
}

/* ---- finding ---- */

static void find(void *ctx)
{
    struct amd *a = ctx;
    a->source->find(a, &a->why);
}

/* False if it does not come back: then `a` is the thread's for ever. */
static bool source_try(struct amd *a, const struct amd_source *source)
{
    a->source = source;
    return bounded_begin(a->thread, find, a) &&
           bounded_wait(a->thread, bounded_now_ms() + 2 * a->wait_ms);
}

/* Parts of one GPU have its address, and with some drivers its number. */
static void parts_mark(struct amd *a)
{
    bool same[AMD_DEVICES_MAX] = {false};
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < a->n; k++) {
            if (k == i)
                continue;
            a->device[i].is_part |=
                a->device[i].pci[0] && text_is(a->device[i].pci, a->device[k].pci);
            same[i] |= text_is(a->device[i].uuid, a->device[k].uuid);
        }
    for (uint32_t i = 0; i < a->n; i++)
        if (same[i])
            a->device[i].uuid[0] = '\0';
}

static void devices_begin(struct amd *a)
{
    parts_mark(a);
    a->asked = xcalloc(a->n, sizeof *a->asked);
    for (uint32_t i = 0; i < a->n; i++) {
        a->asked[i] = (struct amd_asked){.amd = a, .at = i, .thread = bounded_new()};
        amd_note(&a->asked[i].now, AMD_BLIND, NULL, "it has not been asked yet");
    }
}

struct amd *amd_open(struct str *why)
{
    if (!getenv("REMUDA_RSMI") && access(amd_kfd_path(), F_OK) != 0)
        return NULL; /* no driver: nothing to be said */
    struct amd *a = xcalloc(1, sizeof *a);
    a->thread = bounded_new();
    const char *wait = getenv("REMUDA_AMD_WAIT_MS"); /* of tests */
    a->wait_ms = wait ? strtoll(wait, NULL, 10) : AMD_WAIT_MS;
    bool answered = source_try(a, &amd_by_kernel);
    answered = answered && (a->n > 0 || source_try(a, &amd_by_rsmi));
    if (!answered) {
        str_addf(why, SAY_AMD_HANGS, a->source->name);
        return NULL;
    }
    if (a->n == 0) {
        str_addf(why, SAY_AMD_CANNOT, amd_kfd_path(), str_text(&a->why));
        amd_close(a);
        return NULL;
    }
    str_add(why, str_text(&a->why));
    devices_begin(a);
    return a;
}

bool amd_close(struct amd *a)
{
    bool stuck = false;
    if (!a)
        return true;
    for (uint32_t i = 0; a->asked && i < a->n; i++) {
        stuck |= !bounded_wait(a->asked[i].thread, 0);
        bounded_free(a->asked[i].thread);
    }
    stuck |= !bounded_wait(a->thread, 0);
    bounded_free(a->thread);
    if (stuck)
        return false; /* it is still being written to */
    rsmi_close(&a->rsmi);
    str_done(&a->why);
    vec_done(&a->fresh);
    vec_done(&a->process);
    free(a->asked);
    free(a);
    return true;
}

uint32_t amd_find(const struct amd *a, const char *uuid, uint32_t render)
{
    ASSERT(a->n <= AMD_DEVICES_MAX);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->device[i].uuid[0] && text_is(a->device[i].uuid, uuid))
            return i;
    for (uint32_t i = 0; i < a->n; i++)
        if (text_is(uuid, "-") && a->device[i].has_render && a->device[i].render == render)
            return i;
    return UINT32_MAX;
}

void amd_version(const struct amd *a, struct str *out)
{
    char path[256], version[64];
    str_add(out, a->source->name);
    if (a->rsmi.path[0])
        str_addf(out, " (%s)", a->rsmi.path);
    snprintf(path, sizeof path, "%s/module/amdgpu/version", sysfs_root());
    if (sysfs_line(path, version, sizeof version) == 0)
        str_addf(out, ", driver amdgpu %s", version);
}

/* ---- looking ---- */

void amd_note(struct amd_now *now, enum amd_answer answer, const char *what, const char *said)
{
    ASSERT(said);
    if (answer <= AMD_LATER ||
        answer <= now->answer) /* what is not told, and what is busy, say nothing about it */
        return;
    now->answer = answer;
    snprintf(now->why, sizeof now->why, "%s%s%s", what ? what : "", what ? ": " : "", said);
}

void amd_bus_read(const struct amd_device *d, struct amd_now *ret)
{
    char path[256];
    char first[5] = "";
    size_t len = 0;
    if (!d->pci[0])
        return;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/config", sysfs_root(), d->pci);
    int error = sysfs_read(path, first, sizeof first, &len);
    if (error) {
        amd_note(ret, amd_answer_of_errno(error), "its PCI registers", strerror(error));
        return;
    }
    if (len == 4 && memcmp(first, "\xff\xff\xff\xff", 4) == 0) {
        ret->all_ones = true;
        amd_note(ret, AMD_DOUBT, NULL, "its PCI registers read as all ones");
    }
}

static void device_read(void *ctx)
{
    struct amd_asked *asked = ctx;
    asked->fresh = (struct amd_now){0};
    asked->amd->source->read(asked->amd, &asked->amd->device[asked->at], asked->errors_too,
                             &asked->fresh);
}

/* A device is off the bus for a moment while it is reset. */
static void ones_count(struct amd_asked *asked)
{
    asked->ones = asked->now.all_ones ? asked->ones + (asked->ones < AMD_ONES_MOST) : 0;
    if (asked->ones == AMD_ONES_MOST)
        amd_note(&asked->now, AMD_LOST, NULL,
                 "it has fallen off the bus: its PCI registers read as all ones");
}

static void device_take(struct amd_asked *asked, bool began, int64_t until_ms)
{
    if (began && bounded_wait(asked->thread, until_ms)) {
        asked->now = asked->fresh;
        ones_count(asked);
        return;
    }
    asked->now = (struct amd_now){0};
    amd_note(&asked->now, AMD_BLIND, NULL, "its driver does not answer");
}

void amd_look(struct amd *a, uint64_t devices, bool errors_too)
{
    ASSERT(a->n <= AMD_DEVICES_MAX);
    bool began[AMD_DEVICES_MAX] = {false};
    for (uint32_t i = 0; i < a->n; i++) {
        if (!(devices >> i & 1))
            continue;
        began[i] = bounded_wait(a->asked[i].thread, 0);
        if (!began[i])
            continue;
        a->asked[i].errors_too = errors_too;
        began[i] = bounded_begin(a->asked[i].thread, device_read, &a->asked[i]);
    }
    int64_t until_ms = bounded_now_ms() + a->wait_ms;
    for (uint32_t i = 0; i < a->n; i++)
        if (devices >> i & 1)
            device_take(&a->asked[i], began[i], until_ms);
}

const struct amd_now *amd_now(const struct amd *a, uint32_t device)
{
    return &a->asked[device].now;
}

/* ---- processes ---- */

static void processes_read(void *ctx)
{
    struct amd *a = ctx;
    vec_clear(&a->fresh);
    a->fresh_ok = a->source->processes(a, &a->fresh);
}

bool amd_processes(struct amd *a, const amd_process_vec **ret)
{
    bool ok = bounded_begin(a->thread, processes_read, a) &&
              bounded_wait(a->thread, bounded_now_ms() + a->wait_ms);
    if (!ok || !a->fresh_ok)
        return false;
    vec_clear(&a->process);
    for (size_t i = 0; i < a->fresh.n; i++)
        vec_push(&a->process, a->fresh.v[i]);
    *ret = &a->process;
    return true;
}
