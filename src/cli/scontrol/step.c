/* scontrol show step: every field in Slurm's order and words. */
#include "base/duration.h"
#include "base/list.h"
#include "base/vec.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/record/columns_step.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct step_found {
    struct arena *a;
    VEC(const struct step *) step;
};

static void step_keep(void *ctx, const void *record)
{
    struct step_found *f = ctx;
    vec_push(&f->step, arena_dup(f->a, record, sizeof(struct step)));
}

/* The resources as Slurm sorts those of steps: by name. */
static const char *tres_sorted(const struct step *p, struct arena *a)
{
    static const char *const kinds[] = {"cpu", "gres/", "mem", "node"};
    struct str all = STR_INIT, sorted = STR_INIT;
    step_cell_tres(p, 0, 0, &all);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct span rest = span_of(str_text(&all)), one;
        while (span_next(&rest, ',', &one))
            if (strncmp(one.data, kinds[i], strlen(kinds[i])) == 0)
                list_addf(&sorted, "%.*s", (int)one.len, one.data);
    }
    const char *text = arena_strdup(a, str_text(&sorted));
    str_done(&all);
    str_done(&sorted);
    return text;
}

/* "BCyclic" for block:cyclic: the first letter of the first part, the rest in full. */
static const char *dist_text(const struct step *p, struct arena *a)
{
    static const char *const word[] = {"block", "cyclic", "fcyclic"}, *const said[] = {"Block",
                                                                                       "Cyclic",
                                                                                       "FCyclic"};
    struct span parts = span_of(p->distribution ? p->distribution : ""), places = {0}, part;
    struct str out = STR_INIT;
    if (text_is(p->distribution, "arbitrary"))
        return "arbitrary task distribution";
    if (p->distribution && text_starts(p->distribution, "plane"))
        return "Plane";
    span_next(&parts, ',', &places);
    bool whole = !places.len || !memchr(places.data, ':', places.len), first = true;
    for (; span_next(&places, ':', &part); first = false) {
        size_t i = 0;
        while (i < ARRAY_LEN(word) && !span_is_nocase(part, word[i]))
            i++;
        const char *name = i < ARRAY_LEN(word) ? said[i]
                           : first             ? p->ntasks <= p->node_count ? "Cyclic" : "Block"
                                               : "Cyclic";
        str_addf(&out, "%.*s", first && !whole ? 1 : (int)strlen(name), name);
    }
    if (!out.len)
        str_add(&out, p->ntasks <= p->node_count ? "Cyclic" : "Block");
    if (span_next(&parts, ',', &part))
        str_add(&out, span_is_nocase(part, "pack") ? ",Pack" : ",NoPack");
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

/* "High" for high; numbers, in kHz, as they stand. */
static const char *freq_word(struct span word, struct arena *a)
{
    static const char *const said[] = {"Low",          "Medium",      "High",      "HighM1",
                                       "Conservative", "Performance", "PowerSave", "OnDemand",
                                       "UserSpace",    "SchedUtil"};
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        if (span_is_nocase(word, said[i]))
            return said[i];
    return arena_strndup(a, word.data, word.len);
}

static void freq_add(struct record_text *r, const struct step *p, struct arena *a)
{
    struct span rest = span_of(p->cpu_freq ? p->cpu_freq : ""), range, low, governor;
    if (!rest.len) {
        record_add(r, "CPUFreqReq", "Default");
        return;
    }
    span_next(&rest, ':', &range);
    governor = rest;
    span_next(&range, '-', &low);
    bool number = isdigit((unsigned char)low.data[0]);
    const char *word = freq_word(low, a);
    if (range.len) {
        record_add(r, "CPU_min_freq", word);
        record_add(r, "CPU_max_freq", freq_word(range, a));
    } else if (number || text_is(word, "Low") || text_is(word, "Medium") ||
               text_starts(word, "High")) {
        record_add(r, "CPU_max_freq", word);
    } else {
        governor = low;
    }
    if (governor.len)
        record_add(r, "Governor", freq_word(governor, a));
}

static void asked_lines(struct record_text *r, const struct step *p, bool details, struct arena *a)
{
    struct job_request asked = {.gres = text_is(p->gres_asked, "none") ? NULL : p->gres_asked,
                                .gpus = p->gpus,
                                .gpus_per_node = p->gpus_per_node,
                                .gpus_per_socket = p->gpus_per_socket,
                                .gpus_per_task = p->gpus_per_task,
                                .cpus_per_gpu = p->cpus_per_gpu,
                                .mem_per_gpu_mib = p->mem_per_gpu_mib};
    record_break(r);
    record_add(r, "ResvPorts",
               details && p->master_port ? arena_printf(a, "%d", p->master_port) : NULL);
    record_break(r);
    freq_add(r, p, a);
    if (p->step_id >= 0)
        record_add(r, "Dist", dist_text(p, a));
    record_break(r);
    record_addf(r, "SrunHost:Pid", "%s:%u", p->command_host ? p->command_host : "(null)",
                p->command_pid);
    scontrol_gpu_lines(r, &asked, p->gpu_bind, "TresPerStep");
}

static void step_print(struct scontrol *s, const struct step *p, const struct cell_env *env)
{
    struct record_text r;
    struct str id = STR_INIT, text = STR_INIT;
    record_begin(&r, s->oneliner);
    step_cell_label(p, &id);
    record_add(&r, "StepId", str_text(&id));
    record_addf(&r, "UserId", "%u", p->user_id);
    record_add(&r, "StartTime", cell_time_text(env, p->start_us, "Unknown", s->a));
    str_clear(&text);
    if (p->limit_us)
        duration_format(p->limit_us, &text);
    record_add(&r, "TimeLimit", text.len ? str_text(&text) : "UNLIMITED");
    record_break(&r);
    record_add(&r, "State", enum_name(&job_state_names, p->state));
    record_add(&r, "Partition", p->partition);
    record_add(&r, "NodeList", p->nodes);
    record_break(&r);
    record_addf(&r, "Nodes", "%d", p->node_count);
    record_addf(&r, "CPUs", "%d", p->cpus);
    record_addf(&r, "Tasks", "%d", p->ntasks);
    record_add(&r, "Name", p->step_name);
    record_add(&r, "Network", NULL);
    record_break(&r);
    record_add(&r, "TRES", tres_sorted(p, s->a));
    asked_lines(&r, p, s->details, s->a);
    record_print(&r);
    str_done(&id);
    str_done(&text);
}

static void step_json(struct json_out *o, const struct step *p)
{
    struct str id = STR_INIT, tres = STR_INIT;
    step_cell_label(p, &id);
    step_cell_tres(p, 0, 0, &tres);
    json_object(o);
    json_key_text(o, "id", str_text(&id));
    json_key_text(o, "name", p->step_name ? p->step_name : "");
    json_key_words(o, "state", enum_name(&job_state_names, p->state), NULL);
    json_key_text(o, "partition", p->partition ? p->partition : "");
    json_key_i64(o, "user_id", p->user_id);
    json_key_time(o, "start_time", p->start_us);
    json_key_limit(o, "time_limit", p->limit_us, 60 * USEC_PER_SEC);
    json_key_text(o, "nodes", p->nodes ? p->nodes : "");
    json_key_i64(o, "number_nodes", p->node_count);
    json_key_i64(o, "number_cpus", p->cpus);
    json_key_i64(o, "number_tasks", p->ntasks);
    json_key_text(o, "tres", str_text(&tres));
    json_object_end(o);
    str_done(&id);
    str_done(&tres);
}

static void steps_json(const struct step_found *f, enum json_form form)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "scontrol");
    json_key(&o, "steps");
    json_array(&o);
    for (size_t i = 0; i < f->step.n; i++)
        step_json(&o, f->step.v[i]);
    json_array_end(&o);
    json_key_time(&o, "last_update", time_now_us());
    json_slurm_end(&o, form);
}

static void step_missing(struct scontrol *s, const char *ids)
{
    printf("Job step %s%s not found\n", ids, strchr(ids, '.') ? "" : ".");
    s->rc = 1;
}

void scontrol_show_steps(struct scontrol *s, const char *ids)
{
    struct client *c = scontrol_connect(s, "slurm_get_job_steps error");
    struct step_found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_STEPS, .ids = ids};
    struct msg_done done = {0};
    struct err err = {0};
    struct cell_env env = listing_env();
    if (!c)
        return;
    if (!client_query(c, &q, &step_fields, s->a, step_keep, &f, &done, &err))
        scontrol_fail(s, "slurm_get_job_steps error: %s", err.text);
    else if (done.refusal != REFUSE_NONE)
        step_missing(s, ids);
    else if (s->json)
        steps_json(&f, s->json);
    for (size_t i = 0; !s->json && i < f.step.n; i++)
        step_print(s, f.step.v[i], &env);
    bool none = !s->rc && !f.step.n && !s->json; /* an empty list says it by itself */
    if (none && ids)
        step_missing(s, ids);
    else if (none)
        puts("No job steps in the system");
    vec_done(&f.step);
}
