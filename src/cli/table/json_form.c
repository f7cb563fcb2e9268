#include "cli/table/json_form.h"

#include "base/alloc.h"
#include "wire/yaml.h"

#include <stdio.h>

SETTER(own_form_set)
{
    enum json_form *form = (enum json_form *)(void *)((char *)to + row->at);
    *form = text_is(row->name, "yaml") ? FORM_YAML : FORM_JSON;
    return true;
}

void json_form_print(const struct str *json, enum json_form form)
{
    struct str yaml = STR_INIT;
    if (form == FORM_YAML)
        CHECK(yaml_of_json(str_text(json), json->len, &yaml));
    const struct str *text = form == FORM_YAML ? &yaml : json;
    fwrite(str_text(text), 1, text->len, stdout);
    if (text->len && text->data[text->len - 1] != '\n')
        putchar('\n');
    str_done(&yaml);
}
