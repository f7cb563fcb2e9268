/* Which fields of a job may change, when, and by whom. */
#include "base/list.h"
#include "core/request/request.h"
#include "core/request/update_job.h"
#include "model/job/job_attributes.h"
#include "model/job/owner.h"

#include <string.h>

/* Facts about the submission. */
static const char *const fixed[] = {"array",     "batch",       "submit_line", "alloc_host",
                                    "no_effect", "umask_plus1", "rlimits",     "get_user_env"};
/* What runs in its owner's name, the files that are opened in it, and who is sent what they say. */
static const char *const of_its_owner[] = {"later_env", "export_env", "shell",     "script_args",
                                           "work_dir",  "std_in",     "std_out",   "std_err",
                                           "open_mode", "mail_user",  "mail_types"};
/* Fields that of a running job mean its nodes: NodeList= and NumNodes=. */
static const char *const size_fields[] = {"nodelist", "min_nodes", "max_nodes", "node_sizes"};
/* Fields that may change while the job runs. */
static const char *const any_time[] = {
    "time_limit_us", "comment",     "mail_types", "mail_user",        "requeue",
    "extra",         "name",        "nice",       "site_factor",      "deadline_us",
    "switches",      "time_min_us", "hold",       "switches_wait_us", "delay_boot_us",
    "priority_asked"};
/* What a run has beside its nodes (life/moved.c). */
static const char *const of_a_run[] = {"licenses", "reservation"};
/* And these: they mean nothing to placement. */
static const char *const attributes[] = {
#define X(member, ...) #member,
    JOB_ATTRIBUTES(X)
#undef X
};

bool update_of_a_run(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
}

bool update_is_taken_apart(const struct jobrec *r, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(size_fields); i++)
        if (text_is(name, size_fields[i]))
            return r->j.state != JOB_PENDING;
    return text_is(name, "hold");
}

static bool among(const char *const *names, size_t n, struct span name)
{
    for (size_t i = 0; i < n; i++)
        if (span_is(name, names[i]))
            return true;
    return false;
}

bool update_any_time(const struct jobrec *r, const char *fields)
{
    bool runs = update_of_a_run(r);
    struct span rest = span_of(fields), piece;
    while (fields && span_next(&rest, ',', &piece))
        if (!among(any_time, ARRAY_LEN(any_time), piece) &&
            !among(attributes, ARRAY_LEN(attributes), piece) &&
            !among(size_fields, ARRAY_LEN(size_fields), piece) &&
            !(runs && among(of_a_run, ARRAY_LEN(of_a_run), piece)))
            return false;
    return true;
}

static const char *field_of_owner(const char *fields)
{
    for (size_t i = 0; i < ARRAY_LEN(of_its_owner); i++)
        if (list_has(fields, of_its_owner[i]))
            return of_its_owner[i];
    return NULL;
}

/* Whoever else may change a job does not decide what runs in its owner's name, or which files are
 * written in it; root could be anybody anyway. */
enum refusal update_who_check(const struct core *c, const struct jobrec *r, const struct update *u,
                              const char **detail)
{
    const char *own = u->values ? field_of_owner(u->fields) : NULL;
    if (!own && u->values && list_has(u->fields, "name") &&
        strchr(u->values->name ? u->values->name : "", '/'))
        own = "name"; /* which %x in the name of a file may stand for */
    if (!may_manage(c, r))
        return REFUSE_ACCESS_DENIED;
    if (!own || may_act_as(c, r))
        return REFUSE_NONE;
    *detail = arena_printf(c->turn.fx->arena,
                           "\"%s\" decides what runs, or is written, in its owner's name: only its "
                           "owner and root may change it",
                           own);
    return REFUSE_ACCESS_DENIED;
}

const char *update_field_wrong(const char *fields, struct arena *a)
{
    struct span rest = span_of(fields), piece;
    while (fields && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(a, piece.data, piece.len);
        if (fields_find(&job_spec_fields, name) < 0 || among(fixed, ARRAY_LEN(fixed), piece))
            return name;
    }
    return NULL;
}
