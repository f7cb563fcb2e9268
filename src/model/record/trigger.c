#include "model/record/trigger.h"

#include "base/alloc.h"

const struct trigger_event_row trigger_events[TRIGGER_EVENT_COUNT] = {
#define X(event, word, about, doc) {word, doc, TRIGGER_##about},
    TRIGGER_EVENTS(X)
#undef X
};

const struct int_range range_trigger_offset = {.min = -TRIGGER_OFFSET_MAX,
                                               .max = TRIGGER_OFFSET_MAX};
const struct int_range range_trigger_events = {.max = (1u << TRIGGER_EVENT_COUNT) - 1};

void trigger_events_add(uint32_t events, struct str *out)
{
    size_t before = out->len;
    for (size_t i = 0; i < TRIGGER_EVENT_COUNT; i++)
        if (events >> i & 1)
            str_addf(out, "%s%s", out->len > before ? "," : "", trigger_events[i].word);
}

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct trigger, , type, name, aux, doc)
static const struct field trigger_rows[] = {TRIGGER_FIELDS(ROW)};
const struct fields trigger_fields = {"trigger", sizeof(struct trigger), trigger_rows,
                                      ARRAY_LEN(trigger_rows)};
