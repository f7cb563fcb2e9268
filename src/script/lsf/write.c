#include "script/lsf/write.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "model/grammar/signals.h"
#include "model/job/dependency.h"
#include "script/lsf/depend.h"
#include "script/lsf/lsf.h"
#include "script/lsf/term.h"

#include <string.h>

#define WRITER(name) void lsf_write_##name(struct writing *w, const struct option_row *row)

/* ---- size ---- */

WRITER(slots)
{
    if (w->size.whole_nodes)
        return;
    writing_said(w, "ntasks");
    writing_line(w, row->name, arena_printf(w->a, "%d", w->size.tasks));
}

WRITER(hosts)
{
    if (!w->size.whole_nodes)
        return;
    writing_said(w, "nodes");
    writing_said(w, "exclusive");
    writing_line(w, row->name, arena_printf(w->a, "%d", w->size.nodes));
}

WRITER(exclusive)
{
    int32_t kind = w->j->req.exclusive;
    if (w->size.whole_nodes || kind == EXCLUSIVE_UNSET)
        return;
    if (kind != EXCLUSIVE_NODE)
        return writing_lost(w, "exclusive", "-x keeps all other jobs away");
    writing_said(w, "exclusive");
    writing_line(w, row->name, NULL);
}

/* A type that is read as type and memory, "V100-32G". */
static bool reads_as_memory(const char *type)
{
    const char *dash = strrchr(type, '-');
    int64_t kib;
    return dash && strlen(dash) > 2 && lsf_size_read(span_of(dash + 1), 1, &kib);
}

WRITER(gpus)
{
    const struct job_request *q = &w->j->req;
    const char *type = NULL, *option = NULL;
    int64_t count = 0, each = 0;
    enum writing_gpus kind = writing_gpus_of(w, &type, &count, &option);
    if (kind == GPUS_OF_JOB && w->size.nodes && count % w->size.nodes == 0) {
        writing_lost(w, "gpus", "the %lld GPUs of the job are written as so many of each host",
                     (long long)count);
        count /= w->size.nodes;
    } else if (kind == GPUS_OF_JOB) {
        return writing_lost(w, "gpus",
                            "LSF asks for GPUs of each host or task, not of the job: "
                            "-gpu num=N");
    }
    if (kind == GPUS_NONE || kind == GPUS_OTHER || count <= 0)
        return;
    writing_said(w, option);
    struct str text = STR_INIT;
    str_addf(&text, "num=%lld%s", (long long)count, kind == GPUS_PER_TASK ? "/task" : "");
    if (type && (!lsf_is_feature(span_of(type)) || reads_as_memory(type)))
        writing_lost(w, option, "-gpu gmodel= cannot name the type %s", type);
    else if (type)
        str_addf(&text, ":gmodel=%s", type);
    if (q->gpus_per_socket && text_to_i64(q->gpus_per_socket, 1, 1024, &each)) {
        writing_said(w, "gpus-per-socket");
        str_addf(&text, ":gtile=%lld", (long long)each);
    }
    if (q->gpu_mem_mib) {
        writing_said(w, "gpu-mem");
        str_addf(&text, ":gmem=%lldMB", (long long)q->gpu_mem_mib);
    }
    writing_line(w, row->name, str_text(&text));
    str_done(&text);
}

/* ---- where ---- */

WRITER(queues)
{
    struct str text = STR_INIT;
    const char *from = w->j->req.partition;
    for (; from && *from; from++)
        str_addc(&text, *from == ',' ? ' ' : *from);
    writing_text(w, "partition", row->name, str_text(&text));
    str_done(&text);
}

WRITER(reservation)
{
    writing_text(w, "reservation", row->name, w->j->req.reservation);
}

/* ---- when ---- */

WRITER(run_limit)
{
    int64_t us = w->j->req.time_limit_us;
    if (!us)
        return;
    writing_said(w, "time");
    if (us == TIME_UNLIMITED)
        return writing_lost(w, "time", "without end: the queue's limit holds where there is no -W");
    int64_t minutes = us / USEC_PER_MIN + (us % USEC_PER_MIN != 0);
    if (us % USEC_PER_MIN)
        writing_lost(w, "time", "-W has minutes: rounded up to %lld", (long long)minutes);
    writing_line(
        w, row->name,
        arena_printf(w->a, "%lld:%02lld", (long long)(minutes / 60), (long long)(minutes % 60)));
}

static void moment_write(struct writing *w, const struct option_row *row, const char *option,
                         int64_t us)
{
    struct civil c;
    int64_t sec = civil_sec(us);
    if (!us)
        return;
    writing_said(w, option);
    if (sec % 60)
        writing_lost(w, option, "-%s has minutes: rounded up", row->name);
    w->env->zone->sec_to_local((sec + 59) / 60 * 60, &c);
    writing_line(
        w, row->name,
        arena_printf(w->a, "%04d:%02d:%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute));
}

WRITER(begin)
{
    moment_write(w, row, "begin", w->j->begin_us);
}

WRITER(end)
{
    moment_write(w, row, "deadline", w->j->deadline_us);
}

WRITER(group)
{
    if (w->j->job_group)
        writing_line(w, row->name, w->j->job_group);
}

WRITER(hold)
{
    if (!w->j->hold)
        return;
    writing_said(w, "hold");
    writing_line(w, row->name, NULL);
}

WRITER(rerun)
{
    if (writing_given(w, "requeue"))
        writing_said(w, "requeue");
    if (w->j->requeue == YES)
        writing_line(w, row->name, NULL);
}

WRITER(no_rerun)
{
    if (writing_given(w, "no-requeue"))
        writing_said(w, "no-requeue");
    if (w->j->requeue == NO)
        writing_line(w, row->name, NULL);
}

WRITER(orphan)
{
    if (w->j->kill_on_invalid_dep == UNSET)
        return;
    writing_said(w, "kill-on-invalid-dep");
    if (w->j->kill_on_invalid_dep == YES)
        writing_line(w, row->name, NULL);
}

/* "B:USR1@120" is -wa USR1 -wt 2. */
WRITER(warn_signal)
{
    const struct job_spec *j = w->j;
    if (!j->signal)
        return;
    writing_said(w, "signal");
    if (!j->signal_batch || j->signal_before_us % USEC_PER_MIN || !j->signal_before_us)
        writing_lost(w, "signal", "LSF sends it to the script, whole minutes before the limit");
    const char *name = signal_name(j->signal);
    writing_line(w, row->name, name ? name : arena_printf(w->a, "%d", j->signal));
}

WRITER(warn_time)
{
    int64_t minutes = (w->j->signal_before_us + USEC_PER_MIN - 1) / USEC_PER_MIN;
    if (w->j->signal)
        writing_line(w, row->name, arena_printf(w->a, "%lld", (long long)(minutes ? minutes : 1)));
}

/* What LSF has no words for is left out of a list; in parentheses, which say more, all of it. */
WRITER(depend)
{
    struct dependency_list list;
    struct str text = STR_INIT;
    uint32_t kept = 0;
    bool all = true;
    if (text_empty(w->j->dependency))
        return;
    if (!dependency_parse(w->j->dependency, w->a, &list, NULL))
        list.n = 0;
    for (uint32_t i = 0; i < list.n; i++) {
        all &= lsf_depend_says(&list.v[i]);
        if (lsf_depend_says(&list.v[i]))
            list.v[kept++] = list.v[i];
    }
    writing_said(w, "dependency");
    if (!all || !list.n)
        writing_lost(w, "dependency", "-w has no condition for all of %s", w->j->dependency);
    list.n = list.form && !all ? 0 : kept;
    if (list.n)
        dependency_format(&list, &text);
    if (text.len)
        writing_line(w, row->name, lsf_depend_of(str_text(&text), w->a));
    str_done(&text);
}

/* ---- what ---- */

static bool begins_at_zero(const char *list)
{
    struct span rest = span_of(list), one;
    while (span_next(&rest, ',', &one))
        if (one.len && one.data[0] == '0')
            return true;
    return false;
}

WRITER(array)
{
    const struct job_spec *j = w->j;
    const char *name = j->name ? j->name : w->name;
    if (!j->name && !j->array)
        return;
    if (j->name)
        writing_said(w, "job-name");
    if (strchr(name, '[') || (strchr(name, '"') && strchr(name, '\''))) {
        writing_lost(w, "job-name", "-J has no way to write the name %s", name);
        name = "job";
    }
    if (j->array && begins_at_zero(j->array)) {
        writing_lost(
            w, "array",
            "--array=%s is left out: indexes of LSF's arrays begin at 1; add one to each, and "
            "write $((LSB_JOBINDEX - 1)) in the commands",
            j->array);
    } else if (j->array) {
        size_t len = strcspn(j->array, "%");
        writing_said(w, "array");
        name = arena_printf(w->a, "%s[%.*s]%s", name, (int)len, j->array, j->array + len);
    }
    writing_line(w, row->name, name);
}

WRITER(account)
{
    writing_text(w, "account", row->name, w->j->req.account);
}

WRITER(project)
{
    if (!text_empty(w->j->project))
        writing_line(w, row->name, w->j->project);
}

WRITER(comment)
{
    writing_text(w, "comment", row->name, w->j->comment);
}

WRITER(environment)
{
    const char *list = w->j->export_env;
    if (text_empty(list))
        return;
    if (text_is_nocase(list, "NIL") || strchr(list, '~'))
        return writing_lost(w, "export", "-env has none and all, and names");
    writing_text(w, "export", row->name,
                 text_is_nocase(list, "ALL")    ? "all"
                 : text_is_nocase(list, "NONE") ? "none"
                                                : list);
}

WRITER(login)
{
    if (!w->j->get_user_env)
        return;
    writing_said(w, "get-user-env");
    writing_line(w, row->name, "/bin/bash");
}

WRITER(wait)
{
    if (!w->o->wait)
        return;
    writing_said(w, "wait");
    writing_line(w, row->name, NULL);
}

/* ---- mail ---- */

WRITER(begin_mail)
{
    uint32_t others = w->j->mail_types & ~(uint32_t)(MAIL_BEGIN | MAIL_END | MAIL_FAIL);
    if (writing_given(w, "mail-type"))
        writing_said(w, "mail-type");
    if (others)
        writing_lost(w, "mail-type", "LSF sends mail at the beginning, the end, a failure");
    if (w->j->mail_types & MAIL_BEGIN)
        writing_line(w, row->name, NULL);
}

WRITER(end_mail)
{
    if ((w->j->mail_types & MAIL_END) && (w->j->mail_types & MAIL_FAIL))
        writing_line(w, row->name, NULL);
}

WRITER(fail_mail)
{
    if (!(w->j->mail_types & MAIL_END) && (w->j->mail_types & MAIL_FAIL))
        writing_line(w, row->name, NULL);
}

WRITER(notify)
{
    if ((w->j->mail_types & MAIL_END) && !(w->j->mail_types & MAIL_FAIL))
        writing_line(w, row->name, "done");
}

WRITER(mail_user)
{
    writing_text(w, "mail-user", row->name, w->j->mail_user);
}

/* ---- files ---- */

/* A pattern of ours in LSF's: %J the number, of an element the array's; %I the index. */
static const char *pattern_of(struct writing *w, const char *option, const char *ours)
{
    const struct job_spec *j = w->j;
    struct str out = STR_INIT;
    bool lost = strchr(ours, '\\') != NULL;
    for (const char *c = ours; *c; c++) {
        if (*c != '%') {
            str_addc(&out, *c);
            continue;
        }
        c++;
        if (*c == '%') {
            lost |= c[1] == 'J' || c[1] == 'I';
            str_addc(&out, '%');
        } else if (*c == 'A' || (!j->array && (*c == 'j' || *c == 'J'))) {
            str_add(&out, "%J");
        } else if (*c == 'a' && j->array) {
            str_add(&out, "%I");
        } else if (*c == 'x') {
            str_add(&out, j->name ? j->name : w->name);
        } else if (*c == 'j' || *c == 'J') {
            str_add(&out, "%J.%I");
            lost = true;
        } else {
            lost = true;
            c -= !*c;
        }
    }
    if (lost)
        writing_lost(w, option, "--%s=%s: LSF puts in %%J and %%I only", option, ours);
    const char *kept = arena_strdup(w->a, str_text(&out));
    str_done(&out);
    return kept;
}

static void output_write(struct writing *w, const struct option_row *row, bool anew)
{
    const struct job_spec *j = w->j;
    const char *standard = j->array ? "slurm-%A_%a.out" : "slurm-%A.out";
    if (anew != (j->open_mode != OPEN_APPEND && j->open_mode != OPEN_TRUNCATE_ERROR))
        return;
    if (writing_given(w, "open-mode"))
        writing_said(w, "open-mode");
    if (!writing_text(w, "output", row->name,
                      pattern_of(w, "output", j->std_out ? j->std_out : standard)))
        writing_line(w, row->name, j->array ? "job.%J.%I" : "job.%J");
}

WRITER(output)
{
    output_write(w, row, false);
}

WRITER(output_anew)
{
    output_write(w, row, true);
}

static void error_write(struct writing *w, const struct option_row *row, bool anew)
{
    bool goes_on = w->j->open_mode == OPEN_APPEND || w->j->open_mode == OPEN_TRUNCATE_OUTPUT;
    if (w->j->std_err && anew == !goes_on)
        writing_text(w, "error", row->name, pattern_of(w, "error", w->j->std_err));
}

WRITER(error)
{
    error_write(w, row, false);
}

WRITER(error_anew)
{
    error_write(w, row, true);
}

WRITER(input)
{
    if (w->j->std_in)
        writing_text(w, "input", row->name, pattern_of(w, "input", w->j->std_in));
}

WRITER(chdir)
{
    writing_text(w, "chdir", row->name, w->j->work_dir);
}
