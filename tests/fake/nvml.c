/* A fake of NVIDIA's management library for tests: REMUDA_NVML names it, and REMUDA_FAKE_GPUS a file that says what machine it is and what happens to it. The file is read anew at each
 * question, so that things can happen while daemons run. Lines:
 *
 *   machine a100x8 | a100x4 | a100mig | mixed | none     (see machines below; the first line)
 *   process GPU PID MIB      PID computes on it and holds so much of its memory
 *   graphics GPU PID MIB     the same, of an X server's kind
 *   busy GPU PID PERCENT     PID keeps it so busy (nosamples GPU: it does not tell of processes; rate GPU PERCENT: how busy it is as a whole)
 *   used GPU MIB             so much of its memory is in use
 *   mps GPU PID MIB          the same, a client of MPS: it stands in a list of its own
 *   many GPU NUMBER          so many processes that are none stand in the list before the others
 *   long GPU                 entries of the lists have 32 bytes, as with the first drivers of R535
 *   lost GPU                 it has fallen off the bus: whatever is asked answers NVML_ERROR_GPU_IS_LOST, and no GPU is found by its name any more
 *   answer:CALL GPU CODE     that call answers so (init, uuid_of: by its name, at: by its address, index, memory, compute, graphics, mps, wait, rows, fields); of init and wait GPU is 0
 *   slow GPU MS              so long its first handle takes
 *   gone GPU                 the driver does not know it any more (instances that were changed)
 *   action GPU NUMBER        what the driver wants done (field 230); without such a line it does not know the field
 *   rows GPU PENDING FAILED  remapped rows of memory; without such a line it does not tell
 *   numa GPU NODE            its memory is memory of the system
 *   ecc GPU COUNT            uncorrectable errors since the driver was loaded
 *   xid GPU CODE GI          reported once to each process that waits for events; GI: of that instance (none: of the whole)
 *   count 0 NUMBER           it says that there are so many devices; crash 0: it ends the process when it is asked for that
 *   hang GPU                 questions about its memory are never answered
 *
 * GPU is a number of the device in NVML's order; instances of GPU 0 of a100mig are 100, 101, …. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15 };

struct memory {
    unsigned long long total, free, used;
};
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};
struct event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

#define GIB 1024

struct instance {
    const char *name;
    unsigned mib, gi, ci;
};
struct gpu {
    const char *name;
    unsigned mib;
    unsigned long cpus;
    unsigned linked[8]; /* numbers + 1 of GPUs; 99: a switch */
    struct instance instance[4];
};
struct machine {
    const char *name;
    unsigned n;
    struct gpu gpu[8];
};

#define A100 "NVIDIA A100-SXM4-40GB", 40 * GIB
/* Device files' numbers run against the GPUs' own, as they may on real machines. */
static const struct machine machines[] = {
    {"a100x8",
     8,
     {{A100, 3, {99}},
      {A100, 3, {99}},
      {A100, 3, {99}},
      {A100, 3, {99}},
      {A100, 12, {99}},
      {A100, 12, {99}},
      {A100, 12, {99}},
      {A100, 12, {99}}}},
    {"a100x4",
     4,
     {{A100, 3, {4}}, {A100, 3, {3}}, {A100, 3, {2}}, {A100, 3, {1}}}}, /* 0-3 and 1-2 are linked */
    {"a100mig",
     2,
     {{A100,
       3,
       {0},
       {{"NVIDIA A100-SXM4-40GB MIG 3g.20gb", 20 * GIB, 2, 0},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, 9, 0},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, 10, 0}}},
      {A100, 3}}},
    {"mixed",
     4,
     {{"Tesla V100-SXM2-16GB", 16 * GIB, 1, {2}},
      {"Tesla V100-SXM2-16GB", 16 * GIB, 1, {1}},
      {"Tesla T4", 15 * GIB, 2},
      {"Tesla T4", 15 * GIB, 2}}},
    {"none", 0, {{0}}},
};

/* ---- the file ---- */

static const struct machine *the_machine(void)
{
    const char *path = getenv("REMUDA_FAKE_GPUS");
    char line[256] = "", name[64] = "a100x4";
    FILE *f = path ? fopen(path, "re") : NULL;
    if (f && fgets(line, sizeof line, f))
        sscanf(line, "machine %63s", name);
    if (f)
        fclose(f);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (strcmp(machines[i].name, name) == 0)
            return &machines[i];
    return &machines[1];
}

/* The n-th line about that device with that word: its numbers. */
static int fact(const char *word, unsigned gpu, unsigned n, unsigned long long *a, unsigned long long *b)
{
    const char *path = getenv("REMUDA_FAKE_GPUS");
    char line[256], first[32];
    unsigned which;
    int found = 0;
    FILE *f = path ? fopen(path, "re") : NULL;
    while (f && !found && fgets(line, sizeof line, f)) {
        *a = *b = 0;
        if (sscanf(line, "%31s %u %llu %llu", first, &which, a, b) >= 2 && strcmp(first, word) == 0 &&
            which == gpu)
            found = n-- == 0;
    }
    if (f)
        fclose(f);
    return found;
}

/* ---- handles: number + 1; of instances 100 + number + 1 ---- */

static unsigned number_of(const void *device)
{
    return (unsigned)((uintptr_t)device - 1);
}
static int is_instance(const void *device)
{
    return number_of(device) >= 100;
}
static unsigned whole_of(const void *device)
{
    return is_instance(device) ? 0 : number_of(device);
}
static const struct instance *instance_of(const void *device)
{
    return &the_machine()->gpu[0].instance[number_of(device) - 100];
}
static int lost(const void *device)
{
    unsigned long long a, b;
    return fact("lost", whole_of(device), 0, &a, &b);
}

/* What a line "answer:CALL GPU CODE" wants; OK: nothing. */
static int wanted(const char *call, unsigned gpu)
{
    unsigned long long code, b;
    char word[32];
    snprintf(word, sizeof word, "answer:%s", call);
    return fact(word, gpu, 0, &code, &b) ? (int)code : OK;
}

static int gone(unsigned gpu)
{
    unsigned long long a, b;
    return fact("gone", gpu, 0, &a, &b);
}

/* A handle is what starts a GPU. */
static void handle_slowly(unsigned gpu)
{
    static unsigned started;
    unsigned long long ms, b;
    if (gpu < 32 && !(started >> gpu & 1) && fact("slow", gpu, 0, &ms, &b))
        usleep((useconds_t)ms * 1000);
    started |= gpu < 32 ? 1u << gpu : 0;
}

int nvmlInit_v2(void)
{
    return wanted("init", 0);
}
int nvmlSystemGetDriverVersion(char *to, unsigned n)
{
    snprintf(to, n, "560.35.03");
    return OK;
}
int nvmlSystemGetNVMLVersion(char *to, unsigned n)
{
    snprintf(to, n, "12.560.35.03");
    return OK;
}
int nvmlShutdown(void)
{
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *n)
{
    unsigned long long a, b;
    *n = fact("count", 0, 0, &a, &b) ? (unsigned)a : the_machine()->n;
    if (fact("crash", 0, 0, &a, &b))
        raise(SIGKILL);
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{
    *d = (void *)(uintptr_t)(i + 1);
    if (i >= the_machine()->n)
        return NOT_FOUND;
    handle_slowly(i);
    return lost(*d) ? LOST : wanted("index", i);
}
int nvmlDeviceGetName(void *d, char *to, unsigned n)
{
    snprintf(to, n, "%s", is_instance(d) ? instance_of(d)->name : the_machine()->gpu[number_of(d)].name);
    return OK;
}
int nvmlDeviceGetUUID(void *d, char *to, unsigned n)
{
    snprintf(to, n, is_instance(d) ? "MIG-%u" : "GPU-%u", number_of(d) + 1);
    return OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **d)
{
    unsigned n;
    /* Each GPU is started in turn until one has the name; the first that cannot be ends it. */
    for (unsigned i = 0; i < the_machine()->n; i++) {
        void *one;
        int code = nvmlDeviceGetHandleByIndex_v2(i, &one);
        if (code != OK)
            return code;
    }
    if ((sscanf(uuid, "GPU-%u", &n) != 1 && sscanf(uuid, "MIG-%u", &n) != 1) || gone(n - 1))
        return NOT_FOUND;
    *d = (void *)(uintptr_t)n;
    return wanted("uuid_of", n - 1);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **d)
{
    unsigned bus;
    if (sscanf(address, "%*x:%x", &bus) != 1 || bus < 0x10 || bus - 0x10 >= the_machine()->n)
        return NOT_FOUND;
    int code = wanted("at", bus - 0x10);
    return code ? code : nvmlDeviceGetHandleByIndex_v2(bus - 0x10, d);
}
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m)
{
    unsigned long long a, b, used = 4;
    if (lost(d))
        return LOST;
    if (gone(number_of(d)))
        return 2; /* a handle of what is not there any more */
    if (wanted("memory", number_of(d)))
        return wanted("memory", number_of(d));
    while (fact("hang", number_of(d), 0, &a, &b))
        sleep(1);
    for (unsigned i = 0; fact("process", number_of(d), i, &a, &b); i++)
        used += b;
    for (unsigned i = 0; fact("graphics", number_of(d), i, &a, &b); i++)
        used += b;
    for (unsigned i = 0; fact("mps", number_of(d), i, &a, &b); i++)
        used += b;
    if (fact("used", number_of(d), 0, &a, &b))
        used = a;
    m->total =
        (unsigned long long)(is_instance(d) ? instance_of(d)->mib : the_machine()->gpu[number_of(d)].mib)
        << 20;
    m->used = used << 20;
    m->free = m->total - m->used;
    return OK;
}
int nvmlDeviceGetCpuAffinity(void *d, unsigned n, unsigned long *set)
{
    memset(set, 0, n * sizeof *set);
    set[0] = the_machine()->gpu[whole_of(d)].cpus;
    return OK;
}
int nvmlDeviceGetMinorNumber(void *d, unsigned *minor)
{
    *minor = the_machine()->n - 1 - whole_of(d);
    return is_instance(d) ? NOT_SUPPORTED : OK;
}

static void pci_fill(struct pci *p, unsigned bus)
{
    memset(p, 0, sizeof *p);
    p->bus = bus;
    snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", bus);
}
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p)
{
    pci_fill(p, 0x10 + whole_of(d));
    return OK;
}
int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *active)
{
    if (is_instance(d) || link >= 8 || !the_machine()->gpu[number_of(d)].linked[link])
        return NOT_SUPPORTED;
    *active = 1;
    return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, struct pci *p)
{
    unsigned peer = the_machine()->gpu[number_of(d)].linked[link];
    pci_fill(p, peer == 99 ? 0xc0 : 0x10 + peer - 1);
    return OK;
}

/* ---- MIG ---- */

int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *pending)
{
    *now = *pending = !is_instance(d) && the_machine()->gpu[number_of(d)].instance[0].name;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *n)
{
    (void)d;
    *n = 7;
    return OK;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **mig)
{
    if (i >= 4 || !the_machine()->gpu[number_of(d)].instance[i].name)
        return NOT_FOUND;
    *mig = (void *)(uintptr_t)(100 + i + 1);
    return gone(100 + i) ? NOT_FOUND : OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **d)
{
    (void)mig;
    *d = (void *)(uintptr_t)1;
    return OK;
}
int nvmlDeviceGetGpuInstanceId(void *mig, unsigned *id)
{
    *id = instance_of(mig)->gi;
    return OK;
}
int nvmlDeviceGetComputeInstanceId(void *mig, unsigned *id)
{
    *id = instance_of(mig)->ci;
    return OK;
}

/* ---- what goes on ---- */

static int processes(const char *word, const char *call, void *d, unsigned *n, struct process *p)
{
    unsigned long long pid, mib, many = 0, b;
    unsigned most = *n, count = 0;
    size_t each = fact("long", number_of(d), 0, &pid, &b) ? 32 : sizeof *p;
    if (lost(d))
        return LOST;
    if (wanted(call, number_of(d)))
        return wanted(call, number_of(d));
    fact("many", number_of(d), 0, &many, &b);
    while (fact(word, number_of(d), count, &pid, &mib))
        count++;
    *n = count + (unsigned)many;
    if (*n > most)
        return TOO_SMALL;
    for (unsigned i = 0; i < *n; i++) {
        struct process one = {.pid = 0x7fffffff, .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX};
        char *to = (char *)p + i * each;
        if (i >= many && fact(word, number_of(d), i - (unsigned)many, &pid, &mib)) {
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
    if (!fact("numa", whole_of(d), 0, &a, &b))
        return NOT_SUPPORTED;
    *node = (unsigned)a;
    return OK;
}
int nvmlDeviceGetRemappedRows(void *d, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                              unsigned *failed)
{
    unsigned long long a, b;
    if (wanted("rows", whole_of(d)))
        return wanted("rows", whole_of(d));
    if (!fact("rows", whole_of(d), 0, &a, &b))
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
    if (wanted("fields", whole_of(d)))
        return wanted("fields", whole_of(d));
    for (int i = 0; i < n; i++) {
        int known = f[i].id == 230 && fact("action", whole_of(d), 0, &a, &b);
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
    if (is_instance(d) || fact("nosamples", number_of(d), 0, &pid, &percent))
        return NOT_SUPPORTED;
    for (*n = 0; *n < most && fact("busy", number_of(d), *n, &pid, &percent); ++*n)
        u[*n] = (struct use){.pid = (unsigned)pid, .at_us = since + 1, .gpu = (unsigned)percent};
    return *n ? OK : NOT_FOUND;
}
struct rates {
    unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(void *d, struct rates *r)
{
    unsigned long long percent, b;
    if (is_instance(d))
        return NOT_SUPPORTED;
    r->gpu = fact("rate", number_of(d), 0, &percent, &b) ? (unsigned)percent : 0;
    r->memory = 0;
    return OK;
}
int nvmlDeviceGetTotalEccErrors(void *d, int type, int since, unsigned long long *count)
{
    unsigned long long b;
    if (lost(d))
        return LOST;
    if (type != 1 || since != 0 || is_instance(d))
        return NOT_SUPPORTED;
    if (!fact("ecc", number_of(d), 0, count, &b))
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
    if (wanted("wait", 0))
        return wanted("wait", 0);
    for (unsigned i = 0; i < the_machine()->n; i++) {
        unsigned long long code, instance;
        if (!fact("xid", i, reported[i], &code, &instance))
            continue;
        reported[i]++;
        *e = (struct event){.device = (void *)(uintptr_t)(i + 1), .type = 8, .data = code};
        e->gpu_instance = instance ? (unsigned)instance : UINT32_MAX;
        e->compute_instance = UINT32_MAX;
        return OK;
    }
    return TIMEOUT;
}
