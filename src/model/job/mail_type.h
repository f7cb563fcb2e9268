/* --mail-type: its words and the bits of enum mail_type. */
#ifndef REMUDA_MODEL_MAIL_TYPE_H
#define REMUDA_MODEL_MAIL_TYPE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* For messages. */
#define MAIL_TYPE_WORDS                                                                            \
    "NONE, ALL, BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, " \
    "TIME_LIMIT_80, TIME_LIMIT_50 and ARRAY_TASKS"

/* "BEGIN,FAIL", "ALL"; NONE takes back what stood before it. False: a word is not one of them. */
bool mail_types_parse(const char *text, uint32_t *ret);
/* "" for none. */
void mail_types_format(uint32_t types, struct str *out);

#endif
