/* --mail-type. An array mails once for its beginning and once for its end, unless ARRAY_TASKS asks
 * for a mail for each element. */
#include "base/plain.h"
#include "core/record/record.h"

#include "model/job/pattern.h"

/* What its user called it; mails are read in terminals, too, and may go to others. */
static const char *plain_of(const struct core *c, const char *text)
{
    struct str plain = STR_INIT;
    str_add_plain(&plain, text);
    const char *kept = arena_strdup(c->turn.fx->arena, str_text(&plain));
    str_done(&plain);
    return kept;
}

/* Of a path: all elements of an array may mail in one turn, and one that is longer than this was
 * rather made to be long. */
#define PATH_SHOWN 1024u

static const char *path_of(const struct core *c, const char *path)
{
    return plain_of(c, text_head(c->turn.fx->arena, path, PATH_SHOWN));
}

static const char *name_of(const struct core *c, const struct jobrec *r)
{
    return plain_of(c, r->j.spec.name);
}

static void job_words(const struct jobrec *r, bool per_task, const char *name, struct str *out)
{
    if (!r->j.array_job_id)
        str_addf(out, "Slurm Job_id=%llu Name=%s", (unsigned long long)r->j.id, name);
    else if (per_task && r->j.array_task_id != NO_TASK)
        str_addf(out, "Slurm Array Task Job_id=%llu_%u (%llu) Name=%s",
                 (unsigned long long)r->j.array_job_id, r->j.array_task_id,
                 (unsigned long long)r->j.id, name);
    else
        str_addf(out, "Slurm Array Summary Job_id=%llu_* (%llu) Name=%s",
                 (unsigned long long)r->j.array_job_id, (unsigned long long)r->j.array_job_id,
                 name);
}

static void run_time(const struct core *c, const struct jobrec *r, struct str *out)
{
    int64_t end = job_state_over((enum job_state)r->j.state) || r->j.state == JOB_COMPLETING
                      ? r->j.end_us
                      : c->turn.now_us;
    str_add(out, ", Run time ");
    duration_format(r->j.start_us ? end - r->j.start_us - r->j.suspended_us : 0, out);
}

/* How the elements ended, as Slurm sums it up. */
static void how_they_ended(const struct arrayrec *a, const struct jobrec *r, struct str *out)
{
    const char *state = !a->bad   ? "COMPLETED"
                        : a->well ? "Mixed"
                                  : enum_name(&job_state_names, r->j.state);
    if (status_signal(a->exit.most))
        str_addf(out, ", %s, MaxSignal [%d]", state, status_signal(a->exit.most));
    else
        str_addf(out, ", %s, ExitCode [%d-%d]", state, status_code(a->exit.least),
                 status_code(a->exit.most));
}

static void how_it_ended(const struct jobrec *r, struct str *out)
{
    str_addf(out, ", %s", enum_name(&job_state_names, r->j.state));
    if (status_signal(r->j.exit_status))
        str_addf(out, ", ExitSignal %d", status_signal(r->j.exit_status));
    else
        str_addf(out, ", ExitCode %d", status_code(r->j.exit_status));
}

static void subject(const struct core *c, const struct jobrec *r, uint32_t type, bool per_task,
                    struct str *out)
{
    job_words(r, per_task, name_of(c, r), out);
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
    case MAIL_REQUEUE: str_add(out, " Requeued"); return;
    case MAIL_INVALID_DEPEND: str_add(out, " Invalid dependency"); return;
    case MAIL_TIME_LIMIT: str_add(out, " Reached time limit"); break;
    case MAIL_TIME_LIMIT_90: str_add(out, " Reached 90% of time limit"); break;
    case MAIL_TIME_LIMIT_80: str_add(out, " Reached 80% of time limit"); break;
    case MAIL_TIME_LIMIT_50: str_add(out, " Reached 50% of time limit"); break;
    }
    run_time(c, r, out);
}

/* Where the script's output is. */
static void output_path(const struct core *c, const struct jobrec *r, struct str *out)
{
    struct str path = STR_INIT;
    const struct job *j = &r->j;
    bool element = j->array_job_id && j->array_task_id != NO_TASK;
    const char *pattern = j->spec.std_out ? j->spec.std_out
                          : element       ? "slurm-%A_%a.out"
                                          : "slurm-%j.out";
    struct pattern_env env = pattern_env_of_job(j);
    str_add(out, "Output: ");
    if (pattern[0] != '/' && j->spec.work_dir)
        str_addf(&path, "%s/", j->spec.work_dir);
    pattern_expand(pattern, &env, &path);
    str_addf(out, "%s\n", path_of(c, str_text(&path)));
    str_done(&path);
}

/* The step that used them most speaks for the job. */
static void gpus_used(const struct jobrec *r, struct str *out)
{
    const struct step *most = NULL;
    for (size_t i = 0; i < r->step.n; i++) {
        const struct step *s = &r->step.v[i]->s;
        if (s->gpu_samples && (!most || s->gpu_mem_tot_bytes > most->gpu_mem_tot_bytes))
            most = s;
    }
    if (!most)
        return;
    str_add(out, "GPUs: ");
    if (most->gpu_util_samples)
        str_addf(out, "%d%% busy on average (100%% is one GPU), %d%% at most; ", most->gpu_util_tot,
                 most->gpu_util_max);
    str_add(out, "GPU memory used at most: ");
    size_format_bytes(most->gpu_mem_tot_bytes, 0, out);
    str_addc(out, '\n');
}

static void used(const struct jobrec *r, struct str *out)
{
    int64_t most = 0;
    for (size_t i = 0; i < r->step.n; i++)
        most = r->step.v[i]->s.max_rss_bytes > most ? r->step.v[i]->s.max_rss_bytes : most;
    if (r->j.cpu_user_us + r->j.cpu_system_us) {
        str_add(out, "CPU time used: ");
        duration_format(r->j.cpu_user_us + r->j.cpu_system_us, out);
        str_addc(out, '\n');
    }
    gpus_used(r, out);
    if (most) {
        str_add(out, "Memory used at most: ");
        size_format_bytes(most, 0, out);
        str_addc(out, '\n');
    }
}

static void body(const struct core *c, const struct jobrec *r, bool summary, struct str *out)
{
    uint64_t id = summary ? r->j.array_job_id : r->j.id;
    str_addf(out, "Job %llu (%s) of %s\n", (unsigned long long)id, name_of(c, r),
             r->j.user_name ? r->j.user_name : "");
    if (r->j.spec.work_dir)
        str_addf(out, "Directory: %s\n", path_of(c, r->j.spec.work_dir));
    if (summary)
        return;
    str_addf(out, "State: %s\n", enum_name(&job_state_names, r->j.state));
    if (r->j.nodes)
        str_addf(out, "Nodes: %s\n", r->j.nodes);
    if (r->j.reason_detail)
        str_addf(out, "Reason: %s\n", plain_of(c, r->j.reason_detail));
    if (job_has_script(r) && r->j.start_us)
        output_path(c, r, out);
    used(r, out);
}

/* What a whole array has to say when this happens to one of its records; 0 = nothing. An end is the
 * last one, and a failure if one element failed. */
static uint32_t array_type(struct core *c, const struct jobrec *r, uint32_t type)
{
    struct arrayrec *array = array_of(c, r->j.array_job_id);
    bool first = !array->begun;
    switch (type) {
    case MAIL_BEGIN: array->begun = true; return first ? type : 0;
    case MAIL_END:
    case MAIL_FAIL:
        if (!array_over(c, r->j.array_job_id))
            return 0;
        return array->bad && (r->j.spec.mail_types & MAIL_FAIL) ? MAIL_FAIL : MAIL_END;
    case MAIL_INVALID_DEPEND: return job_is_array(r) ? type : 0;
    }
    return 0;
}

/* What Slurm calls it where MailProg asks (SLURM_JOB_MAIL_TYPE). */
static const char *type_word(uint32_t type)
{
    switch (type) {
    case MAIL_BEGIN: return "Began";
    case MAIL_END: return "Ended";
    case MAIL_FAIL: return "Failed";
    case MAIL_REQUEUE: return "Requeued";
    case MAIL_INVALID_DEPEND: return "Invalid dependency";
    case MAIL_TIME_LIMIT: return "Reached time limit";
    case MAIL_TIME_LIMIT_90: return "Reached 90% of time limit";
    case MAIL_TIME_LIMIT_80: return "Reached 80% of time limit";
    case MAIL_TIME_LIMIT_50: return "Reached 50% of time limit";
    }
    return "GPUs idle";
}

#define ENV_MAX 20

struct mail_env {
    const struct core *c;
    const char **v;
    size_t n;
};

static void put(struct mail_env *e, const char *name, const char *value)
{
    if (!text_empty(value))
        e->v[e->n++] =
            arena_printf(e->c->turn.fx->arena, "SLURM_%s=%s", name, plain_of(e->c, value));
}

static void put_u64(struct mail_env *e, const char *name, uint64_t value)
{
    e->v[e->n++] =
        arena_printf(e->c->turn.fx->arena, "SLURM_%s=%llu", name, (unsigned long long)value);
}

static const char *const *env_of(struct core *c, const struct jobrec *r, uint32_t type)
{
    const struct job *j = &r->j;
    struct mail_env e = {.c = c, .v = arena_alloc(c->turn.fx->arena, ENV_MAX * sizeof *e.v)};
    put(&e, "CLUSTER_NAME", c->settings.cluster_name);
    put_u64(&e, "JOB_ID", j->id);
    put_u64(&e, "JOBID", j->id);
    put(&e, "JOB_NAME", j->spec.name);
    put(&e, "JOB_USER", j->user_name);
    put_u64(&e, "JOB_UID", j->user_id);
    put(&e, "JOB_ACCOUNT", j->spec.req.account);
    put(&e, "JOB_PARTITION", j->run_partition ? j->run_partition : j->spec.req.partition);
    put(&e, "JOB_NODELIST", j->nodes);
    put(&e, "JOB_WORK_DIR", j->spec.work_dir);
    put(&e, "JOB_STATE", enum_name(&job_state_names, j->state));
    put(&e, "JOB_MAIL_TYPE", type_word(type));
    if (job_state_over((enum job_state)j->state)) {
        put(&e, "JOB_EXIT_CODE",
            arena_printf(c->turn.fx->arena, "%lld", (long long)j->exit_status));
        put(&e, "JOB_EXIT_CODE2",
            arena_printf(c->turn.fx->arena, "%d:%d", status_code(j->exit_status),
                         status_signal(j->exit_status)));
    }
    if (j->array_job_id) {
        put_u64(&e, "ARRAY_JOB_ID", j->array_job_id);
        if (j->array_task_id != NO_TASK)
            put_u64(&e, "ARRAY_TASK_ID", j->array_task_id);
    }
    return e.v;
}

static struct mail *mail_add(struct core *c, const struct jobrec *r, uint32_t type, const char *to,
                             const struct str *line, const struct str *text)
{
    struct effect *e = effect_add(c->turn.fx, FX_MAIL);
    e->mail.uid = r->j.user_id;
    e->mail.gid = r->j.group_id;
    e->mail.to = arena_strdup(c->turn.fx->arena, to);
    e->mail.subject = arena_strdup(c->turn.fx->arena, str_text(line));
    e->mail.body = arena_strdup(c->turn.fx->arena, str_text(text));
    e->mail.env = env_of(c, r, type);
    return &e->mail;
}

/* Of shorter runs samples say nothing. */
#define SAMPLED_US (30 * USEC_PER_SEC)

static void about_set(struct core *c, struct mail *m, const struct jobrec *r, bool summary)
{
    struct str name = STR_INIT;
    if (summary)
        str_add_u64(&name, r->j.array_job_id);
    else if (r->j.start_us)
        job_label(&r->j, &name);
    if (name.len)
        m->about = arena_strdup(c->turn.fx->arena, str_text(&name));
    m->samples_come = !summary && r->j.start_us && r->j.end_us - r->j.start_us >= SAMPLED_US;
    str_done(&name);
}

void mail_job(struct core *c, struct jobrec *r, uint32_t type)
{
    struct str line = STR_INIT, text = STR_INIT;
    bool per_task = r->j.spec.mail_types & MAIL_ARRAY_TASKS;
    const char *to = r->j.spec.mail_user ? r->j.spec.mail_user : r->j.user_name;
    if (r->j.array_job_id && !per_task)
        type = array_type(c, r, type);
    if (!(r->j.spec.mail_types & type) || text_empty(to))
        return;
    subject(c, r, type, per_task, &line);
    body(c, r, r->j.array_job_id && !per_task, &text);
    struct mail *m = mail_add(c, r, type, to, &line, &text);
    if (type & (MAIL_END | MAIL_FAIL))
        about_set(c, m, r, r->j.array_job_id && !per_task);
    str_done(&line);
    str_done(&text);
}

void mail_gpu_idle(struct core *c, struct jobrec *r, const char *sentence)
{
    ASSERT(sentence && r->j.start_us);
    struct arrayrec *array = r->j.array_job_id ? array_of(c, r->j.array_job_id) : NULL;
    bool per_task = r->j.spec.mail_types & MAIL_ARRAY_TASKS;
    const char *to = r->j.spec.mail_user ? r->j.spec.mail_user : r->j.user_name;
    struct str line = STR_INIT, text = STR_INIT;
    if (text_empty(to) || (array && !per_task && array->idle_mailed))
        return;
    if (array)
        array->idle_mailed = true;
    job_words(r, true, name_of(c, r), &line);
    str_add(&line, " GPUs idle");
    run_time(c, r, &line);
    str_addf(&text, "Of this job %s.\n", sentence);
    if (array && !per_task)
        str_add(&text, "Of other elements of its array no such mail comes.\n");
    str_addc(&text, '\n');
    body(c, r, false, &text);
    mail_add(c, r, 0, to, &line, &text);
    str_done(&line);
    str_done(&text);
}
