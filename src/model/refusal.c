#include "model/refusal.h"

#include "base/alloc.h"

#define NAME(code, text) [REFUSE_##code] = #code,
static const char *const names[] = {REFUSALS(NAME)};
#undef NAME
const struct enum_names refusal_names = {names, ARRAY_LEN(names)};

#define TEXT(code, text) [REFUSE_##code] = text,
static const char *const texts[] = {REFUSALS(TEXT)};
#undef TEXT

static const char *const leads[REFUSAL_COUNT] = {
    [REFUSE_NODE_CPUS] = "CPU count per node can not be satisfied",
    [REFUSE_NODE_MEMORY] = "Memory specification can not be satisfied",
    [REFUSE_NODE_DISK] = "Temporary disk specification can not be satisfied",
    [REFUSE_NODE_SOCKETS] = "Socket, core and/or thread specification can not be satisfied",
};

const char *refusal_lead(enum refusal r)
{
    return (unsigned)r < REFUSAL_COUNT ? leads[r] : NULL;
}

const char *refusal_text(enum refusal r)
{
    return (unsigned)r < REFUSAL_COUNT ? texts[r] : "Unspecified error";
}
