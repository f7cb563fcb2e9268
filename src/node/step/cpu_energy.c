/* Counters of packages, and of the memory beside them: what is inside a package (core, uncore) is
 * counted by it, and what has everything (psys) has more than processors. */
#include "node/step/cpu_energy.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/step/dir.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZONES_MAX 32u

struct cpu_energy_zone {
    char path[160]; /* of its counter */
    uint64_t range, before;
    bool known;
};

struct cpu_energy {
    struct cpu_energy_zone zone[ZONES_MAX];
    size_t n;
};

/* REMUDA_SYS names another, for tests. */
static const char *root(void)
{
    const char *set = getenv("REMUDA_SYS");
    return set && *set ? set : "/sys";
}

static bool number_read(const char *path, uint64_t *ret)
{
    struct str text = STR_INIT;
    char *end = NULL;
    bool ok = small_file_read(AT_FDCWD, path, 64, &text) && text.len;
    if (ok)
        *ret = strtoull(text.data, &end, 10);
    ok = ok && end != text.data;
    str_done(&text);
    return ok;
}

static bool counts(const char *dir)
{
    char path[192];
    struct str name = STR_INIT;
    snprintf(path, sizeof path, "%s/name", dir);
    bool ok = small_file_read(AT_FDCWD, path, 64, &name) &&
              (text_starts(str_text(&name), "package") || text_starts(str_text(&name), "dram"));
    str_done(&name);
    return ok;
}

struct cpu_energy *cpu_energy_new(void)
{
    struct cpu_energy *e = xcalloc(1, sizeof *e);
    glob_t found = {0};
    char path[192];
    snprintf(path, sizeof path, "%.100s/class/powercap/intel-rapl:*", root());
    bool any = glob(path, 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc && e->n < ZONES_MAX; i++) {
        const char *dir = found.gl_pathv[i];
        struct cpu_energy_zone *z = &e->zone[e->n];
        if (strlen(dir) > 120 || !counts(dir))
            continue;
        snprintf(path, sizeof path, "%s/max_energy_range_uj", dir);
        if (!number_read(path, &z->range))
            z->range = 0;
        snprintf(z->path, sizeof z->path, "%.120s/energy_uj", dir);
        z->known = number_read(z->path, &z->before);
        e->n += z->known;
    }
    globfree(&found);
    if (e->n)
        return e;
    free(e);
    return NULL;
}

void cpu_energy_free(struct cpu_energy *e)
{
    free(e);
}

int64_t cpu_energy_read(struct cpu_energy *e)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < e->n; i++) {
        struct cpu_energy_zone *z = &e->zone[i];
        uint64_t now;
        if (!number_read(z->path, &now))
            continue;
        if (now >= z->before)
            sum += now - z->before;
        else if (z->range >= z->before) /* it began again from 0 */
            sum += z->range - z->before + now;
        z->before = now;
    }
    return (int64_t)(sum / 1000);
}

int64_t cpu_busy_us(void)
{
    unsigned long long n[8] = {0};
    struct str text = STR_INIT;
    bool ok = small_file_read(AT_FDCWD, "/proc/stat", 512, &text) &&
              sscanf(str_text(&text), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1],
                     &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]) >= 4;
    str_done(&text);
    long hz = sysconf(_SC_CLK_TCK);
    unsigned long long busy = n[0] + n[1] + n[2] + n[5] + n[6] + n[7];
    return ok && hz > 0 ? (int64_t)(busy * (1000000ull / (unsigned long long)hz)) : -1;
}

int64_t cpu_made_for_khz(void)
{
    struct str text = STR_INIT;
    double mhz = 0;
    if (small_file_read(AT_FDCWD, "/proc/cpuinfo", 2048, &text)) {
        const char *at = strstr(str_text(&text), "cpu MHz");
        if (!at || sscanf(at, "cpu MHz : %lf", &mhz) != 1 || !(mhz > 0 && mhz < 100000))
            mhz = 0;
    }
    str_done(&text);
    return (int64_t)(mhz * 1000);
}

int64_t cpu_clock_khz(uint32_t cpu)
{
    char path[192];
    uint64_t khz;
    snprintf(path, sizeof path, "%.100s/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", root(),
             cpu);
    return number_read(path, &khz) && khz < 100000000 ? (int64_t)khz : 0;
}
