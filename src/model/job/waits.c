#include "model/job/waits.h"

#include "base/duration.h"
#include "base/list.h"

#include <string.h>

void waits_add(struct str *list, const char *cause, int64_t seconds)
{
    list_addf(list, "%s=%lld", cause, (long long)seconds);
}

bool waits_next(struct span *rest, struct span *ret_cause, int64_t *ret_seconds)
{
    struct span piece;
    while (span_next(rest, ',', &piece)) {
        char digits[24] = "";
        if (!span_next(&piece, '=', ret_cause) || !piece.data || piece.len >= sizeof digits)
            continue;
        memcpy(digits, piece.data, piece.len);
        if (text_to_i64(digits, 0, INT64_MAX / USEC_PER_SEC, ret_seconds))
            return true;
    }
    return false;
}
