/* What the files of the fake of NVML share. A device of the library is its number + 1, an instance
 * 100 + its number + 1. */
#ifndef REMUDA_FAKE_NVML_FAKE_H
#define REMUDA_FAKE_NVML_FAKE_H

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

const struct machine *fake_the_machine(void);
int fake_fact(const char *word, unsigned gpu, unsigned n, unsigned long long *a,
              unsigned long long *b);
unsigned fake_number_of(const void *device);
int fake_is_instance(const void *device);
unsigned fake_whole_of(const void *device);
const struct instance *fake_instance_of(const void *device);
int fake_lost(const void *device);
int fake_wanted(const char *call, unsigned gpu);
int fake_gone(unsigned gpu);
unsigned fake_name_of(unsigned gpu);
int fake_frame(const char *word, unsigned gpu, unsigned long long *a, unsigned long long *b);
int fake_field(unsigned id, unsigned gpu, unsigned long long *ret);
void fake_handle_slowly(unsigned gpu);

#endif
