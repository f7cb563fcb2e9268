#include "model/record/partition.h"

#include "base/alloc.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const char *const states[] = {
    [PART_UP] = "UP", [PART_DOWN] = "DOWN", [PART_DRAIN] = "DRAIN", [PART_INACTIVE] = "INACTIVE"};
static const char *const shares[] = {[SHARE_NO] = "NO",
                                     [SHARE_EXCLUSIVE] = "EXCLUSIVE",
                                     [SHARE_YES] = "YES",
                                     [SHARE_FORCE] = "FORCE"};
static const char *const modes[] = {
    [PREEMPT_UNSET] = "CLUSTER",   [PREEMPT_OFF] = "OFF",         [PREEMPT_CANCEL] = "CANCEL",
    [PREEMPT_REQUEUE] = "REQUEUE", [PREEMPT_SUSPEND] = "SUSPEND", [PREEMPT_GANG] = "GANG"};
static const char *const policies[] = {[LIMITS_PEND] = "PEND",
                                       [LIMITS_REFUSE] = "REFUSE",
                                       [LIMITS_CLAMP] = "CLAMP",
                                       [LIMITS_ALL] = "ALL"};
const struct enum_names part_state_names = {states, ARRAY_LEN(states)};
const struct enum_names part_share_names = {shares, ARRAY_LEN(shares)};
const struct enum_names preempt_mode_names = {modes, ARRAY_LEN(modes)};
const struct enum_names limit_policy_names = {policies, ARRAY_LEN(policies)};

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct partition, , type, name, aux, doc)
static const struct field rows[] = {PARTITION_FIELDS(ROW)};
const struct fields partition_fields = {"partition", sizeof(struct partition), rows,
                                        ARRAY_LEN(rows)};

int64_t partition_per_type(const char *types, const char *type, int64_t otherwise)
{
    struct span rest = span_of(types), piece;
    while (type && span_next(&rest, ',', &piece)) {
        const char *equals = piece.len ? memchr(piece.data, '=', piece.len) : NULL;
        struct span name = {piece.data, equals ? (size_t)(equals - piece.data) : 0};
        if (equals && span_is_nocase(name, type))
            return strtoll(equals + 1, NULL, 10);
    }
    return otherwise;
}

/* "a100=16,v100=8" as a line of the configuration has it: ",a100:16,v100:8" */
static const char *types_text(const char *types, struct arena *a)
{
    char *text = types ? arena_printf(a, ",%s", types) : arena_strdup(a, "");
    for (char *c = text; *c; c++)
        *c = *c == '=' ? ':' : *c;
    return text;
}

const char *partition_job_defaults(const struct partition *p, struct arena *a)
{
    bool cpus = p->def_cpu_per_gpu || p->def_cpu_per_gpu_types;
    bool memory = p->def_mem_per_gpu_mib || p->def_mem_per_gpu_types;
    const char *said =
        cpus ? arena_printf(a, "DefCpuPerGPU=%d%s%s", p->def_cpu_per_gpu,
                            types_text(p->def_cpu_per_gpu_types, a), memory ? "," : "")
             : "";
    if (memory)
        said = arena_printf(a, "%sDefMemPerGPU=%lld%s", said, (long long)p->def_mem_per_gpu_mib,
                            types_text(p->def_mem_per_gpu_types, a));
    return *said ? said : NULL;
}
