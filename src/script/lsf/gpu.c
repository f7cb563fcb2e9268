/* bsub -gpu "K=V:K=V". */
#include "script/lsf/lsf.h"
#include "script/lsf/term.h"

#include "base/alloc.h"

#include <string.h>

static bool gpu_refuse(const char *whole, struct span piece, const char *allowed, struct err *e)
{
    return dialect_blame(e, "-gpu", whole, "\"%.*s\": %s", SPAN_QUOTED(piece), allowed);
}

/* "4", "2/task", "2/host". */
static bool gpu_num(struct lsf_request *r, struct span value)
{
    const char *slash = memchr(value.data, '/', value.len);
    struct span n = {value.data, slash ? (size_t)(slash - value.data) : value.len};
    struct span per = {slash ? slash + 1 : "host", slash ? value.len - n.len - 1 : 4};
    r->gpus_per_task = span_is_nocase(per, "task");
    return (r->gpus_per_task || span_is_nocase(per, "host")) &&
           lsf_count_read(n, 1 << 16, &r->gpus);
}

/* "NVIDIAV100", "V100-32G": a type, and how much memory the device has. */
static bool gpu_model(struct lsf_request *r, struct span value, struct arena *a)
{
    const char *dash = memrchr(value.data, '-', value.len);
    int64_t kib;
    if (dash) {
        struct span mem = {dash + 1, value.len - (size_t)(dash - value.data) - 1};
        if (mem.len > 1 && lsf_size_read(mem, 1024 * 1024, &kib)) {
            r->gpu_mem_mib = kib / 1024;
            value.len = (size_t)(dash - value.data);
        }
    }
    r->gpu_type = arena_strndup(a, value.data, value.len);
    return lsf_is_feature(value);
}

/* "3", "3/2" */
static bool gpu_mig(struct lsf_request *r, struct span value)
{
    struct span slices;
    span_next(&value, '/', &slices);
    r->mig_compute = 0;
    return lsf_count_read(slices, 16, &r->mig_slices) &&
           (!value.data || lsf_count_read(value, 16, &r->mig_compute));
}

static bool gpu_key(struct lsf_request *r, const char *whole, const struct lsf_term *t,
                    struct arena *a, struct err *e)
{
    int64_t kib;
    struct span one = t->value;
    if (span_is_nocase(t->name, "num"))
        return gpu_num(r, one) || gpu_refuse(whole, one, "N, N/host and N/task are allowed", e);
    if (span_is_nocase(t->name, "mode")) {
        if (!span_is_nocase(one, "shared") && !span_is_nocase(one, "exclusive_process"))
            return gpu_refuse(whole, one, "shared and exclusive_process are allowed", e);
        lsf_note(r, a, "-gpu mode", "a job always has its GPUs for itself");
        return true;
    }
    if (span_is_nocase(t->name, "mps"))
        return span_is_nocase(one, "no") ||
               dialect_refuse(e, "-gpu mps", "start nvidia-cuda-mps-control in the script");
    if (span_is_nocase(t->name, "j_exclusive"))
        return span_is_nocase(one, "yes") || span_is_nocase(one, "no") ||
               gpu_refuse(whole, one, "yes and no are allowed", e);
    if (span_is_nocase(t->name, "gmodel"))
        return gpu_model(r, one, a) || gpu_refuse(whole, one, "a model of GPUs is needed", e);
    if (span_is_nocase(t->name, "mig"))
        return gpu_mig(r, one) ||
               gpu_refuse(whole, one, "slices of an instance are needed: 3, or 3/2", e);
    if (span_is_nocase(t->name, "gmem")) {
        if (!lsf_size_read(one, r->site->lsf_resource_kib, &kib))
            return gpu_refuse(whole, one, "a size is needed, as 16G", e);
        r->gpu_mem_mib = (kib + 1023) / 1024;
        return true;
    }
    if (span_is_nocase(t->name, "gtile") && (span_is(one, "!") || span_is(one, "'!'"))) {
        lsf_note(r, a, "-gpu gtile='!'", "gtile=N says how many GPUs of each socket");
        return true;
    }
    if (span_is_nocase(t->name, "gtile"))
        return lsf_count_read(one, 1 << 10, &r->gpus_per_socket) ||
               gpu_refuse(whole, one, "a number of GPUs a socket is needed", e);
    if (span_is_nocase(t->name, "gvendor")) {
        lsf_note(r, a, "-gpu gvendor", "the model says it: gmodel=TYPE");
        return true;
    }
    if (lsf_name_is_one_of(t->name, "glink aff block gpack")) {
        lsf_note(r, a, arena_printf(a, "-gpu %.*s", (int)t->name.len, t->name.data),
                 "GPUs near each other are taken where there are such");
        return true;
    }
    return gpu_refuse(
        whole, t->name,
        "no such key; num, mode, mps, j_exclusive, gmodel, gmem, gtile and mig are known", e);
}

bool lsf_gpu_read(struct lsf_request *r, const char *text, struct arena *a, struct err *ret_err)
{
    struct span rest = span_of(text), one;
    r->gpus = 1;
    r->gpus_per_task = false;
    if (text_is(text, "-"))
        return true;
    while (span_next(&rest, ':', &one)) {
        struct lsf_term t;
        if (!lsf_term_split(span_trim(one), &t) || !text_is(t.op, "="))
            return gpu_refuse(text, one, "KEY=VALUE is needed: num=1:mode=shared", ret_err);
        if (!gpu_key(r, text, &t, a, ret_err))
            return false;
    }
    return true;
}
