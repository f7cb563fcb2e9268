/* bjobs: lists jobs, one's own that are not over unless other words are given. */
#include "cli/lsf/bjobs.h"

#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/job/job_counts.h"
#include "wire/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "bjobs"

struct bjobs {
    struct lsf_filter filter; /* first: lsf_id_take fills it */
    bool done, pending, running, suspended;
    bool wide, wider, longer, unbroken, arrays, sums, json, noheader, help, version;
    const char *format_text, *application;
    struct lsf_format format;
    struct past_jobs past; /* what steps used, where that is shown */
    struct arena *a;
    struct str out;
};

#define AT(member)                offsetof(struct bjobs, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
#define VALUE(name_, metavar_, member, doc_)                                                       \
    {                                                                                              \
        .name = name_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_, .set = set_text,     \
        .at = AT(member)                                                                           \
    }
static const struct option_row rows[] = {
    FLAG("A", arrays, "a line for each array"),
    VALUE("J", "name", filter.name, "jobs of this name; * stands for any letters"),
    VALUE("P", "project", filter.project, "jobs of this project"),
    FLAG("UF", unbroken, "-l without broken lines"),
    FLAG("V", version, "show the version"),
    FLAG("W", wider, "more columns, nothing cut"),
    OPT_ACCEPTED("X", 0, ARG_NONE, "hosts as they are (always so)"),
    FLAG("a", filter.all, "ended jobs of the last hour, too"),
    VALUE("app", "profile", application, "jobs of an application profile: none has one"),
    FLAG("d", done, "ended jobs of the last hour only"),
    VALUE("g", "group", filter.group, "jobs of this group, and of those below it"),
    OPT_REFUSED("gpu", 0, ARG_NONE, "what GPUs the job has",
                "bjobs -o \"jobid gpu_num gpu_alloc\" shows them; remuda gpus"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_flag, .at = AT(help)},
    OPT_ACCEPTED("hms", 0, ARG_NONE, "times in hours, minutes, seconds (no effect)"),
    FLAG("json", json, "as JSON, with -o"),
    FLAG("l", longer, "everything about each job"),
    VALUE("m", "hosts", filter.host, "jobs on these hosts"),
    FLAG("noheader", noheader, "no line of headings"),
    VALUE("o", "format", format_text, "fields by name: \"jobid stat: queue:-12 delimiter=','\""),
    FLAG("p", pending, "waiting jobs, with reasons"),
    VALUE("q", "queue", filter.queue, "jobs of this queue"),
    FLAG("r", running, "running jobs"),
    FLAG("s", suspended, "suspended jobs, with reasons"),
    FLAG("sum", sums, "how many are in each state"),
    VALUE("u", "user", filter.users, "jobs of this user; all"),
    FLAG("w", wide, "nothing cut"),
};
OPTION_TABLE(bjobs_options, rows, .usage = "bjobs [OPTIONS] [job_ID | \"job_ID[index]\" …]",
             .words = WORDS_MIXED, .word = lsf_id_take, .one_dash = true, .letters_attach = true);

/* ---- which are shown ---- */

static bool state_is_meant(const struct bjobs *b, const struct job *j)
{
    const char *state = lsf_job_state(j);
    bool any = !b->done && !b->pending && !b->running && !b->suspended;
    if (b->filter.ids.n && any)
        return true;
    bool over = lsf_job_is_over(j);
    if (any)
        return b->filter.all || !over;
    return (b->done && over) || (b->pending && text_is(state, "PEND")) ||
           (b->running && text_is(state, "RUN")) || (b->suspended && strstr(state, "SUSP"));
}

static void jobs_narrow(const struct bjobs *b, struct lsf_job_list *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->job.n; i++)
        if (state_is_meant(b, l->job.v[i]))
            l->job.v[kept++] = l->job.v[i];
    l->job.n = kept;
}

/* ---- lines ---- */

static void reasons_add(struct bjobs *b, const struct job *j)
{
    if (b->pending && lsf_job_is_pending(j))
        str_addf(&b->out, " %s;\n", lsf_pending_reason(j, b->a));
    else if (b->suspended && lsf_job_is_suspended(j))
        str_addf(&b->out, " %s;\n", lsf_suspend_reason(j));
}

static void line_add(struct bjobs *b, const struct job *j)
{
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, b->a, &host);
    const char *first = n == 0 ? ""
                        : host[0].slots > 1
                            ? arena_printf(b->a, "%d*%s", host[0].slots, host[0].name)
                            : host[0].name;
    const char *from = j->spec.alloc_host ? j->spec.alloc_host : "-";
    str_addf(&b->out, "%-7llu %-7.7s %-5.5s %-10.10s %-11.11s %-11.11s %s %s\n",
             (unsigned long long)lsf_job_number(j), j->user_name, lsf_job_state(j),
             job_partition(j), from, first, lsf_cut(lsf_job_name(j, b->a), 10, b->a),
             lsf_time(job_first_submit_us(j), b->a));
    for (size_t i = 1; i < n; i++)
        if (host[i].slots > 1)
            str_addf(&b->out, "%45s%d*%s\n", "", host[i].slots, host[i].name);
        else
            str_addf(&b->out, "%45s%s\n", "", host[i].name);
}

static const char *moment(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    if (us <= 0)
        return "-";
    civil_format(us, us, "%m/%d-%H:%M:%S", &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

/* "000:00:00.12" */
static const char *cpu_time(const struct job *j, struct arena *a)
{
    long long hundredths = (j->cpu_user_us + j->cpu_system_us) / 10000;
    return arena_printf(a, "%03lld:%02lld:%02lld.%02lld", hundredths / 360000,
                        hundredths / 6000 % 60, hundredths / 100 % 60, hundredths % 100);
}

/* MiB, at most. */
static const char *memory(struct bjobs *b, const struct job *j)
{
    struct efficiency e;
    efficiency_of(&b->past, j, time_now_us(), &e);
    return arena_printf(b->a, "%lld", (long long)((e.mem_bytes + (1 << 20) - 1) >> 20));
}

static void wide_add(struct bjobs *b, const struct job *j)
{
    bool pending = lsf_job_is_pending(j);
    str_addf(&b->out, "%-7llu %-7s %-5s %-10s %-11s %-11s %s ",
             (unsigned long long)lsf_job_number(j), j->user_name, lsf_job_state(j),
             job_partition(j), j->spec.alloc_host ? j->spec.alloc_host : "-",
             lsf_exec_host(j, b->a), lsf_fill(lsf_job_name(j, b->a), 10, b->a));
    if (!b->wider) {
        str_addf(&b->out, "%s\n", lsf_time(job_first_submit_us(j), b->a));
        return;
    }
    str_addf(&b->out, "%s %s %-12s %-6s %-6s %-5s %s %s\n", moment(job_first_submit_us(j), b->a),
             lsf_fill(j->spec.project ? j->spec.project : "default", 10, b->a), cpu_time(j, b->a),
             pending ? "0" : memory(b, j), "0", "-", moment(pending ? 0 : j->start_us, b->a),
             moment(lsf_job_is_over(j) ? j->end_us : 0, b->a));
}

/* ---- arrays and sums ---- */

#define COUNTED 8
static const char *const counted[COUNTED] = {"PEND",  "DONE",  "RUN",   "EXIT",
                                             "SSUSP", "USUSP", "PSUSP", "UNKWN"};

static void count(const struct job *j, unsigned n[COUNTED])
{
    for (size_t i = 0; i < COUNTED; i++)
        n[i] += text_is(lsf_job_state(j), counted[i]);
}

static void array_add(struct bjobs *b, const struct job *j, const unsigned n[COUNTED])
{
    unsigned all = 0;
    for (size_t i = 0; i < COUNTED; i++)
        all += n[i];
    const char *list = j->spec.array ? j->spec.array : "";
    const char *spec = arena_printf(b->a, "%s[%.*s]", j->spec.name ? j->spec.name : "",
                                    (int)strcspn(list, "%"), list);
    size_t len = strlen(spec), shown = b->wide ? len : utf8_bytes(spec, len, 10);
    size_t width = utf8_width(spec, shown);
    str_addf(&b->out, "%-8llu %.*s%*s %-8.8s %5u %5u %5u %5u %5u %6u %6u %6u\n",
             (unsigned long long)lsf_job_number(j), (int)shown, spec,
             width < 10 ? (int)(10 - width) : 0, "", j->user_name, all, n[0], n[1], n[2], n[3],
             n[4], n[5], n[6]);
}

static void arrays_add(struct bjobs *b, const struct lsf_job_list *l)
{
    if (!b->noheader)
        str_add(&b->out, "JOBID    ARRAY_SPEC OWNER    NJOBS  PEND  DONE   RUN  EXIT  SSUSP  "
                         "USUSP  PSUSP\n");
    for (size_t i = 0; i < l->job.n;) {
        unsigned n[COUNTED] = {0};
        size_t from = i;
        uint64_t number = lsf_job_number(l->job.v[i]);
        for (; i < l->job.n && lsf_job_number(l->job.v[i]) == number; i++)
            count(l->job.v[i], n);
        if (l->job.v[from]->array_job_id)
            array_add(b, l->job.v[from], n);
    }
}

static void sums_add(struct bjobs *b, const struct lsf_job_list *l)
{
    unsigned n[COUNTED] = {0};
    for (size_t i = 0; i < l->job.n; i++)
        count(l->job.v[i], n);
    str_add(&b->out, "RUN          SSUSP        USUSP        UNKNOWN      PEND         FWD_PEND\n");
    str_addf(&b->out, "%-12u %-12u %-12u %-12u %-12u %u\n", n[2], n[4], n[5], n[7], n[0] + n[6],
             0U);
}

/* ---- the whole ---- */

static void list_add(struct bjobs *b, const struct lsf_job_list *l)
{
    if (!b->noheader && l->job.n) {
        str_add(&b->out, "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   "
                         "SUBMIT_TIME");
        str_add(&b->out,
                b->wider ? "  PROJ_NAME CPU_USED MEM SWAP PIDS START_TIME FINISH_TIME\n" : "\n");
    }
    for (size_t i = 0; i < l->job.n; i++) {
        if (b->wide || b->wider)
            wide_add(b, l->job.v[i]);
        else
            line_add(b, l->job.v[i]);
        reasons_add(b, l->job.v[i]);
    }
}

static void json_add(struct bjobs *b, const struct lsf_job_list *l)
{
    struct lsf_json json = {.out = &b->out};
    lsf_json_begin(&json, NAME, "JOBS", l->job.n + l->missing.n);
    for (size_t i = 0; i < l->job.n; i++) {
        struct lsf_row row = {.job = l->job.v[i], .past = &b->past};
        lsf_json_row(&json, &b->format, &row, b->a);
    }
    for (size_t i = 0; i < l->missing.n; i++)
        lsf_json_missing(&json, l->missing.v[i], b->a);
    lsf_json_end(&json);
}

static void format_add(struct bjobs *b, const struct lsf_job_list *l)
{
    if (!b->noheader && l->job.n)
        lsf_format_header(&b->format, &b->out);
    for (size_t i = 0; i < l->job.n; i++) {
        struct lsf_row row = {.job = l->job.v[i], .past = &b->past};
        lsf_format_row(&b->format, &row, b->a, &b->out);
    }
}

static void long_add(struct bjobs *b, const struct lsf_job_list *l)
{
    struct lsf_long text = {&b->past, b->unbroken, b->a, &b->out};
    for (size_t i = 0; i < l->job.n; i++) {
        if (i)
            str_add(&b->out, "------------------------------------------------------------------"
                             "------------\n");
        lsf_long_print(&text, l->job.v[i]);
    }
}

static void nothing_say(const struct bjobs *b)
{
    const char *what = b->pending      ? "pending "
                       : b->running    ? "running "
                       : b->suspended  ? "suspended "
                       : b->done       ? "DONE/EXIT "
                       : b->filter.all ? ""
                                       : "unfinished ";
    const char *queue = b->filter.queue;
    fprintf(stderr, "No %sjob found%s%s%s\n", what, queue ? " in queue <" : "", queue ? queue : "",
            queue ? ">" : "");
}

static void show(struct bjobs *b, const struct lsf_job_list *l)
{
    if (b->sums)
        sums_add(b, l);
    else if (b->arrays)
        arrays_add(b, l);
    else if (b->json)
        json_add(b, l);
    else if (b->format_text)
        format_add(b, l);
    else if (b->longer)
        long_add(b, l);
    else
        list_add(b, l);
    listing_flush(&b->out);
}

/* With LSB_BJOBS_CONSISTENT_EXIT_CODE=Y what is not found is a failure; else it is none, as
 * programs take a failure for their own. */
static int status_of(const struct bjobs *b, const struct lsf_job_list *l)
{
    const char *strict = getenv("LSB_BJOBS_CONSISTENT_EXIT_CODE");
    bool found = l->job.n && !l->missing.n;
    return !found && strict && (strict[0] == 'Y' || strict[0] == 'y') ? LSF_EXIT : 0;
}

static bool past_is_shown(const struct bjobs *b)
{
    bool memory = false;
    for (size_t i = 0; i < b->format.column.n; i++)
        memory = memory || strstr(b->format.column.v[i].field->name, "mem");
    return !b->arrays && !b->sums && (b->longer || b->wider || memory);
}

/* -A counts ended elements, too: all of each array of which something is meant. */
static bool arrays_read(struct bjobs *b, struct client *c, struct lsf_job_list *l, struct err *e)
{
    struct lsf_filter whole = {.users = "all", .past = true};
    struct lsf_job_list all = {0};
    uint64_t last = 0;
    for (size_t i = 0; i < l->job.n; i++) {
        uint64_t number = lsf_job_number(l->job.v[i]);
        if (l->job.v[i]->array_job_id && number != last)
            vec_push(&whole.ids, arena_printf(b->a, "%llu", (unsigned long long)number));
        last = number;
    }
    bool ok = !whole.ids.n || lsf_jobs_read(c, &whole, b->a, &all, e);
    vec_done(&all.missing);
    all.missing = l->missing;
    memset(&l->missing, 0, sizeof l->missing);
    lsf_job_list_done(l);
    *l = all;
    lsf_filter_done(&whole);
    return ok;
}

static bool bjobs_read(struct bjobs *b, struct client *c, struct lsf_job_list *l, struct err *e)
{
    if (!lsf_jobs_read(c, &b->filter, b->a, l, e))
        return false;
    jobs_narrow(b, l);
    if (b->arrays && !arrays_read(b, c, l, e))
        return false;
    return !past_is_shown(b) || lsf_past_read(c, l, b->a, &b->past, e);
}

static int bjobs_run(struct bjobs *b)
{
    struct lsf_job_list l = {0};
    struct err e = {0};
    if (!b->format_text && (!b->wide && !b->wider && !b->longer))
        b->format_text = getenv("LSB_BJOBS_FORMAT");
    if (b->json && !b->format_text)
        return lsf_line_failed(NAME, (err_set(&e, ERR_VALUE, "-json goes with -o"), &e));
    if (b->format_text && !lsf_format_parse(&lsf_job_fields, b->format_text, b->a, &b->format, &e))
        return lsf_line_failed(NAME, &e);
    b->longer = b->longer || b->unbroken;
    b->filter.none = b->application != NULL;
    b->filter.all = b->filter.all || b->done;
    struct client *c = lsf_connect(NAME, state_dir_find(NULL, b->a));
    if (!c)
        return LSF_EXIT;
    bool ok = bjobs_read(b, c, &l, &e);
    client_close(c);
    if (!ok)
        return lsf_line_failed(NAME, &e);
    show(b, &l);
    for (size_t i = 0; i < l.missing.n && !b->json; i++)
        fprintf(stderr, "Job <%s> is not found\n", l.missing.v[i]);
    if (!l.job.n && !l.missing.n && !b->json)
        nothing_say(b);
    int status = status_of(b, &l);
    lsf_job_list_done(&l);
    return status;
}

int cmd_bjobs(int argc, char **argv)
{
    struct bjobs b = {.a = arena_new()};
    int status = 0;
    if (lsf_line_read(NAME, &bjobs_options, &b, b.a, argc, argv, &status))
        status = bjobs_run(&b);
    lsf_filter_done(&b.filter);
    lsf_format_done(&b.format);
    past_done(&b.past);
    str_done(&b.out);
    arena_free(b.a);
    return status;
}
