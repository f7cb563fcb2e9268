/* Power, temperatures and clocks of AMD's devices: the driver's hwmon files. The names of its
 * sensors say which is which. */
#include "model/record/series.h"
#include "node/hardware/amd/amd.h"
#include "node/hardware/sysfs.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SENSORS_MAX 9

static bool number(const char *dir, const char *file, uint64_t *ret)
{
    char path[512];
    int len = snprintf(path, sizeof path, "%s/%s", dir, file);
    return len > 0 && (size_t)len < sizeof path && sysfs_number(path, ret) == 0;
}

/* The value of the sensor whose label is that; without labels the first is meant. */
static bool labelled(const char *dir, const char *kind, const char *label, uint64_t *ret)
{
    for (int i = 1; i <= SENSORS_MAX; i++) {
        char path[512], text[32], file[32];
        snprintf(file, sizeof file, "%s%d_input", kind, i);
        int len = snprintf(path, sizeof path, "%s/%s%d_label", dir, kind, i);
        if (len > 0 && (size_t)len < sizeof path && sysfs_line(path, text, sizeof text) == 0 &&
            strcmp(text, label) == 0)
            return number(dir, file, ret);
    }
    return false;
}

static void hwmon_say(const char *dir, struct str *out)
{
    uint64_t n;
    if ((number(dir, "power1_average", &n) || number(dir, "power1_input", &n)) &&
        n < UINT64_C(5000000000)) /* microwatts */
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_POWER, (n + 50000) / 100000);
    if ((labelled(dir, "temp", "edge", &n) || labelled(dir, "temp", "junction", &n)) &&
        n < 300000) /* thousandths */
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_TEMP, (n + 500) / 1000);
    if (labelled(dir, "temp", "mem", &n) && n < 300000)
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_MEM_TEMP, (n + 500) / 1000);
    if (labelled(dir, "freq", "sclk", &n) && n < UINT64_C(100000000000)) /* Hz */
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_SM_CLOCK, (n + 500000) / 1000000);
    if (labelled(dir, "freq", "mclk", &n) && n < UINT64_C(100000000000))
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_MEM_CLOCK, (n + 500000) / 1000000);
}

static void table_find(const struct amd_device *d, struct amd_now *ret)
{
    char path[512], bytes[AMD_TABLE_BYTES];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/gpu_metrics", sysfs_root(), d->pci);
    if (sysfs_read(path, bytes, sizeof bytes, &len) == 0)
        amd_table_read(bytes, len, &ret->table);
}

void amd_sensors_read(const struct amd_device *d, struct amd_now *ret)
{
    struct str text = STR_INIT, *out = &text;
    char path[512];
    uint64_t percent;
    glob_t found = {0};
    ret->sensors[0] = 0;
    ret->table = (struct amd_table){0};
    if (!d->pci[0] || d->is_part)
        return;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/mem_busy_percent", sysfs_root(), d->pci);
    if (sysfs_number(path, &percent) == 0 && percent <= 100)
        str_addf(out, " %d:%" PRIu64, SERIES_GPU_MEM_UTIL, percent);
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/hwmon/hwmon*", sysfs_root(), d->pci);
    if (glob(path, 0, NULL, &found) == 0 && found.gl_pathc > 0)
        hwmon_say(found.gl_pathv[0], out);
    globfree(&found);
    table_find(d, ret);
    amd_table_say(&ret->table, false, out);
    if (text.len < sizeof ret->sensors)
        snprintf(ret->sensors, sizeof ret->sensors, "%s", str_text(&text));
    str_done(&text);
}
