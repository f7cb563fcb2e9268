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
