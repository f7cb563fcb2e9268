/* It is written beside under a name of its own, which no second run has, for one controller has one
 * run; what a killed one left is overwritten. A name that is taken is never given again. */
#include "controller/disk/archive.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/files.h"
#include "model/record/used.h"
#include "store/file/place.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BESIDE    ".remuda-archive.part"
#define NAMES_MAX 10000

struct archive {
    char *dir, *beside, *name; /* name: without times */
    FILE *file;
    struct str line;
    uint64_t rows;
    int64_t first_us, last_us; /* when what is in it was over */
};

static void line_write(struct archive *a)
{
    str_addc(&a->line, '\n');
    fwrite(a->line.data, 1, a->line.len, a->file); /* ferror is asked at the end */
}

static void head_write(struct archive *a, const char *cluster, enum past_kind kind,
                       int64_t before_us)
{
    struct json_out j;
    str_clear(&a->line);
    json_begin(&j, &a->line, false);
    json_object(&j);
    json_key_i64(&j, "remuda_archive", 1);
    json_key_text(&j, "kind", enum_name(&past_names, (int32_t)kind));
    json_key_text(&j, "cluster", cluster);
    json_key_i64(&j, "before_us", before_us);
    json_object_end(&j);
    line_write(a);
}

struct archive *archive_new(const char *dir, const char *cluster, enum past_kind kind,
                            int64_t before_us, struct err *ret_err)
{
    struct archive *a = xcalloc(1, sizeof *a);
    a->dir = xstrdup(dir);
    a->beside = xasprintf("%s/%s", dir, BESIDE);
    a->name = xasprintf("%s/%s_%s_archive", dir, cluster, enum_name(&past_names, (int32_t)kind));
    unlink(a->beside);
    int fd = open(a->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    a->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!a->file) {
        file_error(ret_err, "make", a->beside);
        archive_drop(a);
        return NULL;
    }
    head_write(a, cluster, kind, before_us);
    return a;
}

void archive_row(struct archive *a, enum store_table table, const void *record, int64_t at_us)
{
    ASSERT(a->file && table <= STORE_TABLE_COUNT && record);
    struct json_out j;
    bool used = table == STORE_TABLE_COUNT;
    str_clear(&a->line);
    json_begin(&j, &a->line, false);
    json_object(&j);
    json_key(&j, used ? "used" : store_table_rows[table].name);
    json_record(&j, used ? &used_fields : store_table_rows[table].fields, record);
    json_object_end(&j);
    line_write(a);
    a->rows++;
    if (!at_us)
        return;
    if (!a->first_us || at_us < a->first_us)
        a->first_us = at_us;
    a->last_us = at_us > a->last_us ? at_us : a->last_us;
}

/* As Slurm names its files, by local time. */
static void time_say(struct str *out, int64_t at_us)
{
    time_t t = (time_t)(at_us / USEC_PER_SEC);
    struct tm tm = {0};
    char text[40] = "";
    if (localtime_r(&t, &tm))
        strftime(text, sizeof text, "_%Y-%m-%dT%H:%M:%S", &tm);
    str_add(out, text);
}

static bool name_give(struct archive *a, char **ret_path)
{
    struct str path = STR_INIT;
    str_add(&path, a->name);
    time_say(&path, a->first_us);
    time_say(&path, a->last_us);
    size_t len = path.len;
    bool ok = false;
    for (int i = 0; !ok && i < NAMES_MAX; i++) {
        path.len = len;
        if (i)
            str_addf(&path, ".%d", i);
        /* This one, whatever is called so now. */
        ok = place_name(fileno(a->file), a->beside, str_text(&path));
        if (!ok && errno != EEXIST)
            break;
    }
    *ret_path = ok ? xstrdup(str_text(&path)) : NULL;
    str_done(&path);
    return ok;
}

bool archive_keep(struct archive *a, char **ret_path, struct err *ret_err)
{
    ASSERT(a->file);
    *ret_path = NULL;
    str_clear(&a->line);
    str_addf(&a->line, "{\"end\":%llu}", (unsigned long long)a->rows);
    line_write(a);
    bool ok = !ferror(a->file) && fflush(a->file) == 0 && fsync(fileno(a->file)) == 0 &&
              name_give(a, ret_path);
    if (!ok)
        file_error(ret_err, "write", a->beside);
    archive_drop(a);
    return ok;
}

void archive_drop(struct archive *a)
{
    if (!a)
        return;
    if (a->file) {
        fclose(a->file);
        unlink(a->beside);
    }
    str_done(&a->line);
    free(a->dir);
    free(a->beside);
    free(a->name);
    free(a);
}
