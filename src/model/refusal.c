#include "model/refusal.h"

#include "base/alloc.h"

#define NAME(code, text) [REFUSE_##code] = #code,
static const char *const names[] = {REFUSALS(NAME)};
#undef NAME
const struct enum_names refusal_names = {names, ARRAY_LEN(names)};

#define TEXT(code, text) [REFUSE_##code] = text,
static const char *const texts[] = {REFUSALS(TEXT)};
#undef TEXT

const char *refusal_text(enum refusal r)
{
    return (unsigned)r < REFUSAL_COUNT ? texts[r] : "Unspecified error";
}
