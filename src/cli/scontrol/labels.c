/* Jobs that a query finds, as one list of references: as many as there are of a name. */
#include "base/list.h"
#include "base/str.h"
#include "cli/scontrol/scontrol.h"
#include "model/job/job.h"

static void label_add(void *ctx, const void *record)
{
    struct str *list = ctx, label = STR_INIT;
    job_label(record, &label);
    list_addf(list, "%s", str_text(&label));
    str_done(&label);
}

static void any_note(void *ctx, const void *record)
{
    (void)record;
    *(bool *)ctx = true;
}

static void jobs_each(struct scontrol *s, const struct msg_query *q, const char *fields,
                      void (*row)(void *ctx, const void *record), void *ctx)
{
    struct msg_query asked = *q;
    struct msg_done done = {0};
    struct err err = {0};
    struct client *c = scontrol_connect(s, "slurm_load_jobs error");
    asked.fields = fields;
    if (c && !client_query(c, &asked, &job_fields, s->a, row, ctx, &done, &err))
        scontrol_fail(s, "slurm_load_jobs error: %s", err.text);
}

const char *scontrol_job_labels(struct scontrol *s, const struct msg_query *q)
{
    struct str list = STR_INIT;
    jobs_each(s, q, JOB_LABEL_FIELDS, label_add, &list);
    const char *labels = list.len ? arena_strdup(s->a, str_text(&list)) : NULL;
    str_done(&list);
    return labels;
}

bool scontrol_any_job(struct scontrol *s, const struct msg_query *q)
{
    bool any = false;
    jobs_each(s, q, "id", any_note, &any);
    return any;
}
