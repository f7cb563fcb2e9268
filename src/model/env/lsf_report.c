#include "model/env/lsf_report.h"

#include "base/duration.h"
#include "model/job/job.h"
#include "model/job/job_counts.h"
#include "model/job/pattern.h"

#include <stdlib.h>
#include <string.h>

#define RULE "------------------------------------------------------------\n"

/* ---- what is known at the start ---- */

/* A value takes one line, whatever is in it. */
static void line_add(struct str *out, const char *name, const char *value)
{
    str_addf(out, "%s ", name);
    for (const char *c = value ? value : ""; *c; c++)
        str_addc(out, *c == '\n' || *c == '\r' ? ' ' : *c);
    str_addc(out, '\n');
}

/* One host by its name, several with their slots: "n1", "4*n1 2*n2". */
static void hosts_add(const struct job_env *e, struct str *out)
{
    const struct alloc none = {0}, *first = e->alloc ? e->alloc : &none;
    size_t nparts = e->nparts ? e->nparts : 1, start;
    str_add(out, "hosts ");
    start = out->len;
    for (size_t p = 0; p < nparts; p++) {
        const struct alloc *al = e->nparts ? &e->part[p].alloc : first;
        for (size_t i = 0; i < al->n; i++) {
            int32_t slots = al->node[i].tasks > 0 ? al->node[i].tasks : al->node[i].cpu_count;
            if (nparts == 1 && al->n == 1 && slots == 1)
                str_add(out, al->node[i].node);
            else
                str_addf(out, "%s%d*%s", out->len > start ? " " : "", slots, al->node[i].node);
        }
    }
    if (out->len == start)
        str_add(out, e->node);
    str_addc(out, '\n');
}

void lsf_report_begin(const struct job_env *e, struct str *out)
{
    const struct job *j = e->job;
    uint64_t id = j->array_job_id ? j->array_job_id : j->id;
    str_addf(out, "id %llu", (unsigned long long)id);
    if (j->array_job_id && j->array_task_id != NO_TASK)
        str_addf(out, "[%u]", j->array_task_id);
    str_addf(out, "\nsubmitted %lld\n", (long long)job_first_submit_us(j));
    line_add(out, "name", j->spec.name);
    if (j->array_job_id && j->array_task_id != NO_TASK) {
        str_cut(out, out->len - 1);
        str_addf(out, "[%u]\n", j->array_task_id);
    }
    line_add(out, "from", j->spec.alloc_host);
    line_add(out, "user", e->user);
    line_add(out, "cluster", e->cluster_name);
    line_add(out, "queue", j->run_partition ? j->run_partition : j->spec.req.partition);
    line_add(out, "home", e->home);
    line_add(out, "dir", j->spec.work_dir);
    line_add(out, "node", e->node);
    struct pattern_env env = pattern_env_of_job(j);
    struct str error = STR_INIT;
    env.node = e->node;
    env.user = e->user ? e->user : "";
    if (j->spec.std_err)
        pattern_expand(j->spec.std_err, &env, &error);
    line_add(out, "error", str_text(&error));
    str_done(&error);
    hosts_add(e, out);
}

static struct span value_of(const char *begun, const char *name)
{
    struct span rest = span_of(begun), line;
    size_t len = strlen(name);
    while (span_next(&rest, '\n', &line))
        if (line.len > len && memcmp(line.data, name, len) == 0 && line.data[len] == ' ')
            return (struct span){line.data + len + 1, line.len - len - 1};
    return (struct span){"", 0};
}

int64_t lsf_report_submitted(const char *begun)
{
    return strtoll(value_of(begun, "submitted").data, NULL, 10);
}

/* ---- the whole ---- */

#define V(name) (int)value_of(begun, name).len, value_of(begun, name).data

static void head_write(const char *begun, const struct lsf_report_end *end, bool done,
                       struct str *out)
{
    str_addf(out, "\n" RULE "Sender: LSF System <lsfadmin@%.*s>\n", V("node"));
    str_addf(out, "Subject: Job %.*s: <%.*s> in cluster <%.*s> %s\n\n", V("id"), V("name"),
             V("cluster"), done ? "Done" : "Exited");
    str_addf(out,
             "Job <%.*s> was submitted from host <%.*s> by user <%.*s> in cluster <%.*s> at %s\n",
             V("name"), V("from"), V("user"), V("cluster"), end->submitted);
    struct span rest = value_of(begun, "hosts"), host;
    for (bool first = true; span_next(&rest, ' ', &host); first = false)
        str_addf(out, "%s<%.*s>",
                 first ? "Job was executed on host(s) " : "\n                            ",
                 (int)host.len, host.data);
    str_addf(out, ", in queue <%.*s>, as user <%.*s> in cluster <%.*s> at %s\n", V("queue"),
             V("user"), V("cluster"), end->started);
    str_addf(out, "<%.*s> was used as the home directory.\n", V("home"));
    str_addf(out, "<%.*s> was used as the working directory.\n", V("dir"));
    str_addf(out, "Started at %s\nTerminated at %s\nResults reported at %s\n\n", end->started,
             end->terminated, end->terminated);
}

static void script_write(struct span script, struct str *out)
{
    str_add(out, "Your job looked like:\n\n" RULE "# LSBATCH: User input\n");
    str_addn(out, script.data, script.len);
    if (script.len && script.data[script.len - 1] != '\n')
        str_addc(out, '\n');
    str_add(out, RULE "\n");
}

/* Programs look for "Resource usage summary:" and read the line two above it. */
static void end_write(const struct lsf_report_end *end, bool done, struct str *out)
{
    if (end->term)
        str_addf(out, "%s\n", end->term);
    if (done)
        str_add(out, "Successfully completed.\n\n");
    else if (status_signal(end->status))
        str_addf(out, "Exited by signal %d.\n\n", status_signal(end->status));
    else
        str_addf(out, "Exited with exit code %d.\n\n", status_code(end->status));
}

static void amount_row(struct str *out, const char *label, bool known, double value, int digits,
                       const char *unit)
{
    str_addf(out, "    %-45s", label);
    if (known)
        str_addf(out, "%.*f %s\n", digits, value, unit);
    else
        str_add(out, "-\n");
}

static double seconds(int64_t us)
{
    return us > 0 ? (double)(us / USEC_PER_SEC) : 0;
}

static void usage_write(const struct lsf_report_end *end, struct str *out)
{
    const double mib = 1048576.0;
    double max = (double)end->max_bytes / mib, asked = (double)end->mem_mib;
    bool used = end->max_bytes > 0, given = end->mem_mib > 0;
    str_add(out, "Resource usage summary:\n\n");
    amount_row(out, "CPU time :", true, (double)end->cpu_us / 1e6, 2, "sec.");
    amount_row(out, "Max Memory :", used, max, 0, "MB");
    amount_row(out, "Average Memory :", false, 0, 0, "");
    amount_row(out, "Total Requested Memory :", given, asked, 2, "MB");
    amount_row(out, "Delta Memory :", used && given, asked - max, 2, "MB");
    amount_row(out, "Max Swap :", false, 0, 0, "");
    amount_row(out, "Max Processes :", false, 0, 0, "");
    amount_row(out, "Max Threads :", false, 0, 0, "");
    amount_row(out, "Run time :", true, seconds(end->end_us - end->start_us), 0, "sec.");
    amount_row(out, "Turnaround time :", true, seconds(end->end_us - end->submit_us), 0, "sec.");
}

void lsf_report_write(const char *begun, const struct lsf_report_end *end, struct str *out)
{
    bool done = end->status == 0 && !end->term;
    head_write(begun, end, done, out);
    script_write(end->script, out);
    end_write(end, done, out);
    usage_write(end, out);
    str_add(out, "\nThe output (if any) is above this job summary.\n\n");
    if (value_of(begun, "error").len)
        str_addf(out, "PS:\n\nRead file <%.*s> for stderr output of this job.\n\n", V("error"));
}
