#include "model/record/record_plain.h"

#include "base/plain.h"

static void text_plain(const char **text, struct arena *a)
{
    struct str s = STR_INIT;
    if (text_is_plain(*text))
        return;
    str_add_plain(&s, *text);
    *text = arena_strdup(a, str_text(&s));
    str_done(&s);
}

static void list_plain(const struct fields *t, struct record_list *list, struct arena *a)
{
    for (size_t i = 0; i < list->n; i++)
        record_plain(t, (char *)list->v + i * t->size, a);
}

void record_plain(const struct fields *t, void *record, struct arena *a)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        if (f->type == FIELD_TEXT)
            text_plain(field_ptr(f, record), a);
        else if (f->type == FIELD_LIST)
            list_plain(f->aux, field_ptr(f, record), a);
    }
}
