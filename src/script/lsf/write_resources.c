/* What stands in the sections of -R. */
#include "script/lsf/write.h"

#include "base/alloc.h"
#include "base/amount.h"
#include "base/hostlist.h"
#include "script/lsf/lsf.h"
#include "script/lsf/term.h"

#include <string.h>

#define WORDS_MAX 32

static void term_add(struct str *out, const char *between, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void term_add(struct str *out, const char *between, const char *format, ...)
{
    va_list args;
    if (out->len)
        str_add(out, between);
    va_start(args, format);
    str_addv(out, format, args);
    va_end(args);
}

static void features_add(struct writing *w, struct str *out)
{
    struct span word[WORDS_MAX];
    const char *text = w->j->req.constraint;
    size_t n;
    if (text_empty(text))
        return;
    writing_said(w, "constraint");
    if (writing_words(w, text, '&', "_.-", word, WORDS_MAX, &n)) {
        for (size_t i = 0; i < n; i++)
            term_add(out, " && ", "%.*s", (int)word[i].len, word[i].data);
    } else if (writing_words(w, text, '|', "_.-", word, WORDS_MAX, &n)) {
        for (size_t i = 0; i < n; i++)
            term_add(out, i ? " || " : " && ", "%s%.*s", i ? "" : "(", (int)word[i].len,
                     word[i].data);
        str_addc(out, ')');
    } else {
        writing_lost(w, "constraint", "select[] joins features by && or by ||: %s", text);
    }
}

static void excluded_add(struct writing *w, struct str *out)
{
    struct hostlist hosts = HOSTLIST_INIT;
    const char *text = w->j->req.exclude;
    if (text_empty(text))
        return;
    writing_said(w, "exclude");
    if (!hostlist_parse(&hosts, text, NULL) || hosts.n > WORDS_MAX)
        writing_lost(w, "exclude", "too many hosts to write each of them");
    else
        for (size_t i = 0; i < hosts.n; i++)
            term_add(out, " && ", "hname!='%s'", hosts.name[i]);
    hostlist_done(&hosts);
}

void lsf_write_select(struct writing *w, struct str *out)
{
    const struct job_request *q = &w->j->req;
    features_add(w, out);
    excluded_add(w, out);
    if (q->tmp_disk_mib) {
        writing_said(w, "tmp");
        term_add(out, " && ", "tmp>=%lldMB", (long long)q->tmp_disk_mib);
    }
    if (q->min_cpus_per_node) {
        writing_said(w, "mincpus");
        term_add(out, " && ", "ncpus>=%d", q->min_cpus_per_node);
    }
}

static void memory_add(struct writing *w, struct str *out)
{
    const struct job_request *q = &w->j->req;
    if (q->mem_per_node_mib == MEM_ALL)
        writing_lost(w, writing_given(w, "mem") ? "mem" : "mem-per-cpu",
                     "all memory of the host has no word in LSF; -x keeps other jobs away");
    else if (q->mem_per_node_mib) {
        writing_said(w, "mem");
        term_add(out, ":", "mem=%lldMB/host", (long long)q->mem_per_node_mib);
    } else if (q->mem_per_cpu_mib) {
        writing_said(w, "mem-per-cpu");
        term_add(out, ":", "mem=%lldMB/task",
                 (long long)amount_times(q->mem_per_cpu_mib, w->size.cpus));
    }
}

static void licences_add(struct writing *w, struct str *out)
{
    struct span rest = span_of(w->j->req.licenses), one;
    bool lost = false;
    if (text_empty(w->j->req.licenses))
        return;
    writing_said(w, "licenses");
    while (span_next(&rest, ',', &one)) {
        struct span name;
        int32_t n = 1;
        one = span_trim(one);
        span_next(&one, ':', &name);
        bool taken = lsf_name_is_one_of(
            name, "mem tmp ngpus ngpus_physical ngpus_excl_p ngpus_shared duration decay swp r15s "
                  "r1m r15m ut pg io ls it");
        if (taken || !lsf_is_feature(name) || (one.data && !lsf_count_read(one, 1 << 20, &n)))
            lost = true;
        else
            term_add(out, ":", "%.*s=%d", (int)name.len, name.data, n);
    }
    if (lost)
        writing_lost(w, "licenses", "rusage[] has names and numbers: %s", w->j->req.licenses);
}

void lsf_write_rusage(struct writing *w, struct str *out)
{
    memory_add(w, out);
    licences_add(w, out);
}

/* N of "plane=N" alone. */
static int32_t plane_of(const char *layout)
{
    int32_t n;
    bool plane = layout && text_starts_nocase(layout, "plane=") &&
                 lsf_count_read(span_of(layout + strlen("plane=")), 1 << 20, &n);
    return plane ? n : 0;
}

void lsf_write_span(struct writing *w, struct str *out)
{
    const struct writing_size *s = &w->size;
    const char *layout = w->j->req.distribution;
    if (writing_given(w, "nodes"))
        writing_said(w, "nodes");
    if (writing_given(w, "ntasks-per-node"))
        writing_said(w, "ntasks-per-node");
    if (s->nodes == 1 && !w->j->req.ntasks_per_node && !s->whole_nodes)
        str_add(out, "hosts=1");
    else if (s->nodes && !s->whole_nodes)
        str_addf(out, "ptile=%d", s->per_node);
    if (text_is_nocase(layout, "cyclic")) {
        writing_said(w, "distribution");
        term_add(out, ":", "stripe");
    } else if (plane_of(layout)) {
        writing_said(w, "distribution");
        term_add(out, ":", "block=%d", plane_of(layout));
    } else if (!text_empty(layout)) {
        writing_lost(w, "distribution", "span[] has stripe, which is cyclic, and block=N, a plane");
    }
}

void lsf_write_cu(struct writing *w, struct str *out)
{
    if (!w->j->req.switches)
        return;
    writing_said(w, "switches");
    if (w->j->req.switches_wait_us)
        writing_lost(w, "switches", "cu[maxcus] waits without end for them");
    str_addf(out, "maxcus=%d", w->j->req.switches);
}

void lsf_write_affinity(struct writing *w, struct str *out)
{
    if (!w->j->req.cpus_per_task)
        return;
    writing_said(w, "cpus-per-task");
    str_addf(out, "core(%d)", w->size.cpus);
}
