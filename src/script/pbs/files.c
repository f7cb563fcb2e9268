/* Where the output of a job of PBS goes, as a pattern of sbatch. */
#include "script/pbs/pbs.h"

#include "base/alloc.h"
#include "model/job/pattern.h"

#include <string.h>

/* "[HOST:]PATH" */
static const char *path_of(const char *given)
{
    const char *colon = strchr(given, ':'), *slash = strchr(given, '/');
    return colon && (!slash || colon < slash) ? colon + 1 : given;
}

static void standard_add(const struct pbs_request *r, char letter, struct str *out)
{
    str_addf(out, "%%x.%c%%A", letter);
    if (r->array)
        str_add(out, r->site->torque ? "-%a" : ".%a");
}

/* `letter`: 'o' or 'e'. */
static const char *pattern_of(const struct pbs_request *r, const char *given, char letter,
                              struct arena *a)
{
    static const char index[] = "^array_index^";
    const char *path = given ? path_of(given) : "", *mark = strstr(path, index);
    struct str out = STR_INIT;
    size_t len = strlen(path);
    if (text_is(path, "/dev/null"))
        return path;
    if (mark) {
        pattern_add_name(&out, arena_strndup(a, path, (size_t)(mark - path)));
        str_add(&out, "%a");
        pattern_add_name(&out, mark + strlen(index));
    } else {
        pattern_add_name(&out, path);
    }
    if (!given || (len && path[len - 1] == '/')) {
        if (given && !r->site->torque)
            str_addf(&out, "%%A%s.%s", r->array ? "[%a]" : "", letter == 'o' ? "OU" : "ER");
        else
            standard_add(r, letter, &out);
    } else if (r->array && r->site->torque) {
        str_add(&out, "-%a");
    }
    const char *kept = arena_strdup(a, str_text(&out));
    str_done(&out);
    return kept;
}

bool pbs_files_finish(const struct pbs_request *r, bool by_sbatch, struct dialect_out *d,
                      struct err *ret_err)
{
    const char *out = by_sbatch ? r->out : pattern_of(r, r->out, 'o', d->a);
    const char *err = by_sbatch ? r->err_file : pattern_of(r, r->err_file, 'e', d->a);
    if (!by_sbatch && r->drop_out)
        out = "/dev/null";
    if (!by_sbatch && r->drop_err)
        err = "/dev/null";
    return dialect_give(d, "-N", "job-name", r->name, ret_err) &&
           dialect_give(d, "-o", "output", r->join == 'e' ? err : out, ret_err) &&
           dialect_give(d, "-e", "error", r->join ? NULL : err, ret_err) &&
           dialect_give(d, "-d", "chdir", r->dir, ret_err);
}
