/* What goes on on the devices of the fake of NVML, and how they are: processes, use, damage,
 * events. */
#include "nvml_fake.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* ---- processes ---- */

static int processes(const char *word, const char *call, void *d, unsigned *n, struct process *p)
{
    unsigned long long pid, mib, many = 0, b;
    unsigned most = *n, count = 0;
    size_t each = fake_fact("long", fake_number_of(d), 0, &pid, &b) ? 32 : sizeof *p;
    if (fake_lost(d))
        return LOST;
    if (fake_wanted(call, fake_number_of(d)))
        return fake_wanted(call, fake_number_of(d));
    fake_fact("many", fake_number_of(d), 0, &many, &b);
    while (fake_fact(word, fake_number_of(d), count, &pid, &mib))
        count++;
    *n = count + (unsigned)many;
    if (*n > most)
        return TOO_SMALL;
    for (unsigned i = 0; i < *n; i++) {
        struct process one = {
            .pid = 0x7fffffff, .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX};
        char *to = (char *)p + i * each;
        if (i >= many && fake_fact(word, fake_number_of(d), i - (unsigned)many, &pid, &mib)) {
            one.pid = (unsigned)pid;
            one.used = mib << 20;
        }
        memset(to, 0, each);
        memcpy(to, &one, sizeof one);
    }
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *p)
{
    return processes("process", "compute", d, n, p);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *n, struct process *p)
{
    return processes("graphics", "graphics", d, n, p);
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *d, unsigned *n, struct process *p)
{
    return processes("mps", "mps", d, n, p);
}
int nvmlDeviceGetNumaNodeId(void *d, unsigned *node)
{
    unsigned long long a, b;
    if (!fake_fact("numa", fake_whole_of(d), 0, &a, &b))
        return NOT_SUPPORTED;
    *node = (unsigned)a;
    return OK;
}
int nvmlDeviceGetRemappedRows(void *d, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed)
{
    unsigned long long a, b;
    if (fake_wanted("rows", fake_whole_of(d)))
        return fake_wanted("rows", fake_whole_of(d));
    if (!fake_fact("rows", fake_whole_of(d), 0, &a, &b))
        return NOT_SUPPORTED;
    *corrected = *uncorrected = 0;
    *pending = (unsigned)a;
    *failed = (unsigned)b;
    return OK;
}
struct field {
    unsigned id, scope;
    long long at_us, latency_us;
    unsigned type;
    int answer;
    unsigned long long value;
};
int nvmlDeviceGetFieldValues(void *d, int n, struct field *f)
{
    unsigned long long a, b;
    if (fake_wanted("fields", fake_whole_of(d)))
        return fake_wanted("fields", fake_whole_of(d));
    for (int i = 0; i < n; i++) {
        if (f[i].id != 230) {
            f[i].answer = fake_field(f[i].id, fake_whole_of(d), &f[i].value) ? OK : NOT_SUPPORTED;
            f[i].type = 3;
            if ((f[i].id == 197 || f[i].id == 198) &&
                !fake_fact("wide", fake_whole_of(d), 0, &a, &b)) {
                f[i].type = 1; /* as the drivers that were seen have it */
                f[i].value = (unsigned)f[i].value;
            }
            continue;
        }
        int known = f[i].id == 230 && fake_fact("action", fake_whole_of(d), 0, &a, &b);
        f[i].answer = known ? OK : NOT_SUPPORTED;
        f[i].type = 1;
        f[i].value = known ? a : 0;
    }
    return OK;
}
struct use {
    unsigned pid;
    unsigned long long at_us;
    unsigned gpu, memory, encoder, decoder;
};
/* "busy GPU PID PERCENT": a sample now. */
int nvmlDeviceGetProcessUtilization(void *d, struct use *u, unsigned *n, unsigned long long since)
{
    unsigned long long pid, percent;
    unsigned most = *n;
    if (fake_is_instance(d) || fake_fact("nosamples", fake_number_of(d), 0, &pid, &percent))
        return NOT_SUPPORTED;
    for (*n = 0; *n < most && fake_fact("busy", fake_number_of(d), *n, &pid, &percent); ++*n)
        u[*n] = (struct use){.pid = (unsigned)pid, .at_us = since + 1, .gpu = (unsigned)percent};
    return *n ? OK : NOT_FOUND;
}
struct rates {
    unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(void *d, struct rates *r)
{
    unsigned long long percent, b;
    if (fake_is_instance(d))
        return NOT_SUPPORTED;
    r->memory = 0;
    if (fake_frame("frame", fake_number_of(d), &percent, &b)) {
        r->gpu = (unsigned)percent;
        return OK;
    }
    r->gpu = fake_fact("rate", fake_number_of(d), 0, &percent, &b) ? (unsigned)percent : 0;
    r->memory = 0;
    return OK;
}
int nvmlDeviceGetTotalEccErrors(void *d, int type, int since, unsigned long long *count)
{
    unsigned long long b;
    if (fake_lost(d))
        return LOST;
    if (type != 1 || since != 0 || fake_is_instance(d))
        return NOT_SUPPORTED;
    if (!fake_fact("ecc", fake_number_of(d), 0, count, &b))
        *count = 0;
    return OK;
}
int nvmlEventSetCreate(void **set)
{
    *set = calloc(8, sizeof(unsigned)); /* XIDs of each GPU that were reported */
    return OK;
}
int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set)
{
    (void)d;
    (void)types;
    (void)set;
    return OK;
}
int nvmlEventSetFree(void *set)
{
    free(set);
    return OK;
}
int nvmlEventSetWait_v2(void *set, struct event *e, unsigned ms)
{
    unsigned *reported = set;
    (void)ms;
    if (fake_wanted("wait", 0))
        return fake_wanted("wait", 0);
    for (unsigned i = 0; i < fake_the_machine()->n; i++) {
        unsigned long long code, instance;
        if (!fake_fact("xid", i, reported[i], &code, &instance))
            continue;
        reported[i]++;
        *e = (struct event){.device = (void *)(uintptr_t)(i + 1), .type = 8, .data = code};
        e->gpu_instance = instance ? (unsigned)instance : UINT32_MAX;
        e->compute_instance = UINT32_MAX;
        return OK;
    }
    return TIMEOUT;
}
