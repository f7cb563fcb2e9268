/* In which form a document for programs is printed: --json, --yaml. */
#ifndef REMUDA_CLI_TABLE_JSON_FORM_H
#define REMUDA_CLI_TABLE_JSON_FORM_H

#include "base/str.h"
#include "script/options/option.h"

#include <stddef.h>

/* FORM_TABLE: for people. FORM_LIST: Slurm's --json=list. */
enum json_form { FORM_TABLE, FORM_JSON, FORM_YAML, FORM_LIST };

/* Rows of remuda's own commands: their line has a member `json`, an enum json_form. */
#define OWN_JSON(type, doc_)                                                                       \
    {                                                                                              \
        .name = "json", .doc = doc_, .set = own_form_set, .at = offsetof(type, json)               \
    }
#define OWN_YAML(type)                                                                             \
    {                                                                                              \
        .name = "yaml", .doc = "what --json says, as YAML", .set = own_form_set,                   \
        .at = offsetof(type, json)                                                                 \
    }
SETTER(own_form_set);

/* A document of json_out on standard output in that form, with a line break at its end. */
void json_form_print(const struct str *json, enum json_form form);

#endif
