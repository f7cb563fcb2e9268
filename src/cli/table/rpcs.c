#include "cli/table/rpcs.h"

#include "base/duration.h"
#include "cli/program/room.h"

#include <stdio.h>
#include <time.h>

long long diag_mean(int64_t sum, uint64_t n)
{
    return n ? (long long)(sum / (int64_t)n) : 0;
}

static int64_t sort_value(const struct rpc_count *r, int sort)
{
    return sort == 'i'   ? -(int64_t)r->number
           : sort == 't' ? (int64_t)r->us
           : sort == 'T' ? diag_mean((int64_t)r->us, r->count)
                         : (int64_t)r->count;
}

/* Few rows. */
static void rpcs_sort(rpc_vec *list, int sort)
{
    for (size_t i = 1; i < list->n; i++)
        for (size_t k = i;
             k > 0 && sort_value(&list->v[k], sort) > sort_value(&list->v[k - 1], sort); k--) {
            struct rpc_count swap = list->v[k];
            list->v[k] = list->v[k - 1];
            list->v[k - 1] = swap;
        }
}

void rpcs_read(const char *text, int sort, struct arena *a, rpc_vec *ret)
{
    struct span rest = span_of(text);
    struct rpc_count one;
    while (rpc_counts_next(&rest, a, &one))
        vec_push(ret, one);
    rpcs_sort(ret, sort);
}

void rpc_end_print(const struct rpc_count *r)
{
    printf(" count:%-6llu ave_time:%-6lld total_time:%llu\n", (unsigned long long)r->count,
           diag_mean((int64_t)r->us, r->count), (unsigned long long)r->us);
}

void diag_time_print(const char *label, int64_t us)
{
    time_t at = (time_t)(us / USEC_PER_SEC);
    struct tm local;
    char text[64] = "N/A";
    if (us) {
        local_time(at, &local);
        strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &local);
    }
    printf("%s%s (%lld)\n", label, text, (long long)at);
}
