/* --mail-type's words, where scontrol reads and shows them. */
#ifndef REMUDA_CLI_MAIL_WORDS_H
#define REMUDA_CLI_MAIL_WORDS_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* "BEGIN,FAIL", "ALL", "NONE" → bits of enum mail_type. */
bool mail_types_parse(const char *text, uint32_t *ret, struct err *ret_err);
void mail_types_format(uint32_t types, struct str *out);

#endif
