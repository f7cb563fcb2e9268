/* What numbers may be. Whoever speaks to a daemon can put any number into a frame: here it is said
 * once what each may be, the wire refuses the rest, and a stored row that holds something else is
 * left out at the start. So what lies behind may add and multiply without fear, within these
 * bounds. */
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "model/fields.h"
#include "model/limits.h"

#include "base/alloc.h"

const struct int_range range_any32 = {.min = INT32_MIN, .max = INT32_MAX};
const struct int_range range_any64 = {.min = INT64_MIN, .max = INT64_MAX};
const struct int_range range_nodes = {.max = LIMIT_NODES};
const struct int_range range_tasks = {.max = LIMIT_TASKS};
const struct int_range range_cpus = {.max = LIMIT_CPUS_PER_NODE + 1}; /* some travel plus 1 */
const struct int_range range_signal = {.max = UINT16_MAX};
const struct int_range range_port = {.max = UINT16_MAX};
const struct int_range range_window = {.max = UINT16_MAX};
const struct int_range range_umask = {.max = UINT16_MAX};
const struct int_range range_mail = {.max = UINT16_MAX};
const struct int_range range_shares = {.max = UINT16_MAX};
const struct int_range range_assoc_shares = {.min = -2, .max = INT32_MAX};
const struct int_range range_limit = {.min = -1, .max = INT64_MAX / 4};
const struct int_range range_day = {.max = 86400};
const struct int_range range_resv = {.max = (1u << 24) - 1};
const struct int_range range_priority = {.max = INT64_MAX};
const struct int_range range_step = {.min = -3, .max = INT64_MAX / 2};
const struct int_range range_mem = {.min = -1, .max = FIELD_MIB_MAX};
const struct int_range range_change = {
    .min = -FIELD_SPAN_MAX, .max = FIELD_SPAN_MAX, .endless = true};
const struct int_range range_reader = {.min = -1, .max = LIMIT_TASKS};

static const struct int_range range_i32 = {.max = INT32_MAX};
static const struct int_range range_u32 = {.max = UINT32_MAX};
static const struct int_range range_i64 = {.max = INT64_MAX};
static const struct int_range range_u64 = {.max = UINT64_MAX};
static const struct int_range range_time = {.max = FIELD_TIME_MAX};
static const struct int_range range_span = {.max = FIELD_SPAN_MAX, .endless = true};
static const struct int_range range_mib = {.max = FIELD_MIB_MAX};

const struct int_range *field_range(const struct field *f)
{
    const struct int_range *own = f->aux;
    switch (f->type) {
    case FIELD_I32: return own ? own : &range_i32;
    case FIELD_U32: return own ? own : &range_u32;
    case FIELD_I64: return own ? own : &range_i64;
    case FIELD_U64: return own ? own : &range_u64;
    case FIELD_TIME: return own ? own : &range_time;
    case FIELD_SPAN: return own ? own : &range_span;
    case FIELD_MIB: return own ? own : &range_mib;
    case FIELD_BOOL:
    case FIELD_TEXT:
    case FIELD_ENUM:
    case FIELD_BLOB:
    case FIELD_LIST: break;
    }
    return NULL;
}

void range_say(const struct int_range *r, struct str *out)
{
    str_add_i64(out, r->min);
    str_add(out, " to ");
    str_add_u64(out, r->max);
    if (r->endless)
        str_addf(out, ", or %lld for no limit", (long long)TIME_UNLIMITED);
}

static bool out_of_range(const struct field *f, const struct int_range *r, bool is_signed,
                         uint64_t n, struct err *ret_err)
{
    ASSERT(r->min <= 0 || (uint64_t)r->min <= r->max);
    struct str allowed = STR_INIT;
    range_say(r, &allowed);
    if (is_signed)
        err_set(ret_err, ERR_INVALID, "%s: %lld is out of range, %s is allowed", f->name,
                (long long)n, str_text(&allowed));
    else
        err_set(ret_err, ERR_INVALID, "%s: %llu is out of range, %s is allowed", f->name,
                (unsigned long long)n, str_text(&allowed));
    str_done(&allowed);
    return false;
}

static bool signed_check(const struct field *f, int64_t n, struct err *ret_err)
{
    const struct int_range *r = field_range(f);
    if ((r->endless && n == TIME_UNLIMITED) || (n >= r->min && (n < 0 || (uint64_t)n <= r->max)))
        return true;
    return out_of_range(f, r, true, (uint64_t)n, ret_err);
}

static bool unsigned_check(const struct field *f, uint64_t n, struct err *ret_err)
{
    const struct int_range *r = field_range(f);
    return (n >= (uint64_t)r->min && n <= r->max) || out_of_range(f, r, false, n, ret_err);
}

static bool enum_check(const struct field *f, int32_t n, struct err *ret_err)
{
    const struct enum_names *names = f->aux;
    return (n >= 0 && (size_t)n < names->n) ||
           err_set(ret_err, ERR_INVALID, "%s: there is no value %d, the last is %zu", f->name, n,
                   names->n - 1);
}

static bool list_check(const struct field *f, const struct record_list *list, struct err *ret_err)
{
    const struct fields *t = f->aux;
    for (size_t i = 0; i < list->n; i++)
        if (!record_check(t, (const char *)list->v + i * t->size, ret_err))
            return err_prefix(ret_err, "%s", f->name);
    return true;
}

static bool field_check(const struct field *f, const void *p, struct err *ret_err)
{
    switch (f->type) {
    case FIELD_I32: return signed_check(f, *(const int32_t *)p, ret_err);
    case FIELD_U32: return unsigned_check(f, *(const uint32_t *)p, ret_err);
    case FIELD_U64: return unsigned_check(f, *(const uint64_t *)p, ret_err);
    case FIELD_I64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return signed_check(f, *(const int64_t *)p, ret_err);
    case FIELD_ENUM: return enum_check(f, *(const int32_t *)p, ret_err);
    case FIELD_LIST: return list_check(f, p, ret_err);
    case FIELD_BOOL:
    case FIELD_TEXT:
    case FIELD_BLOB: break;
    }
    return true;
}

bool record_check(const struct fields *t, const void *record, struct err *ret_err)
{
    for (size_t i = 0; i < t->n; i++)
        if (!field_check(&t->field[i], field_ptr(&t->field[i], record), ret_err))
            return false;
    return true;
}
