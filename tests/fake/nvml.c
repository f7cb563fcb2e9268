/* A fake of NVIDIA's management library for tests: REMUDA_NVML names it, and REMUDA_FAKE_GPUS a
 * file that says what machine it is and what happens to it. The file is read anew at each question,
 * so that things can happen while daemons run. Lines:
 *
 *   machine a100x8 | a100x4 | a100x2 | a100mig | mixed | none     (see machines below; the first
 *     line)
 *   process GPU PID MIB      PID computes on it and holds so much of its memory
 *   graphics GPU PID MIB     the same, of an X server's kind
 *   busy GPU PID PERCENT     PID keeps it so busy (nosamples GPU: it does not tell of processes;
 *                            rate GPU PERCENT: how busy it is as a whole)
 *   used GPU MIB             so much of its memory is in use
 *   mps GPU PID MIB          the same, a client of MPS: it stands in a list of its own
 *   many GPU NUMBER          so many processes that are none stand in the list before the others
 *   long GPU                 entries of the lists have 32 bytes, as with the first drivers of R535
 *   lost GPU                 it has fallen off the bus: whatever is asked answers
 *                            NVML_ERROR_GPU_IS_LOST, and no GPU is found by its name any more
 *   answer:CALL GPU CODE     that call answers so (init, count, uuid_of: by its name, at: by its
 *                            address, index, memory, compute, graphics, mps, wait, rows, fields);
 *                            of init, count and wait GPU is 0
 *   slow GPU MS              so long its first handle takes
 *   gone GPU                 the driver does not know it any more (instances that were changed)
 *   named GPU NUMBER         the instance in that place is another, called MIG-NUMBER
 *   action GPU NUMBER        what the driver wants done (field 230); without such a line it does
 *                            not know the field
 *   rows GPU PENDING FAILED  remapped rows of memory; without such a line it does not tell
 *   numa GPU NODE            its memory is memory of the system
 *   ecc GPU COUNT            uncorrectable errors since the driver was loaded
 *   xid GPU CODE GI          reported once to each process that waits for events; GI: of that
 *                            instance (none: of the whole)
 *   count 0 NUMBER           it says that there are so many devices; crash 0: it ends the process
 *                            when it is asked for that
 *   mw GPU N, celsius GPU N, smclock GPU N, reasons GPU N, encoder GPU N, memtemp GPU N
 *                            what its sensors say; without such a line it does not tell
 *   energy GPU 1             it has a counter of energy: mw, or the watts that are played
 *   pcie GPU TX RX, nvlink GPU TX RX
 *                            so many KiB a second go over it; counters of PCIe have 32 bits, but
 *                            with a line "wide GPU 1"
 *   gpm GPU SM TENSOR        activity in tenths of a percent; without such a line it has none, an
 *                            instance that of its GPU
 *   replay GPU MS            it plays "frame GPU UTIL MIB" and "watts GPU N", a line of each for so
 *                            long, from the moment in which the file was written; then the last
 *   hang GPU                 questions about its memory are never answered
 *
 * GPU is a number of the device in NVML's order; instances of GPU 0 of a100mig are 100, 101, …. */
#include "nvml_fake.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void)
{
    return fake_wanted("init", 0);
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
    if (fake_wanted("count", 0))
        return fake_wanted("count", 0);
    *n = fake_fact("count", 0, 0, &a, &b) ? (unsigned)a : fake_the_machine()->n;
    if (fake_fact("crash", 0, 0, &a, &b))
        raise(SIGKILL);
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{
    *d = (void *)(uintptr_t)(i + 1);
    if (i >= fake_the_machine()->n)
        return NOT_FOUND;
    fake_handle_slowly(i);
    return fake_lost(*d) ? LOST : fake_wanted("index", i);
}
int nvmlDeviceGetName(void *d, char *to, unsigned n)
{
    snprintf(to, n, "%s",
             fake_is_instance(d) ? fake_instance_of(d)->name
                                 : fake_the_machine()->gpu[fake_number_of(d)].name);
    return OK;
}
int nvmlDeviceGetUUID(void *d, char *to, unsigned n)
{
    if (fake_is_instance(d) && fake_gone(fake_number_of(d)))
        return 2;
    snprintf(to, n, fake_is_instance(d) ? "MIG-%u" : "GPU-%u", fake_name_of(fake_number_of(d)));
    return OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **d)
{
    unsigned n;
    /* Each GPU is started in turn until one has the name; the first that cannot be ends it. */
    for (unsigned i = 0; i < fake_the_machine()->n; i++) {
        void *one;
        int code = nvmlDeviceGetHandleByIndex_v2(i, &one);
        if (code != OK)
            return code;
    }
    if (sscanf(uuid, "MIG-%u", &n) == 1) {
        unsigned at = 100, wanted = n;
        while (at < 104 && (fake_gone(at) || fake_name_of(at) != wanted))
            at++;
        n = at < 104 ? at + 1 : 0;
    } else if (sscanf(uuid, "GPU-%u", &n) != 1) {
        n = 0;
    }
    if (!n || fake_gone(n - 1))
        return NOT_FOUND;
    *d = (void *)(uintptr_t)n;
    return fake_wanted("uuid_of", n - 1);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **d)
{
    unsigned bus;
    if (sscanf(address, "%*x:%x", &bus) != 1 || bus < 0x10 || bus - 0x10 >= fake_the_machine()->n)
        return NOT_FOUND;
    int code = fake_wanted("at", bus - 0x10);
    return code ? code : nvmlDeviceGetHandleByIndex_v2(bus - 0x10, d);
}
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m)
{
    unsigned long long a, b, used = 4;
    if (fake_lost(d))
        return LOST;
    if (fake_gone(fake_number_of(d)))
        return 2; /* a handle of what is not there any more */
    if (fake_wanted("memory", fake_number_of(d)))
        return fake_wanted("memory", fake_number_of(d));
    while (fake_fact("hang", fake_number_of(d), 0, &a, &b))
        sleep(1);
    for (unsigned i = 0; fake_fact("process", fake_number_of(d), i, &a, &b); i++)
        used += b;
    for (unsigned i = 0; fake_fact("graphics", fake_number_of(d), i, &a, &b); i++)
        used += b;
    for (unsigned i = 0; fake_fact("mps", fake_number_of(d), i, &a, &b); i++)
        used += b;
    if (fake_fact("used", fake_number_of(d), 0, &a, &b))
        used = a;
    if (fake_frame("frame", fake_number_of(d), &a, &b))
        used = b;
    m->total =
        (unsigned long long)(fake_is_instance(d) ? fake_instance_of(d)->mib
                                                 : fake_the_machine()->gpu[fake_number_of(d)].mib)
        << 20;
    m->used = used << 20;
    m->free = m->total - m->used;
    return OK;
}
int nvmlDeviceGetCpuAffinity(void *d, unsigned n, unsigned long *set)
{
    memset(set, 0, n * sizeof *set);
    set[0] = fake_the_machine()->gpu[fake_whole_of(d)].cpus;
    return OK;
}
int nvmlDeviceGetMinorNumber(void *d, unsigned *minor)
{
    *minor = fake_the_machine()->n - 1 - fake_whole_of(d);
    return fake_is_instance(d) ? NOT_SUPPORTED : OK;
}

static void pci_fill(struct pci *p, unsigned bus)
{
    memset(p, 0, sizeof *p);
    p->bus = bus;
    snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", bus);
}
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p)
{
    pci_fill(p, 0x10 + fake_whole_of(d));
    return OK;
}
int nvmlDeviceGetNvLinkState(void *d, unsigned link, unsigned *active)
{
    if (fake_is_instance(d) || link >= 8 ||
        !fake_the_machine()->gpu[fake_number_of(d)].linked[link])
        return NOT_SUPPORTED;
    *active = 1;
    return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, struct pci *p)
{
    unsigned peer = fake_the_machine()->gpu[fake_number_of(d)].linked[link];
    pci_fill(p, peer == 99 ? 0xc0 : 0x10 + peer - 1);
    return OK;
}

/* ---- MIG ---- */

int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *pending)
{
    *now = *pending =
        !fake_is_instance(d) && fake_the_machine()->gpu[fake_number_of(d)].instance[0].name;
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
    if (i >= 4 || !fake_the_machine()->gpu[fake_number_of(d)].instance[i].name)
        return NOT_FOUND;
    *mig = (void *)(uintptr_t)(100 + i + 1);
    return fake_gone(100 + i) ? NOT_FOUND : OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **d)
{
    (void)mig;
    *d = (void *)(uintptr_t)1;
    return OK;
}
int nvmlDeviceGetGpuInstanceId(void *mig, unsigned *id)
{
    *id = fake_instance_of(mig)->gi;
    return OK;
}
int nvmlDeviceGetComputeInstanceId(void *mig, unsigned *id)
{
    *id = fake_instance_of(mig)->ci;
    return OK;
}
