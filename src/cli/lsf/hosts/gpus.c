/* The GPUs of a host, as bhosts, lsload and nodestat show them. */
#include "base/idset.h"
#include "cli/lsf/overview.h"
#include "model/grammar/gres.h"

#include <string.h>

int64_t lsf_gpus_of(const struct node *n, struct arena *a)
{
    struct gres_list list;
    return n->gres && gres_parse(n->gres, a, &list, NULL) ? gres_count(&list, "gpu") : 0;
}

/* Of "gpu:v100:2(IDX:0-1),…". */
void lsf_gpus_used(const struct node *n, struct idset *used)
{
    for (const char *at = n->alloc_gres; at && (at = strstr(at, "gpu"));) {
        const char *open = strstr(at, "(IDX:"), *close = open ? strchr(open, ')') : NULL;
        char list[512];
        struct idset some = IDSET_INIT;
        uint32_t index;
        if (!close)
            return;
        size_t len = (size_t)(close - open) - 5;
        if (len < sizeof list) {
            memcpy(list, open + 5, len);
            list[len] = 0;
            if (idset_parse(&some, list, 65535, NULL))
                for (bool more = idset_first(&some, &index); more;
                     more = idset_next(&some, index, &index))
                    idset_add(used, index);
        }
        idset_done(&some);
        at = close;
    }
}

void lsf_gpus_add(struct lsf_overview *o, const struct node *n)
{
    struct gres_list list;
    struct idset used = IDSET_INIT;
    uint32_t index = 0;
    const char *name = n->name;
    lsf_gpus_used(n, &used);
    if (n->gres && gres_parse(n->gres, o->a, &list, NULL))
        for (size_t i = 0; i < list.n; i++) {
            if (!text_is(list.item[i].kind, "gpu"))
                continue;
            for (int64_t k = 0; k < list.item[i].count && index < 65536; k++, index++) {
                bool busy = idset_has(&used, index);
                str_addf(&o->out, "%-18s %6u %-20s %7s %7s %5d %5d %5d %5d\n", name, index,
                         list.item[i].type ? list.item[i].type : "gpu", "-", "-", busy, busy, 0, 0);
                name = ""; /* LSF shows it once */
            }
        }
    idset_done(&used);
}

void lsf_gpu_head(struct lsf_overview *o)
{
    if (!o->noheader)
        str_add(&o->out,
                "HOST_NAME          GPU_ID MODEL                  MUSED    MRSV NJOBS   RUN  "
                "SUSP   RSV\n");
}
