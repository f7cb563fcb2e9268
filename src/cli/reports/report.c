/* remuda report: how well jobs used what they had, by person and job, with what to ask for next
 * time. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/reports/efficiency.h"
#include "cli/reports/idle.h"
#include "cli/reports/report_job.h"
#include "cli/reports/report_mail.h"
#include "cli/table/json_form.h"
#include "wire/json.h"
#include "wire/utf8.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR          20
#define DAYS_DEFAULT 30
#define MIB_BYTES    (INT64_C(1) << 20)
/* A suggestion leaves room for a run that needs somewhat more. */
#define ROOM_PERCENT 20
#define LOW_PERCENT  50.0

struct report_line {
    const char *state_dir, *user, *accounts, *from, *to;
    const char *job, *owner;
    enum json_form json;
    bool me, all, idle, mail, png;
    int64_t most, attempt;
};

struct report_person {
    const char *name;
    size_t jobs;
    struct efficiency sum;
};

struct report_showing {
    const struct report_line *l;
    struct arena *a;
    struct past_jobs past;
    VEC(struct report_person) person;
    bool blocks; /* the terminal shows block elements */
};

static bool job_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return report_job_read(&((struct report_line *)to)->job, word, a, ret_err);
}

static SETTER(mail_set)
{
    struct report_line *l = to;
    (void)row;
    (void)env;
    (void)a;
    l->mail = true;
    l->png = value && text_is_nocase(value, "png");
    return text_empty(value) || l->png ||
           err_set(ret_err, ERR_USAGE,
                   "--mail is text, --mail=png has the picture behind it; \"%.40s\" is neither",
                   value);
}

#define AT(member) offsetof(struct report_line, member)
static const struct option_row rows[] = {
    OPT_VALUE("account", 'A', "accounts", "jobs of these accounts", set_any_text, AT(accounts)),
    OPT_FLAG("all", 'a', "jobs of everybody", AT(all)),
    OPT_VALUE("as", 0, "uid:gid", "of --mail, for root: in whose name", set_any_text, AT(owner),
              .hidden = true),
    OPT_VALUE("endtime", 'E', "time", "until then; else now", set_any_text, AT(to)),
    OWN_HELP,
    OPT_FLAG("idle", 'i',
             "running jobs all of whose GPUs do nothing, and what GpuIdle does about it", AT(idle)),
    OPT_VALUE("jobs", 'n', "count", "so many jobs are listed, those that wasted most; else 10",
              set_own_number, AT(most), .min = 0, .max = 100000),
    OWN_JSON(struct report_line, "everything as JSON"),
    {.name = "mail",
     .arg = ARG_OPTIONAL,
     .metavar = "png",
     .set = mail_set,
     .doc = "what the mail at the end of JOB says of it (png: and its picture, in base64 after a "
            "form feed)"},
    OPT_FLAG("me", 0, "one's own jobs, as always where nobody is named", AT(me)),
    OPT_VALUE("run", 0, "number",
              "of a job that was requeued: which of its runs, from 1 on; else the last",
              set_own_number, AT(attempt), .min = 1, .max = INT32_MAX),
    OPT_VALUE("starttime", 'S', "time", "since then; else for 30 days", set_any_text, AT(from)),
    OWN_STATE(struct report_line),
    OPT_VALUE("user", 'u', "users", "jobs of these users", set_any_text, AT(user)),
    OWN_YAML(struct report_line),
};
OPTION_TABLE(report_options, rows, .usage = "remuda report [OPTIONS] [JOB]",
             .about = "  How much of their CPUs, memory and GPUs jobs used, by person and by job, "
                      "and what would do next time.\n"
                      "  With a job (42, 42_7, 42+1): what it did while it ran, and what to do "
                      "about it.\n",
             .words = WORDS_MIXED, .word = job_take);

/* ---- asking --------------------------------------------------------------------------------- */

static bool uids_of(const char *users, struct arena *a, const char **ret, struct err *ret_err)
{
    struct str uids = STR_INIT;
    struct span rest = span_of(users), piece;
    bool ok = true;
    while (ok && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(a, piece.data, piece.len);
        const struct passwd *pw = user_by_name(name);
        uint64_t uid = pw ? pw->pw_uid : 0;
        ok = pw || text_to_u64(name, UINT32_MAX, &uid) ||
             err_set(ret_err, ERR_INVALID, "there is no user %s", name);
        str_addf(&uids, "%s%llu", uids.len ? "," : "", (unsigned long long)uid);
    }
    *ret = arena_strdup(a, str_text(&uids));
    str_done(&uids);
    return ok;
}

static bool query_make(const struct report_line *l, struct arena *a, struct msg_query *ret,
                       struct err *ret_err)
{
    int64_t now = time_now_us();
    *ret = (struct msg_query){.accounts = l->accounts,
                              .from_us = now - DAYS_DEFAULT * INT64_C(86400) * USEC_PER_SEC,
                              .to_us = now};
    if (l->from && !civil_parse(l->from, now, &civil_local, false, &ret->from_us, ret_err))
        return false;
    if (l->to && !civil_parse(l->to, now, &civil_local, false, &ret->to_us, ret_err))
        return false;
    if (l->user)
        return uids_of(l->user, a, &ret->uids, ret_err);
    if (!l->all && (l->me || (!l->accounts && !l->idle)))
        ret->uids = arena_printf(a, "%u", (unsigned)getuid());
    return true;
}

/* ---- summing -------------------------------------------------------------------------------- */

static struct report_person *person_of(struct report_showing *s, const struct job *j)
{
    const char *name = j->user_name ? j->user_name : arena_printf(s->a, "%u", j->user_id);
    for (size_t i = 0; i < s->person.n; i++)
        if (text_is(s->person.v[i].name, name))
            return &s->person.v[i];
    vec_push(&s->person, ((struct report_person){.name = name}));
    return &s->person.v[s->person.n - 1];
}

/* Memory weighs as long as it was had: a sum of GiB × seconds. */
static int64_t weighted(int64_t bytes, int64_t seconds)
{
    return bytes / MIB_BYTES * seconds;
}

static void person_add(struct report_person *p, const struct efficiency *e)
{
    p->jobs++;
    p->sum.ran_s += e->ran_s;
    p->sum.cpu_s += e->cpu_s;
    p->sum.cpu_had_s += e->cpu_had_s;
    if (e->mem_bytes) {
        p->sum.mem_bytes += weighted(e->mem_bytes, e->ran_s);
        p->sum.mem_had += weighted(e->mem_had, e->ran_s);
    }
    if (e->gpu_known) {
        p->sum.gpu_known = true;
        p->sum.gpu_percent_s += e->gpu_percent_s;
        p->sum.gpu_had_s += e->gpu_had_s;
    }
    p->sum.gpus += e->gpus;
}

static int64_t wasted(const struct efficiency *e)
{
    return e->cpu_had_s - e->cpu_s;
}

/* Jobs that began; pairs of a job and what it used, those that wasted most first. */
struct report_pair {
    const struct job *j;
    struct efficiency e;
};

static int pair_order(const void *a, const void *b)
{
    const struct report_pair *p = a, *q = b;
    int64_t m = wasted(&p->e), n = wasted(&q->e);
    return m != n ? (m < n) - (m > n) : (p->j->id > q->j->id) - (p->j->id < q->j->id);
}

static int person_order(const void *a, const void *b)
{
    const struct report_person *p = a, *q = b;
    int64_t m = p->sum.cpu_had_s, n = q->sum.cpu_had_s;
    return m != n ? (m < n) - (m > n) : strcmp(p->name, q->name);
}

static struct report_pair *pairs_make(struct report_showing *s, size_t *ret_n)
{
    struct report_pair *pair = arena_alloc(s->a, (s->past.job.n + 1) * sizeof *pair);
    size_t n = 0;
    for (size_t i = 0; i < s->past.job.n; i++) {
        const struct job *j = s->past.job.v[i];
        if (!j->start_us || j->state == JOB_PENDING)
            continue;
        pair[n].j = j;
        efficiency_of(&s->past, j, time_now_us(), &pair[n].e);
        if (pair[n].e.ran_s > 0)
            person_add(person_of(s, j), &pair[n++].e);
    }
    if (n)
        qsort(pair, n, sizeof *pair, pair_order);
    if (s->person.n)
        qsort(s->person.v, s->person.n, sizeof s->person.v[0], person_order);
    *ret_n = n;
    return pair;
}

/* ---- what to ask for ------------------------------------------------------------------------ */

static int64_t with_room(int64_t n)
{
    return n + n / (100 / ROOM_PERCENT);
}

static void cpus_suggest(const struct report_pair *p, struct str *out)
{
    double percent = efficiency_percent(p->e.cpu_s, p->e.cpu_had_s);
    int64_t tenths = p->e.ran_s ? 10 * p->e.cpu_s / p->e.ran_s : 0;
    int64_t need = (with_room(tenths) + 9) / 10, has = p->j->alloc_cpus;
    need = need > 0 ? need : 1;
    if (percent >= LOW_PERCENT || need >= has)
        return;
    if (p->j->alloc_nodes > 1)
        str_addf(out, "%lld CPUs in all instead of %lld", (long long)need, (long long)has);
    else
        str_addf(out, "--cpus-per-task or --ntasks for %lld CPU%s instead of %lld", (long long)need,
                 need == 1 ? "" : "s", (long long)has);
}

static void mem_suggest(const struct report_pair *p, struct str *out)
{
    int64_t nodes = p->j->alloc_nodes > 0 ? p->j->alloc_nodes : 1,
            mib = with_room(p->e.mem_bytes) / MIB_BYTES / nodes + 1;
    bool out_of_memory = p->j->oom || p->j->state == JOB_OUT_OF_MEMORY;
    if (out_of_memory)
        str_addf(out, "%smore memory than --mem=%lldM: it ran out", out->len ? ", " : "",
                 (long long)(p->e.mem_had / MIB_BYTES / nodes));
    else if (p->e.mem_bytes && p->e.mem_had &&
             efficiency_percent(p->e.mem_bytes, p->e.mem_had) < LOW_PERCENT)
        str_addf(out, "%s--mem=%lldM", out->len ? ", " : "", (long long)(mib > 16 ? mib : 16));
}

static void gpus_suggest(const struct report_pair *p, struct str *out)
{
    if (!p->e.gpus || !p->e.gpu_known || !p->e.gpu_had_s)
        return;
    double percent = (double)p->e.gpu_percent_s / (double)p->e.gpu_had_s;
    int64_t need = (int64_t)(percent * p->e.gpus / 100.0 * (100 + ROOM_PERCENT) / 100.0) + 1;
    if (percent < 1.0)
        str_addf(out, "%sno GPUs: it did not use them", out->len ? ", " : "");
    else if (percent < LOW_PERCENT && need < p->e.gpus)
        str_addf(out, "%s--gpus=%lld", out->len ? ", " : "", (long long)need);
}

static const char *suggestion(struct report_showing *s, const struct report_pair *p)
{
    struct str out = STR_INIT;
    cpus_suggest(p, &out);
    mem_suggest(p, &out);
    gpus_suggest(p, &out);
    const char *text = out.len ? arena_strdup(s->a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

/* ---- the picture ---------------------------------------------------------------------------- */

/* `has`: there was something of it to use. */
static void bar_add(const struct report_showing *s, double percent, bool has, bool known,
                    struct str *out)
{
    double part = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    int full = (int)(part / 100 * BAR + 0.5);
    for (int i = 0; i < BAR; i++) {
        if (s->blocks)
            str_add(out, !known ? " " : i < full ? "█" : "░");
        else
            str_addc(out, !known ? ' ' : i < full ? '#' : '.');
    }
    if (known)
        str_addf(out, " %3.0f%%  ", percent);
    else
        str_add(out, has ? "   ?   " : "       ");
}

static void bars_add(const struct report_showing *s, const struct efficiency *e, struct str *out)
{
    bar_add(s, efficiency_percent(e->cpu_s, e->cpu_had_s), true, e->cpu_had_s > 0, out);
    bar_add(s, efficiency_percent(e->mem_bytes, e->mem_had), true,
            e->mem_bytes > 0 && e->mem_had > 0, out);
    bar_add(s, e->gpu_had_s ? (double)e->gpu_percent_s / (double)e->gpu_had_s : 0, e->gpus > 0,
            e->gpu_known && e->gpu_had_s > 0, out);
}

static void line_out(struct str *line)
{
    while (line->len && line->data[line->len - 1] == ' ')
        str_cut(line, line->len - 1);
    puts(str_text(line));
    str_clear(line);
}

static void people_print(const struct report_showing *s)
{
    struct str line = STR_INIT;
    printf("%-16s %6s %10s  %-*s%-*s%s\n", "USER", "JOBS", "CPU-HOURS", BAR + 7, "CPU", BAR + 7,
           "MEMORY", "GPU");
    for (size_t i = 0; i < s->person.n; i++) {
        const struct report_person *p = &s->person.v[i];
        str_addf(&line, "%-16s %6zu %10.1f  ", p->name, p->jobs, (double)p->sum.cpu_had_s / 3600.0);
        bars_add(s, &p->sum, &line);
        line_out(&line);
    }
    str_done(&line);
}

static void jobs_print(struct report_showing *s, const struct report_pair *pair, size_t n)
{
    struct str line = STR_INIT, label = STR_INIT;
    size_t most = s->l->most < 0 ? 0 : (size_t)s->l->most;
    if (!n || !most)
        return;
    printf("\n%-16s %-12s %-12s  %-*s%-*s%s\n", "JOB", "USER", "NAME", BAR + 7, "CPU", BAR + 7,
           "MEMORY", "GPU");
    for (size_t i = 0; i < n && i < most; i++) {
        const struct job *j = pair[i].j;
        const char *next = suggestion(s, &pair[i]);
        str_clear(&label);
        job_label(j, &label);
        str_addf(&line, "%-16s ", str_text(&label));
        utf8_add_columns(&line, j->user_name ? j->user_name : "?", 12);
        str_addc(&line, ' ');
        utf8_add_columns(&line, j->spec.name, 12);
        str_add(&line, "  ");
        bars_add(s, &pair[i].e, &line);
        line_out(&line);
        if (next)
            printf("%16s next time: %s\n", "", next);
    }
    if (n > most)
        printf("and %zu more, which wasted less (-n %zu shows them)\n", n - most, n);
    str_done(&line);
    str_done(&label);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void used_json(struct json_out *o, const struct efficiency *e)
{
    json_key_i64(o, "elapsed_s", e->ran_s);
    json_key_i64(o, "cpu_used_s", e->cpu_s);
    json_key_i64(o, "cpu_allocated_s", e->cpu_had_s);
    json_key_i64(o, "gpus", e->gpus);
    if (!e->gpu_known)
        return;
    json_key_i64(o, "gpu_percent_s", e->gpu_percent_s);
    json_key_i64(o, "gpu_allocated_s", e->gpu_had_s);
}

static void people_json(const struct report_showing *s, struct json_out *o)
{
    json_key(o, "users");
    json_array(o);
    for (size_t i = 0; i < s->person.n; i++) {
        const struct report_person *p = &s->person.v[i];
        json_object(o);
        json_key_text(o, "user", p->name);
        json_key_i64(o, "jobs", (int64_t)p->jobs);
        used_json(o, &p->sum);
        json_key_i64(o, "memory_used_mib_s", p->sum.mem_bytes);
        json_key_i64(o, "memory_allocated_mib_s", p->sum.mem_had);
        json_object_end(o);
    }
    json_array_end(o);
}

static void jobs_json(struct report_showing *s, const struct report_pair *pair, size_t n,
                      struct json_out *o)
{
    json_key(o, "jobs");
    json_array(o);
    for (size_t i = 0; i < n; i++) {
        const struct job *j = pair[i].j;
        json_object(o);
        json_key_i64(o, "job_id", (int64_t)j->id);
        json_key_text(o, "user", j->user_name);
        json_key_text(o, "account", j->spec.req.account);
        json_key_text(o, "name", j->spec.name);
        json_key_text(o, "state", enum_name(&job_state_names, j->state));
        used_json(o, &pair[i].e);
        json_key_i64(o, "memory_used_bytes", pair[i].e.mem_bytes);
        json_key_i64(o, "memory_allocated_bytes", pair[i].e.mem_had);
        json_key_text(o, "suggestion", suggestion(s, &pair[i]));
        json_object_end(o);
    }
    json_array_end(o);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void json_print(struct report_showing *s, const struct report_pair *pair, size_t n)
{
    struct str text = STR_INIT;
    struct json_out o;
    json_begin(&o, &text, true);
    json_object(&o);
    people_json(s, &o);
    jobs_json(s, pair, n, &o);
    json_object_end(&o);
    json_form_print(&text, s->l->json);
    str_done(&text);
}

/* Block elements where the terminal's letters are UTF-8; elsewhere, and into files, # and dots. */
static bool shows_blocks(void)
{
    local_letters_read();
    return isatty(STDOUT_FILENO) && text_is(nl_langinfo(CODESET), "UTF-8");
}

static bool report_show(struct report_showing *s, struct client *c, struct err *ret_err)
{
    struct msg_query q;
    size_t n;
    if (s->l->idle)
        return query_make(s->l, s->a, &q, ret_err) && idle_report(c, &q, s->l->json, s->a, ret_err);
    if (!query_make(s->l, s->a, &q, ret_err) || !past_read(c, &q, s->a, &s->past, ret_err))
        return false;
    struct report_pair *pair = pairs_make(s, &n);
    if (s->l->json) {
        json_print(s, pair, n);
    } else if (!n) {
        puts("no job ran in that time (-S begins earlier, --all shows everybody's)");
    } else {
        people_print(s);
        jobs_print(s, pair, n);
    }
    return true;
}

static bool line_check(const struct report_line *l, struct err *ret_err)
{
    if (l->mail && (!l->job || l->json))
        return err_set(
            ret_err, ERR_USAGE,
            "--mail is the text about one job, as it is mailed: remuda report --mail JOB");
    return !l->owner || report_mail_become(l->owner, ret_err);
}

int cmd_report(int argc, char **argv)
{
    struct report_line l = {.most = 10};
    struct report_showing s = {.l = &l, .a = arena_new(), .blocks = shows_blocks()};
    struct option_line line = {.table = &report_options, .to = &l, .a = s.a};
    struct err e = {0};
    int status = 0;
    if (own_line_read("remuda report", &line, argc, argv, &status)) {
        bool asks = line_check(&l, &e);
        struct client *c = asks ? cluster_reach(state_dir_find(l.state_dir, s.a), &e) : NULL;
        if (c && l.json)
            client_keep_texts(c, true);
        bool ok = c && (l.job && l.mail ? report_mail(c, l.job, (uint32_t)l.attempt, l.png, &e)
                        : l.job         ? report_jobs(c, l.job, (uint32_t)l.attempt, l.json, &e)
                                        : report_show(&s, c, &e));
        if (!ok)
            status = own_line_failed("remuda report", &e);
        if (c)
            client_close(c);
    }
    past_done(&s.past);
    vec_done(&s.person);
    arena_free(s.a);
    return status;
}
