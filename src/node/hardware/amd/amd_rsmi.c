/* AMD's GPUs as ROCm SMI tells of them, for machines whose kernel shows no list of them. Which of
 * its codes is what: answer.c. What it fills is set before, for it leaves alone what it does
 * not know. */
#include "model/record/series.h"
#include "node/hardware/amd/amd.h"
#include "node/hardware/discover_gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROCESSES_MAX  1024u
#define BYTES_BELIEVED (UINT64_C(1) << 50)

/* ---- finding ---- */

/* (domain << 32) | (part << 28) | (bus << 8) | (device << 3) | function */
static void address_say(uint64_t id, char *to, size_t size)
{
    snprintf(to, size, "%04x:%02x:%02x.%x", (unsigned)(id >> 32) & 0xffff,
             (unsigned)(id >> 8 & 0xff), (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
}

static void type_find(const struct rsmi *r, struct amd_device *d)
{
    char name[128] = "";
    uint16_t number = 0;
    bool numbered = r->device_id && r->device_id(d->id, &number) == 0;
    r->name(d->id, name, sizeof name);
    name[sizeof name - 1] = '\0';
    amd_type_find(d, numbered ? number : (uint32_t)strtoul(name, NULL, 16), 0);
    if (text_is(d->type, "gpu"))
        gpu_type_of(name, d->type, sizeof d->type);
}

static void device_add(struct amd *a, uint32_t index)
{
    const struct rsmi *r = &a->rsmi;
    struct amd_device d = {.id = index, .place = index, .numa = -1};
    uint64_t unique = 0, id = 0, bytes = 0;
    uint32_t render = UINT32_MAX;
    if (r->unique_id(index, &unique) == 0 && unique)
        snprintf(d.uuid, sizeof d.uuid, "GPU-%016" PRIx64, unique);
    if (r->pci(index, &id) == 0)
        address_say(id, d.pci, sizeof d.pci);
    if (r->memory_total(index, RSMI_VRAM, &bytes) == 0 && bytes < BYTES_BELIEVED)
        d.bytes = bytes;
    d.has_render = r->render_minor && r->render_minor(index, &render) == 0 && render <= 0xfffff;
    d.render = render;
    type_find(r, &d);
    amd_place_find(&d);
    a->device[a->n++] = d;
}

static void links_find(struct amd *a, uint32_t device)
{
    for (uint32_t other = 0; a->rsmi.link_type && other < a->n; other++) {
        uint64_t hops = 0;
        int type = 0;
        if (other != device && a->rsmi.link_type(device, other, &hops, &type) == 0 &&
            type == RSMI_LINK_XGMI)
            a->device[device].links |= UINT64_C(1) << other;
    }
}

static void library_find(struct amd *a, struct str *why)
{
    uint32_t count = 0;
    const char *word = NULL;
    str_add(why, why->len ? "; " : "");
    if (!rsmi_open(&a->rsmi, why))
        return;
    int code = a->rsmi.count(&count);
    amd_answer_of_rsmi(code, &word);
    if (code != 0 || count > RSMI_DEVICES_MAX) {
        str_addf(why, "ROCm SMI (%s) does not say how many devices there are (%d, RSMI_STATUS_%s)",
                 a->rsmi.path, code, word);
        return;
    }
    for (uint32_t i = 0; i < count && i < AMD_DEVICES_MAX; i++)
        device_add(a, i);
    for (uint32_t i = 0; i < a->n; i++)
        links_find(a, i);
    if (a->n)
        str_clear(why); /* that the kernel's list is not there is then no news */
    else
        str_addf(why, "ROCm SMI (%s) finds no device", a->rsmi.path);
}

/* ---- how it is ---- */

static bool answered(int code, const char *call, struct amd_now *now)
{
    char said[64];
    const char *word = NULL;
    enum amd_answer answer = amd_answer_of_rsmi(code, &word);
    snprintf(said, sizeof said, "ROCm SMI answers %d (RSMI_STATUS_%s)", code, word);
    amd_note(now, answer, call, said);
    return code == 0;
}

/* A block that answers that it does not count is none; one that should have told, or tells what
 * cannot be, must not make the sum smaller: what it tells next would be news. */
static void errors_read(const struct rsmi *r, uint32_t index, struct amd_now *ret)
{
    bool all = true, any = false;
    for (uint32_t i = 0; r->ecc && i < RSMI_BLOCKS; i++) {
        struct rsmi_errors e = {0};
        int code = r->ecc(index, UINT64_C(1) << i, &e);
        bool believed = code == 0 && e.uncorrectable <= UINT32_MAX;
        ret->uncorrectable += believed ? e.uncorrectable : 0;
        any |= code == 0;
        all &= code == 0 ? believed : amd_answer_of_rsmi(code, NULL) <= AMD_NOT_TOLD;
    }
    ret->has_errors = any && all;
}

#define EDGE         0
#define JUNCTION     1
#define MEMORY       2
#define NOW          0
#define POWER_MAX_UW UINT64_C(5000000000)
#define TEMP_MAX_MC  300000

static bool temperature_of(const struct rsmi *r, uint32_t index, uint32_t sensor, int64_t *ret)
{
    return r->temperature && r->temperature(index, sensor, NOW, ret) == 0 && *ret > 0 &&
           *ret < TEMP_MAX_MC;
}

/* What has no answer is not told; that a device is lost is found by the calls before. */
static void sensors_read(const struct rsmi *r, uint32_t index, struct amd_now *ret)
{
    static _Thread_local char bytes[AMD_TABLE_BYTES];
    struct str out = STR_INIT;
    uint32_t percent = UINT32_MAX;
    uint64_t uw = 0;
    int64_t milli = 0;
    int kind = 0;
    ret->sensors[0] = 0;
    ret->table = (struct amd_table){0};
    if (r->memory_busy && r->memory_busy(index, &percent) == 0 && percent <= 100)
        str_addf(&out, " %d:%" PRIu32, SERIES_GPU_MEM_UTIL, percent);
    if (((r->power && r->power(index, &uw, &kind) == 0) ||
         (r->power_average && r->power_average(index, 0, &uw) == 0)) &&
        uw < POWER_MAX_UW)
        str_addf(&out, " %d:%" PRIu64, SERIES_GPU_POWER, (uw + 50000) / 100000);
    if (temperature_of(r, index, EDGE, &milli) || temperature_of(r, index, JUNCTION, &milli))
        str_addf(&out, " %d:%" PRId64, SERIES_GPU_TEMP, (milli + 500) / 1000);
    if (temperature_of(r, index, MEMORY, &milli))
        str_addf(&out, " %d:%" PRId64, SERIES_GPU_MEM_TEMP, (milli + 500) / 1000);
    memset(bytes, 0, sizeof bytes);
    if (r->table && r->table(index, bytes) == 0)
        amd_table_read(bytes, sizeof bytes, &ret->table);
    amd_table_say(&ret->table, true, &out);
    if (out.len < sizeof ret->sensors)
        snprintf(ret->sensors, sizeof ret->sensors, "%s", str_text(&out));
    str_done(&out);
}

static void library_read(const struct amd *a, const struct amd_device *d, bool errors_too,
                         struct amd_now *ret)
{
    const struct rsmi *r = &a->rsmi;
    uint32_t count = 0, busy = UINT32_MAX;
    if (answered(r->count(&count), "rsmi_num_monitor_devices", ret) && d->id >= count) {
        amd_note(ret, AMD_ABSENT, NULL, "ROCm SMI does not list it any more");
        return;
    }
    amd_bus_read(d, ret);
    if (ret->all_ones)
        return;
    bool known = r->busy && answered(r->busy(d->id, &busy), "rsmi_dev_busy_percent_get", ret);
    ret->has_busy = known && busy <= 100 && !d->is_part;
    ret->busy_percent = ret->has_busy ? busy : 0;
    ret->memory_total = ret->memory_used = UINT64_MAX;
    ret->has_memory = answered(r->memory_total(d->id, RSMI_VRAM, &ret->memory_total),
                               "rsmi_dev_memory_total_get", ret) &&
                      answered(r->memory_used(d->id, RSMI_VRAM, &ret->memory_used),
                               "rsmi_dev_memory_usage_get", ret) &&
                      ret->memory_total < BYTES_BELIEVED && ret->memory_used <= ret->memory_total &&
                      !d->is_part;
    if (!d->is_part)
        sensors_read(r, d->id, ret);
    if (errors_too)
        errors_read(r, d->id, ret);
}

/* ---- processes ---- */

static bool computes_on(const struct rsmi *r, uint32_t pid, uint32_t index)
{
    uint32_t on[AMD_DEVICES_MAX] = {0}, n = AMD_DEVICES_MAX;
    if (!r->process_gpus || r->process_gpus(pid, on, &n) != 0)
        return false;
    for (uint32_t i = 0; i < n && i < AMD_DEVICES_MAX; i++)
        if (on[i] == index)
            return true;
    return false;
}

static void process_take(const struct amd *a, uint32_t pid, amd_process_vec *ret)
{
    for (uint32_t i = 0; i < a->n; i++) {
        struct rsmi_process on = {.vram_bytes = UINT64_MAX};
        struct amd_process p = {.device = i, .pid = (pid_t)pid};
        p.has_bytes = a->rsmi.process_on && a->rsmi.process_on(pid, a->device[i].id, &on) == 0 &&
                      on.vram_bytes < BYTES_BELIEVED;
        p.bytes = p.has_bytes ? on.vram_bytes : 0;
        if (p.bytes > 0 || computes_on(&a->rsmi, pid, a->device[i].id))
            vec_push(ret, p);
    }
}

static bool library_processes(const struct amd *a, amd_process_vec *ret)
{
    static struct rsmi_process process[PROCESSES_MAX];
    uint32_t n = PROCESSES_MAX;
    if (!a->rsmi.processes)
        return true; /* not told: open files and memory in use are all that tells */
    memset(process, 0, sizeof process);
    int code = a->rsmi.processes(process, &n);
    /* RSMI_STATUS_INSUFFICIENT_SIZE. */
    if (amd_answer_of_rsmi(code, NULL) == AMD_NOT_TOLD && code != 11)
        return true;
    for (uint32_t i = 0; code == 0 && i < n && i < PROCESSES_MAX; i++)
        process_take(a, process[i].pid, ret);
    return code == 0 && n <= PROCESSES_MAX;
}

const struct amd_source amd_by_rsmi = {
    "ROCm SMI",
    library_find,
    library_read,
    library_processes,
};
