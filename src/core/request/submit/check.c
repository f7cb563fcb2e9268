/* submit, the checks: what is asked against what there is and what the submitter may. Nothing is
 * kept yet. */
#include "core/record/accounts/accounts.h"
#include "core/record/asked.h"
#include "core/request/submit/submission.h"

#include <stdarg.h>
#include <string.h>

void submission_say(struct str *to, const char *sentence)
{
    if (text_empty(sentence))
        return;
    if (to->len)
        str_add(to, "; ");
    str_add(to, sentence);
}

enum refusal submission_refuse(struct submission *s, enum refusal refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_clear(&s->detail);
    str_addv(&s->detail, format, args);
    va_end(args);
    return refusal;
}

static const char *default_partition(const struct core *c)
{
    for (size_t i = 0; i < c->part.n; i++)
        if (c->part.v[i]->p.is_default)
            return c->part.v[i]->p.name;
    return c->part.n == 1 ? c->part.v[0]->p.name : NULL;
}

static enum refusal partition_check(struct core *c, struct submission *s, struct job_spec *spec)
{
    spec->req.reservation = resvs_once(c, spec->req.reservation);
    if (text_empty(spec->req.partition) && spec->req.reservation)
        spec->req.partition = resv_partition(c, spec->req.reservation);
    if (text_empty(spec->req.partition))
        spec->req.partition = default_partition(c);
    if (text_empty(spec->req.partition))
        return submission_refuse(
            s, REFUSE_INVALID_PARTITION,
            "no partition was asked for and none is the default: name one with --partition");
    spec->req.partition = partitions_once(c, spec->req.partition);
    return REFUSE_NONE;
}

/* Who waits for a mail must know now that none comes. */
static void mail_check(const struct core *c, struct submission *s, const struct job_spec *spec)
{
    struct str text = STR_INIT;
    if (!spec->mail_types || !c->settings_made.mail_fault)
        return;
    str_addf(&text,
             "no mail will come of this job: %s; MailProg or SmtpServer in remuda.conf names what "
             "sends it",
             c->settings_made.mail_fault);
    submission_say(&s->warning, str_text(&text));
    str_done(&text);
}

static enum refusal privileges_check(struct core *c, struct submission *s, struct job_spec *spec)
{
    bool operates = peer_operates(c, c->turn.peer);
    if (spec->nice < 0 && !operates)
        return submission_refuse(s, REFUSE_NICE,
                                 "only operators may ask for a negative nice value; others may go "
                                 "from 0 to %d",
                                 LIMIT_NICE);
    if (!operates)
        spec->site_factor = 0;
    if (spec->nice > LIMIT_NICE)
        spec->nice = LIMIT_NICE;
    if (spec->priority_asked && !operates) {
        if (spec->priority_asked != PRIORITY_TOP)
            submission_say(&s->warning, "only operators may set a priority: it is computed");
        spec->priority_asked = 0;
    }
    return REFUSE_NONE;
}

static enum refusal times_check(struct core *c, struct submission *s, struct job_spec *spec)
{
    struct job_request *r = &spec->req;
    deadline_shortest(spec);
    if (spec->deadline_us && spec->deadline_us <= c->turn.now_us)
        return submission_refuse(s, REFUSE_TIME_LIMIT, "the deadline has passed already");
    if (spec->deadline_us && r->time_min_us > spec->deadline_us - c->turn.now_us)
        return submission_refuse(s, REFUSE_TIME_MIN,
                                 "--time-min is longer than there is until the deadline");
    if (spec->deadline_us && spec->begin_us >= spec->deadline_us)
        return submission_refuse(s, REFUSE_BEGIN_TIME, "the job may begin only after its deadline");
    if (r->time_min_us && r->time_limit_us && r->time_limit_us != TIME_UNLIMITED &&
        r->time_min_us > r->time_limit_us)
        return submission_refuse(s, REFUSE_TIME_MIN, "--time-min is longer than --time");
    return REFUSE_NONE;
}

static enum refusal sampling_check(struct core *c, struct submission *s,
                                   const struct job_spec *spec)
{
    if (!sampled_too_seldom(c, spec, &spec->req))
        return REFUSE_NONE;
    return submission_refuse(
        s, REFUSE_ACCOUNTING_FREQUENCY,
        "memory is asked for, and is watched at least every %lld s (JobAcctGatherFrequency): "
        "--acctg-freq=task= may be less, not more and not 0",
        (long long)(sampled_gap_most(c) / USEC_PER_SEC));
}

static enum refusal array_check(struct core *c, struct submission *s, struct draft *d)
{
    struct err err = {0};
    uint32_t largest = c->settings.max_array_size > LIMIT_ARRAY_INDEX
                           ? LIMIT_ARRAY_INDEX
                           : (uint32_t)(c->settings.max_array_size - 1);
    if (text_empty(d->spec.array))
        return REFUSE_NONE;
    if (s->n > 1)
        return submission_refuse(s, REFUSE_INVALID_ARRAY, "a heterogeneous job cannot be an array");
    if (!array_parse(d->spec.array, largest, &d->ids, &d->limit, &err))
        return submission_refuse(s, REFUSE_INVALID_ARRAY, "%s", err.text);
    if (d->ids.n > LIMIT_ARRAY_PIECES)
        return submission_refuse(
            s, REFUSE_INVALID_ARRAY,
            "the array's indexes come to %zu ranges; at most %u are allowed: submit several "
            "arrays, or number the elements without gaps and have the script look up which is "
            "meant",
            d->ids.n, LIMIT_ARRAY_PIECES);
    int64_t more = texts_long(&d->spec) + (int64_t)pending_bytes(&d->ids);
    return s->m->test_only || user_room_texts_fit(c, c->turn.peer->uid, more, &s->detail)
               ? REFUSE_NONE
               : REFUSE_TOO_LARGE;
}

/* A misspelt name would exclude nothing. A job that waits keeps the names of nodes that leave. */
enum refusal node_lists_check(const struct core *c, const struct job_request *r, struct str *detail)
{
    struct hostlist h = HOSTLIST_INIT;
    struct err err = {0};
    enum refusal refusal = REFUSE_NONE;
    if (!names_fit(c, r->nodelist, &err) || !names_fit(c, r->exclude, &err) ||
        !hostlist_parse(&h, r->exclude ? r->exclude : "", &err)) {
        str_add(detail, err.text);
        refusal = REFUSE_INVALID_NODE;
    }
    for (size_t i = 0; i < h.n && !refusal; i++)
        if (!node_find(c, h.name[i])) {
            str_addf(detail, "--exclude: there is no node %s in this cluster", h.name[i]);
            refusal = REFUSE_INVALID_NODE;
        }
    hostlist_done(&h);
    return refusal;
}

static enum refusal names_check(struct submission *s, const struct job_spec *spec)
{
    const char *path = spec_path_long(spec);
    if (path)
        return submission_refuse(s, REFUSE_TOO_LARGE, SPEC_PATH_LONG, path);
    return spec_names_fit(spec) ? REFUSE_NONE
                                : submission_refuse(s, REFUSE_TOO_LARGE, SPEC_NAMES_LONG);
}

/* Where no QOS is insisted on, any name is taken, as in Slurm. Who mistyped one hears of it, where
 * the site has some; where it has none, scripts of other sites are taken word for word. */
static void qos_warn(struct core *c, const struct job_request *req, struct str *warning)
{
    bool has_some = map_str_count(c->accounts.qos_of) > 1; /* beside the normal one */
    if (!has_some || text_empty(req->qos) || qos_find(c, req->qos))
        return;
    submission_say(warning, arena_printf(c->turn.fx->arena,
                                         "there is no QOS %s here: it is kept as a name, and "
                                         "changes nothing",
                                         req->qos));
}

/* Components of one submission count together. */
static enum refusal of_accounts_check(struct core *c, struct submission *s, struct draft *d)
{
    struct str why = STR_INIT, warning = STR_INIT;
    uint64_t elements = d->ids.count ? d->ids.count : 1;
    enum refusal refusal =
        limits_check(c, &d->spec, elements + (uint64_t)(d - s->draft), &why, &warning);
    if (refusal)
        submission_refuse(s, refusal, "%s", str_text(&why));
    submission_say(&s->warning, warning.len ? str_text(&warning) : NULL);
    str_done(&why);
    str_done(&warning);
    return refusal;
}

static enum refusal draft_check(struct core *c, struct submission *s, struct draft *d)
{
    enum refusal refusal = partition_check(c, s, &d->spec);
    enum job_reason pend = REASON_NONE;
    struct str why = STR_INIT;
    /* Whose groups are not known is in none. */
    const char *groups = c->turn.peer->groups ? c->turn.peer->groups : "";
    if (!refusal)
        refusal = account_choose(c, &d->spec.req, c->turn.peer->user, &why);
    if (!refusal)
        qos_warn(c, &d->spec.req, &s->warning);
    if (!refusal)
        refusal = wckey_choose(c, &d->spec, c->turn.peer->user, &why);
    if (!refusal)
        refusal = submit_host_check(c, d->spec.req.partition, &why);
    if (!refusal)
        refusal = resv_check(c, &d->spec.req, c->turn.peer->user, groups, &why);
    if (refusal && why.len)
        submission_refuse(s, refusal, "%s", str_text(&why));
    if (!refusal)
        refusal = names_check(s, &d->spec);
    if (!refusal)
        refusal = node_lists_check(c, &d->spec.req, &s->detail);
    if (!refusal)
        refusal = privileges_check(c, s, &d->spec);
    if (!refusal) {
        mail_check(c, s, &d->spec);
        resv_warn(c, &d->spec.req, &s->warning);
    }
    if (!refusal)
        refusal = times_check(c, s, &d->spec);
    if (!refusal)
        refusal = sampling_check(c, s, &d->spec);
    if (!refusal)
        refusal = array_check(c, s, d);
    if (!refusal && !d->spec.batch && d->ids.count)
        refusal = submission_refuse(
            s, REFUSE_INVALID_ARRAY,
            "an allocation cannot be an array: submit a batch script with --array");
    if (!refusal) {
        refusal = sched_check(c->cluster, &d->spec.req, c->turn.peer->uid, groups, &pend, &why);
        if (refusal)
            submission_refuse(s, refusal, "%s", str_text(&why));
        else
            submission_say(&s->warning, pend == REASON_NONE ? str_text(&why) : NULL);
    }
    if (!refusal)
        refusal = of_accounts_check(c, s, d);
    str_done(&why);
    return refusal;
}

struct jobrec *submission_trials(const struct core *c, const struct submission *s)
{
    struct jobrec *trial = xcalloc(s->n, sizeof *trial);
    for (size_t i = 0; i < s->n; i++)
        trial[i].j = (struct job){.id = c->jobs.next_id + i,
                                  .spec = s->draft[i].spec,
                                  .user_id = c->turn.peer->uid,
                                  .user_name = c->turn.peer->user,
                                  .group_name = c->turn.peer->group,
                                  .submit_us = c->turn.now_us,
                                  .eligible_us = c->turn.now_us};
    return trial;
}

static enum refusal together_check(struct core *c, struct submission *s)
{
    struct jobrec *trial = submission_trials(c, s);
    struct str said = STR_INIT;
    enum refusal refusal = submit_together_check(c, trial, s->n, &s->detail, &said);
    submission_say(&s->warning, said.len ? str_text(&said) : NULL);
    str_done(&said);
    free(trial);
    return refusal;
}

uint64_t submission_texts(const struct job_spec *spec, const struct idset *ids)
{
    return texts_long(spec) * (ids->count ? ids->count : 1) + pending_bytes(ids);
}

static enum refusal disk_check(struct core *c, struct submission *s)
{
    uint64_t bytes = s->m->script.len + s->m->env.len;
    for (size_t i = 0; i < s->n; i++)
        bytes +=
            row_short(&s->draft[i].spec) + submission_texts(&s->draft[i].spec, &s->draft[i].ids);
    return s->m->test_only || user_room_disk_fits(c, c->turn.peer->uid, bytes, &s->detail)
               ? REFUSE_NONE
               : REFUSE_TOO_LARGE;
}

static enum refusal payload_check(struct submission *s)
{
    if (s->m->script.len > LIMIT_SCRIPT_BYTES)
        return submission_refuse(
            s, REFUSE_TOO_LARGE,
            "the script has %zu bytes; at most %u are allowed: keep data in files and "
            "read them in the job",
            s->m->script.len, LIMIT_SCRIPT_BYTES);
    if (s->m->script.len && memchr(s->m->script.data, '\0', s->m->script.len))
        return submission_refuse(s, REFUSE_SCRIPT,
                                 "the script has a NUL byte in it: what looks at scripts would see "
                                 "nothing behind it; keep binary data in a file of its own");
    if (s->m->env.len > LIMIT_ENV_BYTES)
        return submission_refuse(
            s, REFUSE_TOO_LARGE,
            "the exported environment has %zu bytes; at most %u are allowed: use --export=NONE or "
            "name what is needed",
            s->m->env.len, LIMIT_ENV_BYTES);
    const char *env = s->m->env.data;
    if (s->m->env.len && env[s->m->env.len - 1] != '\0')
        return submission_refuse(s, REFUSE_BAD_MESSAGE,
                                 "the exported environment does not end with a NUL byte: each "
                                 "NAME=VALUE in it is ended by one");
    return REFUSE_NONE;
}

enum refusal submission_check(struct core *c, struct submission *s)
{
    ASSERT(c->turn.peer);
    const struct job_spec *specs = s->m->specs.v;
    if (!s->n || s->n > 128)
        return submission_refuse(s, REFUSE_BAD_MESSAGE,
                                 "a submission has from 1 to 128 components");
    enum refusal refusal = payload_check(s);
    if (refusal)
        return refusal;
    if (!s->m->test_only && !user_room_jobs_fit(c, c->turn.peer->uid, s->n, &s->detail))
        return REFUSE_QUEUE_FULL;
    if (!components_fit(s->m, &s->detail))
        return REFUSE_DEPENDENCY;
    if (!user_room_fits(c, s->m, &s->detail))
        return REFUSE_TOO_LARGE;
    for (size_t i = 0; i < s->n; i++) {
        s->draft[i].spec = specs[i];
        refusal = draft_check(c, s, &s->draft[i]);
        if (refusal)
            return refusal;
    }
    refusal = disk_check(c, s);
    return refusal ? refusal : together_check(c, s);
}
