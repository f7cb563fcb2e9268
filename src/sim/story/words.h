/* Words of the lines of stories. */
#ifndef REMUDA_SIM_STORY_WORDS_H
#define REMUDA_SIM_STORY_WORDS_H

#include "base/str.h"
#include "model/record/reservation.h"

#include <stdbool.h>
#include <stdint.h>

/* What stands behind "KEY="; NULL: the word is not of that key. */
const char *story_value(const char *word, const char *key);
/* 0 for what is none, and NULL. */
int64_t story_number(const char *text);
/* One of a reservation: sets the field and names it in `fields`. False: it is none, or wrong. */
bool story_resv_word(struct reservation *r, struct str *fields, const char *word);

#endif
