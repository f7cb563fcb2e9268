#include "node/shepherd/report.h"

#include "model/env/lsf_report.h"
#include "model/job/job.h"

#include <stdlib.h>

#define DATE_BYTES 32

/* What LSF exits with, and says, where the job did not end by itself. */
static const char *end_of(const struct shepherd *s, int32_t *ret_status)
{
    if (s->note.oom) {
        *ret_status = status_of_code(137);
        return "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.";
    }
    if (!s->ended_from_outside)
        return NULL;
    switch (s->why) {
    case WHY_TIME_LIMIT:
        *ret_status = status_of_code(140);
        return "TERM_RUNLIMIT: job killed after reaching LSF run time limit.";
    case WHY_PREEMPTION: return "TERM_PREEMPT: job killed after preemption.";
    case WHY_REQUEUE: return "TERM_REQUEUE_OWNER: job killed and requeued by owner.";
    case WHY_NODE_FAILURE: return "TERM_UNKNOWN: LSF cannot determine a termination reason.";
    case WHY_NONE:
    case WHY_FILE: break;
    }
    *ret_status = status_of_code(130);
    return "TERM_OWNER: job killed by owner.";
}

static const char *date_of(int64_t us, char date[DATE_BYTES])
{
    time_t t = (time_t)(us / 1000000);
    struct tm tm;
    localtime_r(&t, &tm);
    strftime(date, DATE_BYTES, "%a %b %e %H:%M:%S %Y", &tm);
    return date;
}

void shepherd_report_write(struct shepherd *s)
{
    const struct step_plan *p = s->plan;
    char submitted[DATE_BYTES], started[DATE_BYTES], ended[DATE_BYTES];
    int64_t submit_us = lsf_report_submitted(p->report);
    struct lsf_report_end end = {
        .submitted = date_of(submit_us, submitted),
        .started = date_of(s->note.start_us, started),
        .terminated = date_of(s->note.at_us, ended),
        .submit_us = submit_us,
        .start_us = s->note.start_us,
        .end_us = s->note.at_us,
        .status = s->status,
        .cpu_us = s->note.cpu_user_us + s->note.cpu_system_us,
        .max_bytes = s->note.max_rss_bytes,
        .mem_mib = p->mem_asked_mib,
        .script = {p->script.data, p->script.len},
    };
    end.term = end_of(s, &end.status);
    struct str text = STR_INIT;
    lsf_report_write(p->report, &end, &text);
    step_output_text(p, str_text(&text));
    str_done(&text);
}
