#include "model/record/used.h"

#include "base/alloc.h"
#include "base/str.h"

#define STRUCTURE                 struct used
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)
static const struct field used_rows[] = {USED_BY_FIELDS(ROW) USED_FIELDS(ROW)};
const struct fields used_fields = {"used", sizeof(struct used), used_rows, ARRAY_LEN(used_rows)};
#undef STRUCTURE
#define STRUCTURE struct used_hour
static const struct field used_hour_rows[] = {USED_HOUR_FIELDS(ROW)};
const struct fields used_hour_fields = {"used_hour", sizeof(struct used_hour), used_hour_rows,
                                        ARRAY_LEN(used_hour_rows)};
#undef STRUCTURE
#define STRUCTURE struct node_spell
static const struct field node_spell_rows[] = {NODE_SPELL_FIELDS(ROW)};
const struct fields node_spell_fields = {"node_spell", sizeof(struct node_spell), node_spell_rows,
                                         ARRAY_LEN(node_spell_rows)};

/* No name has this character. */
#define BETWEEN '\x1f'

struct used_hour used_hour_of(const struct used *u, struct str *who)
{
    const char *const by[] = {u->account, u->user_name, u->partition,
                              u->qos,     u->wckey,     u->reservation};
    str_clear(who);
    for (size_t i = 0; i < ARRAY_LEN(by); i++) {
        str_add(who, by[i] ? by[i] : "");
        str_addc(who, BETWEEN);
    }
    str_addf(who, "%d", u->job_cpus);
    struct used_hour h = {.who = str_text(who)};
#define COPY(type, name, aux, doc) h.name = u->name;
    USED_BY_FIELDS(COPY)
    USED_FIELDS(COPY)
#undef COPY
    return h;
}

struct used used_of_hour(const struct used_hour *h)
{
    return (struct used){
#define COPY(type, name, aux, doc) .name = h->name,
        USED_BY_FIELDS(COPY) USED_FIELDS(COPY)
#undef COPY
    };
}
