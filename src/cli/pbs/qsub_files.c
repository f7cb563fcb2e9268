/* Files of the streams of a job of PBS, and their names where none are given. */
#include "cli/pbs/qsub.h"
#include "model/job/pattern.h"

#include <string.h>
#include <sys/stat.h>

/* "[HOST:]PATH"; a path of a host is from the home directory. */
static const char *path_of(const struct qsub *s, const char *given)
{
    const char *colon = strchr(given, ':'), *slash = strchr(given, '/');
    bool host = colon && (!slash || colon < slash);
    const char *path = host ? colon + 1 : given;
    if (*path == '/')
        return path;
    return arena_printf(s->b.line.a, "%s/%s", host ? s->home : s->b.line.cwd, path);
}

static bool is_directory(const char *path)
{
    struct stat st;
    size_t len = strlen(path);
    return (len && path[len - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Where a stream goes: `letter` 'o' or 'e'. */
static const char *stream_file(const struct qsub *s, const char *given, char letter)
{
    bool array = s->request.array != NULL, torque = s->site.torque;
    const char *path = given ? path_of(s, given) : s->b.line.cwd;
    struct str out = STR_INIT;
    if (text_is(path, "/dev/null"))
        return path;
    const char *mark = strstr(path, "^array_index^");
    if (mark) {
        pattern_add_name(&out, arena_strndup(s->b.line.a, path, (size_t)(mark - path)));
        str_add(&out, "%a");
        pattern_add_name(&out, mark + strlen("^array_index^"));
    } else {
        pattern_add_name(&out, path);
    }
    if (!given || is_directory(path)) {
        size_t len = out.len;
        str_add(&out, len && out.data[len - 1] == '/' ? "" : "/");
        if (given && !torque) {
            str_addf(&out, "%%A%s.%s.%s", array ? "[%a]" : "", pbs_server(&s->site),
                     letter == 'o' ? "OU" : "ER");
        } else {
            pattern_add_name(&out, s->b.line.comp[0].spec.name);
            str_addf(&out, ".%c%%A%s", letter, !array ? "" : torque ? "-%a" : ".%a");
        }
    } else if (array && torque) {
        str_add(&out, "-%a");
    }
    const char *kept = arena_strdup(s->b.line.a, str_text(&out));
    str_done(&out);
    return kept;
}

void qsub_files_set(struct qsub *s)
{
    const struct pbs_request *r = &s->request;
    struct job_spec *j = &s->b.line.comp[0].spec;
    const char *out = r->drop_out ? "/dev/null" : stream_file(s, r->out, 'o');
    const char *err = r->drop_err ? "/dev/null" : stream_file(s, r->err_file, 'e');
    j->std_out = r->join == 'e' ? err : out;
    j->std_err = r->join ? NULL : err;
    j->open_mode = OPEN_TRUNCATE;
}
