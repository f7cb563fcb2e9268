/* Sentences out of the records of a WHY answer. The planner gives counts, names and times; here
 * they become text with local times. */
#include "cli/record/why_text.h"

#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/program/localtime.h"
#include "model/job/waits.h"
#include "wire/utf8.h"

#include <string.h>

/* "14:05:00", or with its date when that is not today. */
static void add_when(struct str *out, int64_t us, int64_t now_us)
{
    struct str at = STR_INIT, now = STR_INIT;
    civil_format_iso(us, &civil_local, &at);
    civil_format_iso(now_us, &civil_local, &now);
    const char *time = strchr(str_text(&at), 'T');
    bool today =
        time && strncmp(str_text(&at), str_text(&now), (size_t)(time - str_text(&at))) == 0;
    str_add(out, today ? time + 1 : str_text(&at));
    str_done(&at);
    str_done(&now);
}

static void add_span(struct str *out, int64_t us)
{
    duration_format_short(us, out);
}

static const char *be(int32_t n)
{
    return n == 1 ? "is" : "are";
}

/* ---- blockers ---- */

static void add_jobs(struct str *out, const struct blocker *b, const char *before)
{
    if (!b->jobs)
        return;
    str_addf(out, "%sjob%s %s", before, strchr(b->jobs, ',') || b->jobs_more ? "s" : "", b->jobs);
    if (b->jobs_more > 0)
        str_addf(out, " and %d more", b->jobs_more);
}

static void add_until(struct str *out, const struct blocker *b, int64_t now_us)
{
    if (b->first_us) {
        str_add(out, b->first_us == b->last_us ? " until " : ", the first until ");
        add_when(out, b->first_us, now_us);
    }
    if (b->last_us > b->first_us) {
        str_add(out, ", the last until ");
        add_when(out, b->last_us, now_us);
    }
    if (b->endless > 0 && b->endless < b->nodes)
        str_addf(out, ", %d of them", b->endless);
    if (b->endless > 0)
        str_addf(out, " without end (%s no time limit)",
                 b->endless == 1 ? "a job there has" : "jobs there have");
}

static void add_names(struct str *out, const struct blocker *b)
{
    if (b->names)
        str_addf(out, " [%s]", b->names);
}

static void add_needs(struct str *out, const struct blocker *b)
{
    str_addf(out, "  needs %s: of %d node%s of partition %s, %d %s that free now\n",
             b->what ? b->what : "nodes", b->nodes_all, b->nodes_all == 1 ? "" : "s", b->partition,
             b->nodes, b->nodes == 1 ? "has" : "have");
}

static void add_blocker(struct str *out, const struct blocker *b, int64_t now_us)
{
    switch ((enum blocker_kind)b->kind) {
    case BLOCKER_NEEDS: add_needs(out, b); return;
    case BLOCKER_BUSY:
        str_addf(out, "    %d %s busy", b->nodes, be(b->nodes));
        add_until(out, b, now_us);
        str_addf(out, ": %s", b->what);
        add_jobs(out, b, "; ");
        break;
    case BLOCKER_OUT: /* a device, and of which node, is in the sentence */
        str_addf(out, "    out of use");
        if (b->first_us) {
            str_add(out, " since ");
            add_when(out, b->first_us, now_us);
        }
        str_addf(out, ": %s\n", b->what);
        return;
    case BLOCKER_AWAY: str_addf(out, "    %d %s away, %s", b->nodes, be(b->nodes), b->what); break;
    case BLOCKER_KEPT:
        str_addf(out, "    %d of those that are free %s kept for ", b->nodes, be(b->nodes));
        add_jobs(out, b, "");
        str_add(out, ", promised ");
        add_when(out, b->first_us, now_us);
        break;
    case BLOCKER_EXCLUDED:
        str_addf(
            out,
            "    %d %s not open to the job (--nodelist, --exclude, or outside its reservation)",
            b->nodes, be(b->nodes));
        break;
    case BLOCKER_RESERVED:
        str_addf(out, "    %d %s reserved for others", b->nodes, be(b->nodes));
        break;
    case BLOCKER_NEVER:
        str_addf(out, "    %d could not hold it even empty%s", b->nodes, b->what ? b->what : "");
        break;
    case BLOCKER_LICENCE:
    case BLOCKER_LIMIT:
        str_addf(out, "  %s%s%s%s", b->partition ? "in partition " : "",
                 b->partition ? b->partition : "", b->partition ? ": " : "", b->what);
        add_jobs(out, b, "; it is used by ");
        if (b->jobs && b->users)
            str_addf(out, " of %s", b->users);
        if (b->first_us) {
            str_add(out, "; enough is expected to be free at ");
            add_when(out, b->first_us, now_us);
        }
        break;
    }
    add_names(out, b);
    str_addc(out, '\n');
}

/* ---- order, plan, advice ---- */

static void add_rank(struct str *out, const struct why *w)
{
    if (!w->rank)
        return;
    str_addf(out, "  place %u of %llu in the order", w->rank, (unsigned long long)w->waiting);
    if (w->ahead) {
        uint32_t said = 1;
        for (const char *at = w->ahead; *at; at++)
            said += *at == ',';
        str_addf(out, "; ahead of it: %s", w->ahead);
        if (w->rank - 1 > said)
            str_addf(out, " and %u more", w->rank - 1 - said);
    }
    str_addc(out, '\n');
}

/* What the order counts with where something is known of such jobs. */
static void add_expected(struct str *out, const struct why *w)
{
    if (w->state != JOB_PENDING || !w->expected_us)
        return;
    str_add(out, "  expected to run ");
    duration_say(w->expected_us, out);
    if (w->limit_us) {
        str_add(out, " of the ");
        duration_say(w->limit_us, out);
        str_add(out, " asked");
    }
    str_addf(out,
             ", as such jobs of %s did last: its place in the order goes by that, its end by "
             "its limit\n",
             w->user_name ? w->user_name : "its owner");
}

static void add_plan(struct str *out, const struct why *w, int64_t now_us)
{
    if (w->planned_us) {
        str_add(out, "  planned start ");
        add_when(out, w->planned_us, now_us);
        if (w->planned_nodes)
            str_addf(out, " on %s", w->planned_nodes);
        if (w->sure_text)
            str_addf(out, " (%s)", w->sure_text);
        str_addc(out, '\n');
    } else if (w->sure_text) {
        str_addf(out, "  no planned start: %s\n", w->sure_text);
    }
}

static void add_advice(struct str *out, const struct why *w, int64_t now_us)
{
    const struct why_advice *v = w->advice.v;
    if (!w->advice_tried)
        return;
    if (w->advice.n == 0)
        str_add(out, w->advice_cut ? "  no small change was found that would start it sooner, but "
                                     "not all could be tried\n"
                                   : "  no small change would start it sooner\n");
    for (size_t i = 0; i < w->advice.n; i++) {
        bool less = strncmp(v[i].option, "no ", 3) == 0;
        str_addf(out, "  %s %s it starts ", less ? "without" : "with",
                 v[i].option + (less ? 3 : 0));
        if (v[i].now)
            str_add(out, "now");
        else
            add_when(out, v[i].start_us, now_us);
        if (v[i].stops)
            str_addf(out, ", and %s", v[i].stops);
        str_addf(out, "%s%s\n", v[i].command ? ": " : " (submit it anew)",
                 v[i].command ? v[i].command : "");
    }
    if (w->advice.n > 0 && w->advice_cut)
        str_add(out, "  (not every change could be tried)\n");
}

static void add_waited(struct str *out, const struct why *w)
{
    struct span rest = span_of(w->waited_for), cause;
    int64_t seconds;
    const char *comma = "";
    if (text_empty(w->waited_for))
        return;
    str_add(out, w->state == JOB_PENDING ? "  waited so far for" : "  waited for");
    for (; waits_next(&rest, &cause, &seconds); comma = ",") {
        str_addf(out, "%s %.*s ", comma, (int)cause.len, cause.data);
        add_span(out, seconds * USEC_PER_SEC);
    }
    str_addc(out, '\n');
}

void why_text(const struct why *w, int64_t now_us, struct str *out)
{
    const struct blocker *b = w->blockers.v;
    str_addf(out, "Job %s (%s%s%s) ", w->label, w->name ? w->name : "no name",
             w->user_name ? ", " : "", w->user_name ? w->user_name : "");
    if (w->state == JOB_PENDING) {
        str_addf(out, "waits: %s\n", enum_name(&job_reason_names, w->reason));
        if (w->because)
            str_addf(out, "  %s\n", w->because);
    } else {
        str_addf(out, "is %s", enum_name(&job_state_names, w->state));
        if (w->start_us) {
            str_add(out, "; it started ");
            add_when(out, w->start_us, now_us);
            int64_t waited = w->start_us - w->submit_us;
            str_add(out, ", after ");
            add_span(out, waited > 0 ? waited : 0);
        } else {
            str_add(out, "; it never started");
        }
        str_addc(out, '\n');
        if (!text_empty(w->because))
            str_addf(out, "  %s\n", w->because);
    }
    add_plan(out, w, now_us);
    add_advice(out, w, now_us);
    for (size_t i = 0; i < w->blockers.n; i++)
        add_blocker(out, &b[i], now_us);
    add_rank(out, w);
    add_expected(out, w);
    add_waited(out, w);
}

/* ---- in short ---- */

void why_heading(struct str *out)
{
    str_addf(out, "%-12s %-12s %-20s %6s %-19s %-8s %s\n", "JOBID", "NAME", "REASON", "PLACE",
             "PLANNED", "SURE", "WHY");
}

void why_line(const struct why *w, int64_t now_us, struct str *out)
{
    struct str when = STR_INIT, place = STR_INIT;
    if (w->planned_us)
        add_when(&when, w->planned_us, now_us);
    if (w->rank)
        str_addf(&place, "%u", w->rank);
    str_addf(out, "%-12s ", w->label);
    utf8_add_columns(out, w->name, 12);
    str_addf(out, " %-20s %6s %-19s %-8s %s\n", enum_name(&job_reason_names, w->reason),
             place.len ? str_text(&place) : "-", when.len ? str_text(&when) : "-",
             w->sureness == SURE_NONE ? "-" : enum_name(&sureness_names, w->sureness),
             w->because ? w->because : "");
    str_done(&when);
    str_done(&place);
}

void why_from_history(const struct job *j, struct why *ret, struct str *label)
{
    job_label(j, label);
    *ret =
        (struct why){.job_id = j->id,
                     .label = str_text(label),
                     .name = j->spec.name,
                     .user_name = j->user_name,
                     .state = j->state,
                     .reason = j->reason,
                     .because = job_state_over((enum job_state)j->state) ? j->reason_detail : NULL,
                     .submit_us = j->submit_us,
                     .eligible_us = j->eligible_us,
                     .start_us = j->start_us,
                     .waited_for = j->waited_for};
}
