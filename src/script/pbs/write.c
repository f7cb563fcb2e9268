#include "script/pbs/write.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "model/job/dependency.h"
#include "script/pbs/pbs.h"

#include <string.h>

#define WRITER(name) void pbs_write_##name(struct writing *w, const struct option_row *row)

/* Blanks become '_': PBS takes none. */
WRITER(name)
{
    char *name = w->j->name ? arena_strdup(w->a, w->j->name) : NULL;
    if (!name || !strpbrk(name, " \t\n")) {
        writing_text(w, "job-name", row->name, name);
        return;
    }
    writing_lost(w, "job-name", "a name of PBS has no blanks: %s", w->j->name);
    for (char *c = name; (c = strpbrk(c, " \t\n"));)
        *c = '_';
    writing_line(w, row->name, name);
}

WRITER(account)
{
    writing_text(w, "account", row->name, w->j->req.account);
}

WRITER(project)
{
    if (!text_empty(w->j->project) && !w->site->torque)
        writing_line(w, row->name, w->j->project);
}

WRITER(queue)
{
    const char *names = w->j->req.partition;
    size_t len = names ? strcspn(names, ",") : 0;
    if (!len)
        return;
    if (names[len])
        writing_lost(w, "partition", "a job of PBS is in one queue: the first of %s", names);
    writing_text(w, "partition", row->name, arena_strndup(w->a, names, len));
}

/* ---- arrays ---- */

/* X-Y[:Z][%K], the one form that Pro has. */
static bool is_one_range(const char *list)
{
    return !strchr(list, ',') && strchr(list, '-');
}

WRITER(array)
{
    const char *list = w->j->array;
    if (text_empty(list) || w->site->torque)
        return;
    bool single = strspn(list, "0123456789") == strlen(list);
    if (!single && !is_one_range(list))
        return writing_lost(w, "array", "-J of PBS Pro has one range: %s", list);
    writing_text(w, "array", row->name, single ? arena_printf(w->a, "%s-%s", list, list) : list);
}

WRITER(torque_array)
{
    if (text_empty(w->j->array) || !w->site->torque)
        return;
    if (strchr(w->j->array, ':'))
        return writing_lost(w, "array", "-t of Torque has no steps: %s", w->j->array);
    writing_text(w, "array", row->name, w->j->array);
}

/* ---- when ---- */

WRITER(begin)
{
    struct civil c;
    if (!w->j->begin_us)
        return;
    w->env->zone->sec_to_local(civil_sec(w->j->begin_us), &c);
    writing_text(w, "begin", row->name,
                 arena_printf(w->a, "%04d%02d%02d%02d%02d.%02d", c.year, c.month, c.day, c.hour,
                              c.minute, c.second));
}

WRITER(hold)
{
    if (!w->j->hold)
        return;
    writing_said(w, "hold");
    writing_line(w, row->name, NULL);
}

WRITER(priority)
{
    int32_t nice = w->j->nice;
    if (!writing_given(w, "nice"))
        return;
    writing_said(w, "nice");
    if (nice < 0 || nice > 1024)
        return writing_lost(w, "nice", "-p lowers by 1024 at most");
    if (nice)
        writing_line(w, row->name, arena_printf(w->a, "%d", -nice));
}

WRITER(tolerant)
{
    if (!w->j->no_kill || !w->site->torque)
        return;
    writing_said(w, "no-kill");
    writing_line(w, row->name, NULL);
}

WRITER(rerun)
{
    if (writing_given(w, "requeue"))
        writing_said(w, "requeue");
    if (writing_given(w, "no-requeue"))
        writing_said(w, "no-requeue");
    if (w->j->requeue == NO)
        writing_line(w, row->name, "n");
}

static bool pbs_says(const struct dependency *d)
{
    bool kind =
        d->kind <= DEP_AFTERNOTOK || d->kind == DEP_ON || dep_is_before((enum dep_kind)d->kind);
    return kind && !d->negated && !d->each && !d->delay_us;
}

static void depend_add(struct writing *w, struct str *out)
{
    struct dependency_list list;
    bool all = true, first = true;
    if (text_empty(w->j->dependency))
        return;
    writing_said(w, "dependency");
    if (!dependency_parse(w->j->dependency, w->a, &list, NULL) || list.any || list.form)
        list.n = 0;
    for (size_t i = 0; i < list.n; i++) {
        const struct dependency *d = &list.v[i];
        all &= pbs_says(d);
        if (!pbs_says(d))
            continue;
        str_addf(out, "%s%s:%llu", first ? "depend=" : ",", dep_kind_words[d->kind],
                 d->kind == DEP_ON ? (unsigned long long)d->number : (unsigned long long)d->job_id);
        if (d->task_id != NO_TASK)
            str_addf(out, "[%u]", d->task_id);
        first = false;
    }
    if (!all || !list.n)
        writing_lost(w, "dependency", "-W depend has no word for all of %s", w->j->dependency);
}

static void attribute_add(struct writing *w, struct str *out, const char *ours, const char *name,
                          const char *value)
{
    if (text_empty(value))
        return;
    writing_said(w, ours);
    str_addf(out, "%s%s%s", out->len ? "," : "", name, value);
}

WRITER(attributes)
{
    struct str text = STR_INIT;
    attribute_add(w, &text, "wait", "block=", w->o->wait ? "true" : NULL);
    attribute_add(w, &text, "reservation", "x=advres:", w->j->req.reservation);
    attribute_add(w, &text, "gid", "group_list=", w->o->gid);
    if (text.len)
        writing_line(w, row->name, str_text(&text));
    str_clear(&text);
    depend_add(w, &text); /* its commas are its own */
    if (text.len)
        writing_line(w, row->name, str_text(&text));
    str_done(&text);
}

/* ---- mail ---- */

WRITER(mail_points)
{
    static const struct {
        uint32_t type;
        char letter;
    } points[] = {{MAIL_FAIL, 'a'}, {MAIL_BEGIN, 'b'}, {MAIL_END, 'e'}, {MAIL_ARRAY_TASKS, 'j'}};
    uint32_t rest = w->j->mail_types;
    char text[8] = "";
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        if (rest & points[i].type)
            text[n++] = points[i].letter;
        rest &= ~points[i].type;
    }
    if (writing_given(w, "mail-type"))
        writing_said(w, "mail-type");
    if (rest)
        writing_lost(w, "mail-type", "PBS sends mail at the beginning, the end, a failure");
    if (n || w->j->mail_user)
        writing_line(w, row->name, n ? text : "n");
}

WRITER(mail_to)
{
    writing_text(w, "mail-user", row->name, w->j->mail_user);
}

/* ---- environment ---- */

/* "ALL,A=1": *ret is what stands behind ALL. */
static bool is_all(const char *list, const char **ret)
{
    *ret = NULL;
    if (text_empty(list) || text_is_nocase(list, "ALL"))
        return true;
    if (!text_starts_nocase(list, "ALL,"))
        return false;
    *ret = list + 4;
    return true;
}

WRITER(environment)
{
    const char *more, *list = w->j->export_env;
    if (w->j->get_user_env)
        writing_lost(w, "get-user-env", "a job of PBS has a login environment anyway");
    if (text_is_nocase(list, "NIL"))
        return writing_lost(w, "export", "a job of PBS has a login environment at least");
    if (writing_given(w, "export"))
        writing_said(w, "export");
    if (is_all(list, &more))
        writing_line(w, row->name, NULL);
}

WRITER(variables)
{
    const char *more, *list = w->j->export_env;
    if (text_is_nocase(list, "NIL") || text_is_nocase(list, "NONE"))
        return;
    bool all = is_all(list, &more);
    writing_text(w, "export", row->name, all ? more : list);
}

/* ---- files ---- */

/* A pattern of ours as a path of PBS; NULL: there is none. */
static const char *path_of(struct writing *w, const char *ours)
{
    struct str out = STR_INIT;
    bool ok = !strchr(ours, '\\') && !strchr(ours, ':') && *ours;
    for (const char *c = ours; ok && *c; c++) {
        if (*c != '%') {
            str_addc(&out, *c);
            continue;
        }
        c++;
        if (*c == '%')
            str_addc(&out, '%');
        else if (*c == 'a' && w->j->array && !w->site->torque)
            str_add(&out, "^array_index^");
        else if (*c == 'x')
            str_add(&out, w->j->name ? w->j->name : w->name);
        else
            ok = false;
        c -= !*c;
    }
    ok = ok && out.len && out.data[out.len - 1] != '/';
    const char *kept = ok ? arena_strdup(w->a, str_text(&out)) : NULL;
    str_done(&out);
    return kept;
}

static bool is_standard(const struct writing *w, const char *file, char letter)
{
    const char *index = !w->j->array ? "" : w->site->torque ? "-%a" : ".%a";
    return text_is(file, arena_printf(w->a, "%%x.%c%%A%s", letter, index)) ||
           (!w->j->array && text_is(file, arena_printf(w->a, "%%x.%c%%j", letter)));
}

/* With Torque every element's file gets -INDEX. */
static void file_write(struct writing *w, const struct option_row *row, const char *option,
                       const char *file, char letter)
{
    if (!file) {
        writing_lost(w, option, "the output goes to NAME.%cID, and not to slurm-ID.out", letter);
        return;
    }
    if (is_standard(w, file, letter))
        return writing_said(w, option);
    bool tagged = w->site->torque && w->j->array && !text_is(file, "/dev/null");
    size_t len = strlen(file);
    const char *base = file;
    if (tagged && len > 3 && text_is(file + len - 3, "-%a"))
        base = arena_strndup(w->a, file, len - 3);
    else if (tagged)
        base = "%j";
    const char *path = path_of(w, base);
    if (!path)
        return writing_lost(w, option,
                            "--%s=%s: names of PBS hold no number of the job; NAME.%cID has it",
                            option, file, letter);
    writing_text(w, option, row->name, path);
}

WRITER(output)
{
    if (w->j->open_mode != OPEN_UNSET && w->j->open_mode != OPEN_TRUNCATE)
        writing_lost(w, "open-mode", "PBS begins output files anew and does not continue them");
    else if (writing_given(w, "open-mode"))
        writing_said(w, "open-mode");
    file_write(w, row, "output", w->j->std_out, 'o');
}

WRITER(error)
{
    if (w->j->std_err)
        file_write(w, row, "error", w->j->std_err, 'e');
}

WRITER(join)
{
    if (!w->j->std_err)
        writing_line(w, row->name, "oe");
}

WRITER(directory)
{
    if (w->site->torque)
        writing_text(w, "chdir", row->name, w->j->work_dir);
}
