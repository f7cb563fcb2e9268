/* scontrol update JobId=… Gres=, TresPerNode= and its kin: what a waiting job asks of GPUs and
 * other generic resources, as `scontrol show job` shows it. A key has the kind's name before the
 * number (gres/gpu:2, gpu:2), where the option of sbatch has the number alone; NONE, "" and 0 ask
 * for nothing. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/scontrol/update.h"
#include "model/grammar/gres.h"
#include "model/limits.h"

#include <string.h>

#define GRES_REFUSED "Invalid generic resource (gres) specification"

/* Slurm's sentence of the job that is named, before ours. */
static bool refuse(struct update_change *c, const char *sentence)
{
    scontrol_refuse(c->s, "%s for job %s", sentence, c->job.ids ? c->job.ids : "");
    return false;
}

bool update_job_gres(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!gres_asked(&value, c->s->a, ret_err))
        return refuse(c, GRES_REFUSED);
    c->spec.req.gres = value;
    return update_field(c, "gres,gpus_per_node");
}

/* "gres/gpu:v100:2", "gpu:2", "gres/gpu=2": what stands behind the kind, "v100:2"; NULL where it is
 * of another kind. */
static const char *gpu_part(struct span piece, struct arena *a)
{
    char *text = arena_strndup(a, piece.data, piece.len), *equals = strchr(text, '=');
    if (equals)
        *equals = ':';
    const char *at = text;
    if (text_starts_nocase(at, "gres/") || text_starts_nocase(at, "gres:"))
        at += strlen("gres/");
    if (text_is_nocase(at, "gpu"))
        return "1";
    return text_starts_nocase(at, "gpu:") ? at + strlen("gpu:") : NULL;
}

/* The list of GPUs as --gpus has it; NULL where none are asked for. */
static bool gpus_read(struct update_change *c, const char *value, const char **ret,
                      struct err *ret_err)
{
    struct gres_list list;
    struct span rest = span_of(value), piece;
    struct str gpus = STR_INIT;
    bool ok = true;
    while (ok && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        const char *part = gpu_part(piece, c->s->a);
        if (part)
            list_addf(&gpus, "%s", part);
        else if (piece.len && !span_is_nocase(piece, "none"))
            ok = err_set(ret_err, ERR_INVALID,
                         "\"%.60s\" is no number of GPUs, as in gres/gpu:2 or gres/gpu:v100:2; "
                         "Gres= is of other resources",
                         value);
    }
    *ret = arena_strdup(c->s->a, str_text(&gpus));
    str_done(&gpus);
    ok = ok && gres_last_counts(ret, "gpu", c->s->a, ret_err) &&
         gres_parse_gpus(*ret, c->s->a, &list, ret_err);
    *ret = ok && list.n ? *ret : NULL;
    return ok || refuse(c, GRES_REFUSED);
}

bool update_job_gpus(struct update_change *c, const char *value, struct err *ret_err)
{
    return gpus_read(c, value, &c->spec.req.gpus, ret_err) && update_field(c, "gpus");
}

bool update_job_gpus_per_socket(struct update_change *c, const char *value, struct err *ret_err)
{
    return gpus_read(c, value, &c->spec.req.gpus_per_socket, ret_err) &&
           update_field(c, "gpus_per_socket");
}

bool update_job_gpus_per_task(struct update_change *c, const char *value, struct err *ret_err)
{
    return gpus_read(c, value, &c->spec.req.gpus_per_task, ret_err) &&
           update_field(c, "gpus_per_task");
}

/* "gres/gpu:4": the number; 0 where there is none. */
static bool each_gpu_read(struct update_change *c, const char *value, int64_t most, int64_t *ret,
                          struct err *ret_err)
{
    const char *part = gpu_part(span_trim(span_of(value)), c->s->a);
    *ret = 0;
    if (text_empty(value) || text_is_nocase(value, "none"))
        return true;
    if (part && text_to_i64(part, 0, most, ret))
        return true;
    err_set(ret_err, ERR_INVALID, "a number for each GPU is expected, as in gres/gpu:4, not \"%s\"",
            value);
    return refuse(c, GRES_REFUSED);
}

bool update_job_cpus_per_gpu(struct update_change *c, const char *value, struct err *ret_err)
{
    int64_t n;
    if (!each_gpu_read(c, value, LIMIT_CPUS_PER_NODE, &n, ret_err))
        return false;
    c->spec.req.cpus_per_gpu = (int32_t)n;
    return update_field(c, "cpus_per_gpu");
}

bool update_job_mem_per_gpu(struct update_change *c, const char *value, struct err *ret_err)
{
    return each_gpu_read(c, value, INT32_MAX, &c->spec.req.mem_per_gpu_mib, ret_err) &&
           update_field(c, c->spec.req.mem_per_gpu_mib
                               ? "mem_per_gpu_mib,mem_per_cpu_mib,mem_per_node_mib"
                               : "mem_per_gpu_mib");
}
