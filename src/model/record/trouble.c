#include "model/record/trouble.h"

#include "base/alloc.h"

const struct store_trouble_row store_trouble_rows[TROUBLE_COUNT] = {
#define X(trouble, passes, found, way) [TROUBLE_##trouble] = {#trouble, passes, found, way},
    STORE_TROUBLES(X)
#undef X
};

void trouble_say(enum store_trouble t, const char *path, const char *detail, struct str *out)
{
    ASSERT((unsigned)t < TROUBLE_COUNT);
    const struct store_trouble_row *row = &store_trouble_rows[t];
    str_addf(out, "%s %s", path, row->found);
    if (!text_empty(detail))
        str_addf(out, " (%s)", detail);
    str_addf(out, ": %s", row->way);
}
