/* A line is words KEY=VALUE; a value may be in quotes; '#' begins a comment; a line that ends with
 * '\' goes on in the next. A line with AutoDetect and no Name is about all the devices of its nodes
 * (of all nodes, without NodeName); the last one that fits counts, one that names the node before
 * one that does not. */
#include "model/settings/gres_conf.h"

#include "base/hostlist.h"
#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/grammar/gres.h"
#include "model/limits.h"
#include "model/settings/settings.h"

#include <stdarg.h>
#include <string.h>

typedef VEC(const char *) text_vec;

struct parsing {
    const char *file, *node;
    int line;
    struct arena *a;
    struct err *err;
    VEC(struct gres_conf_row) rows;
    enum gres_detect detect, detect_here; /* of all nodes; of lines that name this one */
    struct str remarks;
};

/* One line, as it is read. */
struct gres_conf_reading {
    struct gres_conf_row row;
    text_vec files;
    enum gres_detect detect;
    const char *nodes;
    bool has_file, has_multiple;
};

static bool wrong(const struct parsing *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool wrong(const struct parsing *p, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    err_set(p->err, ERR_INVALID, "%s:%d: %s", p->file, p->line, str_text(&text));
    str_done(&text);
    return false;
}

static void no_effect(struct parsing *p, const char *what)
{
    str_addf(&p->remarks, "%s%s:%d: %s", p->remarks.len ? "; " : "", p->file, p->line, what);
}

/* ---- values ---- */

static bool take_name(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    r->row.name = text_is_nocase(value, "gpu") ? "gpu" : value;
    return true;
}

static bool take_type(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    r->row.type = value;
    return true;
}

static bool take_nodes(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    bool ok = hostlist_parse(&names, value, &err);
    hostlist_done(&names);
    r->nodes = value;
    return ok || wrong(p, "NodeName=%s: %s", value, err.text);
}

static bool take_files(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    if (value[0] != '/' || !hostlist_parse(&names, value, &err)) {
        hostlist_done(&names);
        return wrong(
            p,
            "File=%s is no path of device files: /dev/nvidia0, /dev/nvidia[0-3] or several with "
            "commas are%s%s",
            value, err.text[0] ? ": " : "", err.text);
    }
    for (size_t i = 0; i < names.n; i++)
        vec_push(&r->files, arena_strdup(p->a, names.name[i]));
    hostlist_done(&names);
    r->has_file = true;
    return true;
}

static bool take_multiple(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    r->row.one_device = r->has_multiple = true;
    return take_files(p, r, value);
}

static bool take_count(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    size_t len = strlen(value);
    const char *units = "KMGTP", *unit = len ? strchr(units, value[len - 1] & ~0x20) : NULL;
    const char *digits = unit && *unit ? arena_strndup(p->a, value, len - 1) : value;
    if (!text_to_i64(digits, 1, INT64_MAX, &r->row.count))
        return wrong(p, "Count=%s is no number from 1 on (K, M, G may follow)", value);
    int64_t most = GRES_COUNT_MAX;
    for (const char *u = units; unit && *unit && u <= unit; u++)
        most /= 1024;
    if (r->row.count > most)
        return wrong(p, "Count=%s is more than 1T (2^40)", value);
    for (const char *u = units; unit && *unit && u <= unit; u++)
        r->row.count *= 1024;
    return true;
}

static bool take_cores(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    struct idset set = IDSET_INIT;
    bool ok = idset_parse(&set, value, LIMIT_CPUS_PER_NODE, NULL);
    idset_done(&set);
    r->row.cores = value;
    return ok || wrong(p, "Cores=%s is no list of core numbers: 0-7 or 0,2,4 are", value);
}

static bool take_links(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    struct span rest = span_of(value), one;
    int64_t n;
    while (span_next(&rest, ',', &one))
        if (!text_to_i64(arena_strndup(p->a, one.data, one.len), -1, 1000, &n))
            return wrong(
                p,
                "Links=%s is no list of link counts, one for each device of the node, -1 for "
                "itself: -1,16,16,0 is",
                value);
    r->row.links = value;
    return true;
}

static bool take_detect(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    if (text_is_nocase(value, "nvml") || text_is_nocase(value, "nvidia"))
        r->detect = DETECT_NVML;
    else if (text_is_nocase(value, "rsmi"))
        r->detect = DETECT_RSMI;
    else if (text_is_nocase(value, "off"))
        r->detect = DETECT_OFF;
    else
        return wrong(
            p,
            "AutoDetect=%s is not supported: nvml, rsmi and off are; without it both makers' "
            "libraries are asked",
            value);
    return true;
}

static bool take_flags(struct parsing *p, struct gres_conf_reading *r, const char *value)
{
    static const char *const idle[] = {"nvidia_gpu_env", "amd_gpu_env", "intel_gpu_env",
                                       "opencl_env",     "one_sharing", "all_sharing"};
    struct span rest = span_of(value), one;
    while (span_next(&rest, ',', &one)) {
        bool known = span_is_nocase(one, "CountOnly");
        r->row.count_only |= known;
        for (size_t i = 0; i < sizeof idle / sizeof idle[0] && !known; i++)
            if (span_is_nocase(one, idle[i])) {
                known = true;
                no_effect(p, arena_printf(
                                 p->a,
                                 "Flags=%s has no effect: the variables of all makers are set, and "
                                 "devices are not shared",
                                 idle[i]));
            }
        if (!known)
            return wrong(p,
                         "Flags=%.*s is not supported: CountOnly is; the *_gpu_env flags are "
                         "accepted without effect",
                         (int)one.len, one.data);
    }
    return true;
}

static const struct {
    const char *key;
    bool (*take)(struct parsing *p, struct gres_conf_reading *r, const char *value);
} keys[] = {
    {"Name", take_name},
    {"Type", take_type},
    {"NodeName", take_nodes},
    {"File", take_files},
    {"MultipleFiles", take_multiple},
    {"Count", take_count},
    {"Cores", take_cores},
    {"CPUs", take_cores},
    {"Links", take_links},
    {"AutoDetect", take_detect},
    {"Flags", take_flags},
};

/* ---- lines ---- */

/* The next KEY=VALUE; both in the arena. *ret_key NULL: the line is over. */
static bool word_next(const struct parsing *p, const char **at, const char **ret_key,
                      const char **ret_value)
{
    const char *c = *at + strspn(*at, " \t\r");
    *ret_key = NULL;
    if (!*c || *c == '#') {
        *at = c + strlen(c);
        return true;
    }
    size_t len = strcspn(c, "= \t\r#");
    if (c[len] != '=')
        return wrong(p, "\"%.*s\" is no KEY=VALUE", (int)len, c);
    *ret_key = arena_strndup(p->a, c, len);
    c += len + 1;
    bool quoted = *c == '"';
    c += quoted;
    len = strcspn(c, quoted ? "\"" : " \t\r#");
    if (quoted && c[len] != '"')
        return wrong(p, "the quotes after %s= do not end", *ret_key);
    *ret_value = arena_strndup(p->a, c, len);
    *at = c + len + quoted;
    return **ret_value || wrong(p, "%s= has no value", *ret_key);
}

static bool key_take(struct parsing *p, struct gres_conf_reading *r, const char *key,
                     const char *value)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (text_is_nocase(keys[i].key, key))
            return keys[i].take(p, r, value);
    return wrong(
        p,
        "unknown key %s; NodeName, Name, Type, File, MultipleFiles, Count, Cores, Links, Flags and "
        "AutoDetect are known",
        key);
}

/* Both stand in the lists of what a node has, and are asked for by these names. Without a type of
 * its own a device can still be asked for. */
static bool names_check(struct parsing *p, struct gres_conf_row *w)
{
    if (!gres_can_be_asked(w->name, NULL))
        return wrong(p, "Name=%s: nobody could ask for it: letters, digits, _ and - are allowed",
                     w->name);
    if (w->type && !gres_can_be_asked(w->name, w->type)) {
        no_effect(p, arena_printf(p->a,
                                  "Type=%s has no effect, as nobody could ask for it: letters, "
                                  "digits and _ - . + / are allowed",
                                  w->type));
        w->type = NULL;
    }
    return true;
}

static bool row_check(const struct parsing *p, const struct gres_conf_reading *r)
{
    const struct gres_conf_row *w = &r->row;
    int64_t files = w->one_device ? 1 : (int64_t)w->nfiles;
    if (r->has_file && w->count_only)
        return wrong(p, "Flags=CountOnly and File= exclude each other");
    if (w->nfiles > 0 && w->count && w->count != files)
        return wrong(p, "Count=%lld does not fit to %lld devices of File=: leave Count out",
                     (long long)w->count, (long long)files);
    if (text_is(w->name, "gpu") && w->count > (int64_t)LIMIT_DEVICES_PER_NODE)
        return wrong(p, "Count=%lld: a node has at most %u GPUs", (long long)w->count,
                     LIMIT_DEVICES_PER_NODE);
    if (w->nfiles == 0 && !w->count && (w->cores || w->links))
        return wrong(p, "Cores and Links say something of devices: name them with File= or Count=");
    return true;
}

static bool fits_node(const struct parsing *p, const char *nodes)
{
    struct hostlist names = HOSTLIST_INIT;
    bool found = false;
    hostlist_parse(&names, nodes, NULL);
    for (size_t i = 0; i < names.n; i++)
        found |= text_is(names.name[i], p->node);
    hostlist_done(&names);
    return found;
}

static bool line_keep(struct parsing *p, struct gres_conf_reading *r)
{
    bool ours = r->nodes && fits_node(p, r->nodes);
    if (r->nodes && !ours)
        return true;
    if (r->row.name && !names_check(p, &r->row))
        return false;
    if (r->detect && ours)
        p->detect_here = r->detect;
    else if (r->detect)
        p->detect = r->detect;
    if (r->row.name)
        vec_push(&p->rows, r->row);
    return true;
}

static bool line_parse(struct parsing *p, const char *text)
{
    struct gres_conf_reading r = {.row = {.line = p->line}};
    const char *key = "", *value = "";
    bool ok = true, any = false;
    while (ok && (ok = word_next(p, &text, &key, &value)) && key) {
        any = true;
        ok = key_take(p, &r, key, value);
    }
    r.row.nfiles = r.files.n;
    r.row.file = r.files.n ? arena_dup(p->a, r.files.v, r.files.n * sizeof r.files.v[0]) : NULL;
    vec_done(&r.files);
    ok = ok &&
         (!any || r.row.name || r.detect || wrong(p, "Name= is missing: which resource is this?"));
    ok = ok && (!r.row.name || row_check(p, &r));
    return ok && (!any || line_keep(p, &r));
}

bool gres_conf_parse(const char *text, const char *file, const char *node, struct arena *a,
                     struct gres_conf *ret, struct err *ret_err)
{
    struct parsing p = {.file = file, .node = node, .a = a, .err = ret_err};
    struct span rest = span_of(text), piece;
    struct str line = STR_INIT;
    bool ok = true, quoted = false;
    for (int number = 1; ok && span_next(&rest, '\n', &piece); number++) {
        piece = span_trim(config_comment_cut(piece, &quoted));
        bool goes_on = piece.len > 0 && piece.data[piece.len - 1] == '\\';
        p.line = line.len ? p.line : number;
        str_addn(&line, piece.data, piece.len - goes_on);
        if (goes_on) {
            str_addc(&line, ' ');
            continue;
        }
        quoted = false;
        ok = line_parse(&p, str_text(&line));
        str_clear(&line);
    }
    if (ok && line.len)
        ok = line_parse(&p, str_text(&line));
    *ret = (struct gres_conf){.detect = p.detect_here ? p.detect_here : p.detect, .n = p.rows.n};
    ret->row = p.rows.n ? arena_dup(a, p.rows.v, p.rows.n * sizeof p.rows.v[0]) : NULL;
    ret->remarks = p.remarks.len ? arena_strdup(a, str_text(&p.remarks)) : NULL;
    vec_done(&p.rows);
    str_done(&p.remarks);
    str_done(&line);
    return ok;
}
