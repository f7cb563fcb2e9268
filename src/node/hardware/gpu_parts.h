/* The parts of the process that watches the GPUs (gpu_helper.c): what is common to the makers, and
 * what each maker's file answers. Private to them. */
#ifndef REMUDA_NODE_HARDWARE_GPU_PARTS_H
#define REMUDA_NODE_HARDWARE_GPU_PARTS_H

#include "agent/health.h"
#include "base/str.h"
#include "base/vec.h"
#include "node/hardware/amd/amd.h"
#include "node/hardware/gpu_code.h"
#include "node/hardware/gpu_holders.h"
#include "node/hardware/gpu_usage.h"
#include "node/hardware/nvidia/nvml.h"

#define GPU_FILES_OF_ONE 8u

/* How a device is, and why: the sentence that people read. */
struct gpu_word {
    enum device_sign sign;
    char why[240]; /* "" = nothing more to say */
};

struct gpu_memory {
    /* False: it does not say who holds what, or it is not asked: processes and open files are all
     * the proof there is. */
    bool known;
    uint64_t total_bytes, used_bytes;
};

/* A counter as it was at the last sample: what is drawn is its rate. */
struct gpu_counted {
    bool known;
    unsigned long long value;
    int64_t at_ms; /* clock that is never set */
};

struct nvidia_gpu {
    nvml_device handle;                      /* NULL: not found yet */
    nvml_device whole;                       /* the GPU that it is an instance of, or itself */
    bool is_mig;                             /* an instance of a device */
    unsigned gpu_instance, compute_instance; /* of an instance; NVML_NO_INSTANCE = not known */
    bool has_ecc;                            /* it counts errors */
    uint64_t ecc;                            /* uncorrectable errors that were told */
    struct gpu_counted counted[4];           /* PCIe and NVLink, sent and received */
    /* Samples of its activity: for its curve, and each second of an instance. */
    struct nvidia_activity {
        void *sample[2]; /* NULL: none yet */
        bool before;     /* the first has the one before */
        bool none;       /* it does not tell */
        int64_t at_ms;   /* of the first */
    } gpm[2];
    unsigned long long xids; /* that were reported */
};
struct amd_gpu {
    bool found;
    uint32_t number; /* its place in struct amd */
    bool has_ecc;
    uint64_t ecc;                  /* uncorrectable errors that were told */
    int64_t errors_due_ms;         /* asking is slow: only then */
    struct gpu_counted counted[2]; /* XGMI, sent and received */
};
struct amd_helper {
    struct amd *amd; /* NULL: there is none */
    char why[240];
    bool wanted;    /* one is missing: it is looked for again */
    int64_t due_ms; /* not tried again before */
    uint32_t tries; /* in a row that failed */
};

struct gpu_maker;
struct gpu {
    int32_t index; /* as the node numbers it */
    char uuid[96]; /* "-": not known */
    char pci[32];  /* "-": not known */
    struct device_number file[GPU_FILES_OF_ONE];
    size_t nfiles;                 /* of `file` */
    const struct gpu_maker *maker; /* NULL: no library tells of it, a line of gres.conf made it */
    struct nvidia_gpu nvidia;
    struct amd_gpu amd;
    bool hangs;            /* its library hung when it was asked for it: it is not asked */
    bool told_once;        /* `told` went to the daemon */
    enum device_sign told; /* what was said of it last */
    int64_t absent_due_ms; /* while it is absent: not asked for before */
    bool has_base;
    uint64_t base_bytes; /* of its memory, when it was found clean */
    struct gpu_meter meter;
};

struct gpu_helper {
    struct nvml nvml;
    struct amd_helper amd;
    bool has_nvml;       /* its library is there and open */
    char nvml_why[240];  /* the library is not open: why */
    int64_t nvml_due_ms; /* not tried again before */
    void *events;        /* of NVML; NULL: none */
    bool events_told;    /* that there are none */
    VEC(struct gpu) gpu;
    struct gpu_holders *holders; /* of this round: a second, or a device that is looked at */
    struct gpu_usage usage;
    struct str out; /* lines for the daemon, not sent yet */
};

#define GPU_PARENT_FD 3 /* of the process that watches: its end of the socket to the daemon */

/* ---- words (gpu_words.c) ---- */

int64_t gpu_now_ms(void); /* a clock that is never set */
/* Sends what is in `out`; ends the process if the daemon is gone. */
void gpu_say_all(struct gpu_helper *h);
/* A line for the daemon, into `out`; it is one line whatever is in it, for libraries and processes
 * say what they like. */
void gpu_line_say(struct gpu_helper *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The daemon hears at once that this device is being asked: if nothing more is heard, it is this
 * one that hangs. */
void gpu_asking(struct gpu_helper *h, const struct gpu *g);
/* A sign that an event gave, at once, whatever was told before. */
void gpu_sign_say(struct gpu_helper *h, const struct gpu *g, enum device_sign sign,
                  const char *why);
/* a sign, and why, cut to its room */
struct gpu_word gpu_word_of(enum device_sign sign, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What a code means for a device that was asked for something that has to be known: WELL where it
 * does not tell that. */
struct gpu_word gpu_word_of_code(const struct gpu *g, const struct gpu_code *code, int number,
                                 const char *asked);

/* Adds " ID:RATE" of a counter, a unit of the value being `per_kib` of its own; nothing the first
 * time, nor when it was set back. */
void gpu_rate_say(struct gpu_counted *c, unsigned long long value, unsigned per_kib, int id,
                  struct str *out);

/* As its use is asked for. */
struct gpu_asked gpu_asked_of(const struct gpu *g);

/* ---- who is on a device (gpu_search.c) ---- */

struct gpu_known {
    pid_t pid;
    uint64_t bytes; /* of memory of the device */
};
struct gpu_search {
    const struct gpu_held_use *use;
    const char *steps; /* that go on, and may hold it */
    /* What stands against giving it to somebody else; empty: nothing so far. */
    struct str why;
    struct gpu_word unsure;      /* another sign than WELL: not all could be asked */
    enum gpu_holding how;        /* what is known of what is weighed */
    bool shared;                 /* processes of those steps are there */
    bool memory_hidden;          /* and it is not known how much of the memory they have */
    VEC(struct gpu_known) known; /* processes whose memory is known, each once */
};
/* Of a process that stands in a list of the library; `bytes` UINT64_MAX: not known. The same
 * process may stand in several lists. */
void gpu_search_memory(struct gpu_search *s, pid_t pid, uint64_t bytes);
/* What it has to say for or against. */
void gpu_search_weigh(void *search, const struct gpu_holder *h);
/* What all known processes that do not count have of the memory. */
uint64_t gpu_search_innocent(const struct gpu_search *s);
/* Is there more in use than can be explained? Says so, or learns from it what is in use of a clean
 * device. */
void gpu_search_memory_weigh(struct gpu *g, struct gpu_search *s, const struct gpu_memory *m);

/* ---- the makers ---- */

struct gpu_maker {
    /* Opens the library, or tries again from time to time. */
    void (*begin)(struct gpu_helper *h);
    /* How the device is: finds it if that has not been done. WELL: nothing is against it, as far as
     * the library tells. */
    struct gpu_word (*health)(struct gpu_helper *h, struct gpu *g);
    /* Weighs every process that the library knows on it. */
    void (*search)(struct gpu_helper *h, struct gpu *g, struct gpu_search *s);
    struct gpu_word (*memory)(struct gpu_helper *h, struct gpu *g, struct gpu_memory *ret);
    /* An operator wants it tried again though it was lost: libraries remember that. */
    void (*retry)(struct gpu_helper *h);
    /* Each second, before the devices are asked. */
    void (*tick)(struct gpu_helper *h);
    void (*usage)(struct gpu_helper *h);
    /* What it does now, " NUMBER:VALUE" of model/record/series.h for each value that is told. */
    void (*sample)(struct gpu_helper *h, struct gpu *g, struct str *out);
    /* "NVML 12.560.35.03, driver 560.35.03", if the library is open. */
    void (*version)(const struct gpu_helper *h, struct str *out);
};
extern const struct gpu_maker gpu_nvidia, gpu_amd;

/* Finds the handle of one of NVIDIA's devices (gpu_nvidia_find.c). */
struct gpu_word gpu_nvidia_find(struct gpu_helper *h, struct gpu *g);
/* What a call of NVML answered about it; the library is closed if the answer is about that. */
struct gpu_word gpu_nvidia_word(struct gpu_helper *h, const struct gpu *g, int code,
                                const char *asked);
/* Its handle, where that is its own still; NULL, and it is looked for anew with the next look at
 * its health, where it is not: the handle of an instance is that of a place on its GPU, in which
 * another may be made at any time. Ask before each use, and again before what was read is
 * believed. */
static inline nvml_device gpu_nvidia_in_hand(const struct gpu_helper *h, struct gpu *g)
{
    struct nvidia_gpu *own = &g->nvidia;
    if (own->handle && own->is_mig && !nvml_is_called(&h->nvml, own->handle, g->uuid))
        own->handle = NULL;
    return own->handle;
}
/* gpu_nvidia_series.c */
void gpu_nvidia_sample(struct gpu_helper *h, struct gpu *g, struct str *out);
/* Tenths of a percent of its time in which an instance worked, since the last time; -1 = it does
 * not tell, or this is the first time. */
int gpu_nvidia_activity(struct gpu_helper *h, struct nvidia_gpu *g);
/* The library is being closed: what it gave for samples goes. */
void gpu_nvidia_sample_end(struct gpu_helper *h);
/* XID events (gpu_nvidia_events.c). */
void gpu_nvidia_events(struct gpu_helper *h);
/* Of a whole GPU that can tell of XID errors; others are only asked. Called once a GPU. */
void gpu_nvidia_events_register(struct gpu_helper *h, struct gpu *g);
void gpu_nvidia_events_end(struct gpu_helper *h); /* Nothing, where none are listened to. */

#endif
