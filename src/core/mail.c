/* --mail-type. An array mails once for its beginning and once for its end, unless ARRAY_TASKS asks for a mail for each element. */
#include "core/inside.h"

static void job_words(const struct jobrec *r, bool per_task, struct str *out)
{
    const char *name = r->j.spec.name ? r->j.spec.name : "";
    if (!r->j.array_job_id)
        str_addf(out, "Slurm Job_id=%llu Name=%s", (unsigned long long) r->j.id, name);
    else if (per_task && r->j.array_task_id != NO_TASK)
        str_addf(out, "Slurm Array Task Job_id=%llu_%u (%llu) Name=%s", (unsigned long long) r->j.array_job_id, r->j.array_task_id, (unsigned long long) r->j.id, name);
    else
        str_addf(out, "Slurm Array Summary Job_id=%llu_* (%llu) Name=%s", (unsigned long long) r->j.array_job_id, (unsigned long long) r->j.array_job_id, name);
}

static void run_time(const struct core *c, const struct jobrec *r, struct str *out)
{
    int64_t end = job_state_over((enum job_state) r->j.state) || r->j.state == JOB_COMPLETING ? r->j.end_us : c->now_us;
    str_add(out, ", Run time ");
    duration_format(r->j.start_us ? end - r->j.start_us - r->j.suspended_us : 0, out);
}

/* How the elements ended, as Slurm sums it up. */
static void how_they_ended(const struct arrayrec *a, const struct jobrec *r, struct str *out)
{
    const char *state = !a->bad ? "COMPLETED" : a->well ? "Mixed" : enum_name(&job_state_names, r->j.state);
    if (status_signal(a->exit_most))
        str_addf(out, ", %s, MaxSignal [%d]", state, status_signal(a->exit_most));
    else
        str_addf(out, ", %s, ExitCode [%d-%d]", state, status_code(a->exit_least), status_code(a->exit_most));
}

static void how_it_ended(const struct jobrec *r, struct str *out)
{
    str_addf(out, ", %s", enum_name(&job_state_names, r->j.state));
    if (status_signal(r->j.exit_status))
        str_addf(out, ", ExitSignal %d", status_signal(r->j.exit_status));
    else
        str_addf(out, ", ExitCode %d", status_code(r->j.exit_status));
}

static void subject(const struct core *c, const struct jobrec *r, uint32_t type, bool per_task, struct str *out)
{
    job_words(r, per_task, out);
    switch (type) {
    case MAIL_BEGIN:
        str_add(out, " Began, Queued time ");
        duration_format(r->j.start_us - r->j.submit_us, out);
        return;
    case MAIL_END:
    case MAIL_FAIL:
        str_add(out, type == MAIL_END ? " Ended" : " Failed");
        if (r->j.array_job_id && !per_task) {
            how_they_ended(array_of(c, r->j.array_job_id), r, out);
            return;
        }
        run_time(c, r, out);
        how_it_ended(r, out);
        return;
    case MAIL_REQUEUE:
        str_add(out, " Requeued");
        return;
    case MAIL_INVALID_DEPEND:
        str_add(out, " Invalid dependency");
        return;
    case MAIL_TIME_LIMIT:
        str_add(out, " Reached time limit");
        break;
    case MAIL_TIME_LIMIT_90:
        str_add(out, " Reached 90% of time limit");
        break;
    case MAIL_TIME_LIMIT_80:
        str_add(out, " Reached 80% of time limit");
        break;
    case MAIL_TIME_LIMIT_50:
        str_add(out, " Reached 50% of time limit");
        break;
    }
    run_time(c, r, out);
}

static void body(const struct jobrec *r, struct str *out)
{
    str_addf(out, "Job %llu (%s) of %s\n", (unsigned long long) r->j.id, r->j.spec.name ? r->j.spec.name : "", r->j.user_name ? r->j.user_name : "");
    str_addf(out, "State: %s\n", enum_name(&job_state_names, r->j.state));
    if (r->j.nodes)
        str_addf(out, "Nodes: %s\n", r->j.nodes);
    if (r->j.reason_detail)
        str_addf(out, "Reason: %s\n", r->j.reason_detail);
    if (r->j.spec.work_dir)
        str_addf(out, "Directory: %s\n", r->j.spec.work_dir);
    if (r->j.cpu_user_us + r->j.cpu_system_us) {
        str_add(out, "CPU time used: ");
        duration_format(r->j.cpu_user_us + r->j.cpu_system_us, out);
        str_addc(out, '\n');
    }
}

/* Of a whole array: its first start, and its last end. */
static bool array_moment(struct core *c, const struct jobrec *r, uint32_t type)
{
    struct arrayrec *array = array_of(c, r->j.array_job_id);
    if (type == MAIL_BEGIN) {
        bool first = !array->begun;
        array->begun = true;
        return first;
    }
    return (type == MAIL_END || type == MAIL_FAIL) && array_over(c, r->j.array_job_id);
}

void mail_job(struct core *c, struct jobrec *r, uint32_t type)
{
    struct str line = STR_INIT, text = STR_INIT;
    bool per_task = r->j.spec.mail_types & MAIL_ARRAY_TASKS;
    if (!(r->j.spec.mail_types & type) || (r->j.array_job_id && !per_task && !array_moment(c, r, type)))
        return;
    subject(c, r, type, per_task, &line);
    body(r, &text);
    struct effect *e = effect_add(c->fx, FX_MAIL);
    e->mail.to = arena_strdup(c->fx->arena, r->j.spec.mail_user ? r->j.spec.mail_user : r->j.user_name);
    e->mail.subject = arena_strdup(c->fx->arena, str_text(&line));
    e->mail.body = arena_strdup(c->fx->arena, str_text(&text));
    str_done(&line);
    str_done(&text);
}
