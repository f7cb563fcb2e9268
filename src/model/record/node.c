#include "model/record/node.h"

#include "base/alloc.h"
#include "base/str.h"

static const char *const states[] = {
    [NODE_UNKNOWN] = "UNKNOWN", [NODE_UP] = "UP", [NODE_DOWN] = "DOWN", [NODE_FUTURE] = "FUTURE"};
const struct enum_names node_state_names = {states, ARRAY_LEN(states)};

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct node, , type, name, aux, doc)
static const struct field rows[] = {NODE_FIELDS(ROW)};
const struct fields node_fields = {"node", sizeof(struct node), rows, ARRAY_LEN(rows)};

enum base_word { BASE_UNKNOWN, BASE_IDLE, BASE_MIXED, BASE_ALLOCATED, BASE_DOWN, BASE_FUTURE };

static enum base_word base_of(const struct node *n)
{
    if (n->state == NODE_DOWN)
        return BASE_DOWN;
    if (n->state == NODE_FUTURE)
        return BASE_FUTURE;
    if (n->state != NODE_UP)
        return BASE_UNKNOWN;
    if (n->alloc_cpus <= 0) /* jobs that are suspended have none */
        return BASE_IDLE;
    return n->alloc_cpus >= n->cpus - n->core_spec ? BASE_ALLOCATED : BASE_MIXED;
}

static void control_word(const struct node *n, enum base_word base, struct str *out)
{
    static const char *const words[] = {"UNKNOWN", "IDLE", "MIXED", "ALLOCATED", "DOWN", "FUTURE"};
    ASSERT((size_t)base < ARRAY_LEN(words));
    str_add(out, words[base]);
    if (n->jobs_cleaning)
        str_add(out, "+COMPLETING");
    if (n->drain)
        str_add(out, "+DRAIN");
    if (n->fail)
        str_add(out, "+FAIL");
    if (n->maint)
        str_add(out, "+MAINTENANCE");
    if (n->reserved)
        str_add(out, "+RESERVED");
    if (n->planned && base == BASE_IDLE)
        str_add(out, "+PLANNED");
    if (!n->responding && base != BASE_FUTURE && base != BASE_UNKNOWN)
        str_add(out, "+NOT_RESPONDING");
}

struct word_pair {
    const char *longer, *compact;
};

/* One word stands for base and flags, the gravest first: sinfo(1), NODE STATE CODES. */
static struct word_pair listing_word(const struct node *n, enum base_word base)
{
    static const struct word_pair words[] = {{"unknown", "unk"}, {"idle", "idle"},
                                             {"mixed", "mix"},   {"allocated", "alloc"},
                                             {"down", "down"},   {"future", "futr"}};
    bool busy = n->alloc_cpus > 0 || n->jobs > 0; /* those are there that are suspended, too */
    if (base == BASE_FUTURE)
        return words[base];
    if (n->drain)
        return busy ? (struct word_pair){"draining", "drng"}
                    : (struct word_pair){"drained", "drain"};
    if (n->fail)
        return busy ? (struct word_pair){"failing", "failg"} : (struct word_pair){"fail", "fail"};
    if (base == BASE_DOWN)
        return words[base];
    if (n->maint)
        return (struct word_pair){"maint", "maint"};
    if (n->jobs_cleaning && base == BASE_IDLE)
        return (struct word_pair){"completing", "comp"};
    if (n->reserved && base == BASE_IDLE)
        return (struct word_pair){"reserved", "resv"};
    if (n->planned && base == BASE_IDLE)
        return (struct word_pair){"planned", "plnd"};
    return words[base];
}

void node_state_word(const struct node *n, enum node_word form, struct str *out)
{
    ASSERT(form <= NODE_WORD_COMPACT);
    enum base_word base = base_of(n);
    if (form == NODE_WORD_CONTROL) {
        control_word(n, base, out);
        return;
    }
    struct word_pair words = listing_word(n, base);
    str_add(out, form == NODE_WORD_LONG ? words.longer : words.compact);
    if (!n->responding && base != BASE_FUTURE)
        str_addc(out, '*');
}
