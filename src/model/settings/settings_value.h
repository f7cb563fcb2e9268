/* Values of settings as the configuration writes them; shared by the settings table and the node
 * and partition lines. */
#ifndef REMUDA_MODEL_SETTINGS_VALUE_H
#define REMUDA_MODEL_SETTINGS_VALUE_H

#include "model/settings/settings.h"

/* The text must outlive the settings (texts are kept, not copied). */
bool setting_set(const struct setting *k, struct settings *s, const char *text,
                 struct err *ret_err);
/* YES, NO, TRUE, FALSE, ON, OFF, 1, 0, whatever the letter case. */
bool setting_parse_bool(const char *text, bool *ret, struct err *ret_err);
/* UNLIMITED is 0. */
bool setting_parse_mib(const char *text, int64_t *ret, struct err *ret_err);
/* EnforcePartLimits, Slurm's words and ours */
bool setting_parse_policy(const char *text, int32_t *ret, struct err *ret_err);
/* Unit "sec" or "min". */
bool setting_parse_span(const char *text, const char *unit, int64_t *ret_us, struct err *ret_err);

#endif
