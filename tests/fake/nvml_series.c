/* What the devices of the fake of NVML do, moment by moment: sensors, counters, activity; and
 * profiles that are played back. */
#include "nvml_fake.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* The line of a profile that is being played: `word` "frame" or "watts". */
int fake_frame(const char *word, unsigned gpu, unsigned long long *a, unsigned long long *b)
{
    unsigned long long step, none;
    struct stat st;
    const char *path = getenv("REMUDA_FAKE_GPUS");
    if (!path || stat(path, &st) != 0 || !fake_fact("replay", gpu, 0, &step, &none) || !step)
        return 0;
    long long begun = st.st_mtim.tv_sec * 1000LL + st.st_mtim.tv_nsec / 1000000;
    long long at = (now_ms() - begun) / (long long)step;
    for (unsigned n = at < 0 ? 0 : at > 100000 ? 100000 : (unsigned)at;; n--) {
        if (fake_fact(word, gpu, n, a, b))
            return 1;
        if (n == 0)
            return 0;
    }
}

/* A counter that grows so much a second. */
static unsigned long long counted(unsigned long long each_s)
{
    return each_s * (unsigned long long)(now_ms() - 1600000000000LL) / 1000;
}

int fake_field(unsigned id, unsigned gpu, unsigned long long *ret)
{
    unsigned long long tx, rx;
    const char *word = id == 197 || id == 198 ? "pcie" : id == 138 || id == 139 ? "nvlink" : "";
    if (id == 82)
        return fake_fact("memtemp", gpu, 0, ret, &rx);
    if (!*word || !fake_fact(word, gpu, 0, &tx, &rx))
        return 0;
    *ret = counted(id == 197 || id == 138 ? tx : rx) * (id > 190 ? 1024 : 1);
    return 1;
}

/* The last line of a profile goes on. */
static unsigned long long watts_last(unsigned gpu)
{
    unsigned long long a = 0, b;
    for (unsigned n = 0; fake_fact("watts", gpu, n, &a, &b);)
        n++;
    return a;
}

static int sensor(const char *word, void *d, unsigned *ret)
{
    unsigned long long a, b;
    if (fake_lost(d))
        return LOST;
    if (fake_is_instance(d) || !fake_fact(word, fake_number_of(d), 0, &a, &b))
        return NOT_SUPPORTED;
    *ret = (unsigned)a;
    return OK;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw)
{
    unsigned long long watts, b;
    if (!fake_is_instance(d) && fake_frame("watts", fake_number_of(d), &watts, &b)) {
        *mw = (unsigned)watts * 1000;
        return OK;
    }
    return sensor("mw", d, mw);
}
/* "energy GPU 1": it has a counter, of what its sensors or the profile that is played say. */
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj)
{
    unsigned long long a, b, step, watts;
    unsigned gpu = fake_number_of(d);
    struct stat st;
    const char *path = getenv("REMUDA_FAKE_GPUS");
    if (fake_lost(d))
        return LOST;
    if (fake_is_instance(d) || !fake_fact("energy", gpu, 0, &a, &b) || !path || stat(path, &st))
        return NOT_SUPPORTED;
    long long begun = st.st_mtim.tv_sec * 1000LL + st.st_mtim.tv_nsec / 1000000;
    long long passed = now_ms() - begun;
    *mj = 1000;
    if (!fake_fact("replay", gpu, 0, &step, &b) || !step)
        *mj += fake_fact("mw", gpu, 0, &a, &b) ? a * (unsigned long long)passed / 1000 : 0;
    else
        for (long long at = 0, n = 0; at < passed; at += (long long)step, n++) {
            long long left = passed - at < (long long)step ? passed - at : (long long)step;
            watts = fake_fact("watts", gpu, (unsigned)n, &a, &b) ? a : watts_last(gpu);
            *mj += watts * (unsigned long long)left;
        }
    return OK;
}
int nvmlDeviceGetTemperature(void *d, int kind, unsigned *c)
{
    return kind ? NOT_SUPPORTED : sensor("celsius", d, c);
}
int nvmlDeviceGetClockInfo(void *d, int kind, unsigned *mhz)
{
    return kind == 1 ? sensor("smclock", d, mhz) : NOT_SUPPORTED;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *bits)
{
    unsigned some;
    int code = sensor("reasons", d, &some);
    *bits = code == OK ? some : 0;
    return code;
}
int nvmlDeviceGetEncoderUtilization(void *d, unsigned *percent, unsigned *period)
{
    *period = 1000;
    return sensor("encoder", d, percent);
}

/* ---- activity ---- */

struct gpm_support {
    unsigned version, supported;
};
struct gpm_metric {
    unsigned id;
    int answer;
    double value;
    char *names[3];
};
struct gpm {
    unsigned version, n;
    unsigned *older, *newer;
    struct gpm_metric metric[];
};
int nvmlGpmQueryDeviceSupport(void *d, struct gpm_support *s)
{
    unsigned long long a, b;
    s->supported = s->version == 1 && fake_fact("gpm", fake_number_of(d), 0, &a, &b);
    return s->version == 1 ? OK : 25;
}
int nvmlGpmSampleAlloc(void **sample)
{
    *sample = calloc(1, sizeof(unsigned));
    return OK;
}
int nvmlGpmSampleFree(void *sample)
{
    free(sample);
    return OK;
}
int nvmlGpmSampleGet(void *d, unsigned *sample)
{
    *sample = fake_number_of(d) + 1;
    return OK;
}
/* Of an instance of which nothing is said what its GPU has. */
int nvmlGpmMigSampleGet(void *d, unsigned instance, unsigned *sample)
{
    unsigned long long sm, tensor;
    *sample = fake_number_of(d) + 1;
    for (unsigned i = 0; i < 4 && fake_number_of(d) == 0; i++) {
        const struct instance *one = &fake_the_machine()->gpu[0].instance[i];
        if (!one->name || one->gi != instance)
            continue;
        if (fake_gone(100 + i))
            return 2;
        if (fake_fact("gpm", 100 + i, 0, &sm, &tensor))
            *sample = 100 + i + 1;
    }
    return instance ? OK : 2;
}
int nvmlGpmMetricsGet(struct gpm *g)
{
    unsigned long long sm = 0, tensor = 0, tx = 0, rx = 0;
    if (g->version != 1 || !*g->older || *g->older != *g->newer)
        return 2;
    int gpm = fake_fact("gpm", *g->newer - 1, 0, &sm, &tensor);
    int pcie = gpm && fake_fact("pcie", *g->newer - 1, 0, &tx, &rx);
    for (unsigned i = 0; i < g->n; i++) {
        unsigned id = g->metric[i].id;
        g->metric[i].answer = id == 2 || id == 5 ? OK : NOT_SUPPORTED;
        g->metric[i].value = id == 2 ? (double)sm / 10 : (double)tensor / 10;
        if (pcie && (id == 20 || id == 21)) {
            g->metric[i].answer = OK;
            g->metric[i].value = (double)(id == 20 ? tx : rx) / 1024;
        }
    }
    return OK;
}
