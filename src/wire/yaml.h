/* YAML out of JSON: the same document in blocks, for --yaml beside --json. */
#ifndef REMUDA_WIRE_YAML_H
#define REMUDA_WIRE_YAML_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the document, as YAML 1.1 and 1.2 both read it: texts and keys that are no plain names in
 * double quotes. `json` is what json_out wrote; false: it is no JSON, or more than 64 levels deep,
 * and what was appended is of no use. */
bool yaml_of_json(const char *json, size_t len, struct str *out);

#endif
