/* Inside script/: "NAME OP VALUE", of which the texts of LSF are made. */
#ifndef REMUDA_SCRIPT_LSF_TERM_H
#define REMUDA_SCRIPT_LSF_TERM_H

#include "base/str.h"

#include <stdbool.h>

/* "name OP value"; op "" where there is none. */
struct lsf_term {
    struct span name, value;
    char op[3]; /* "==", ">=", …; "" = none */
};

/* False: it begins with an operator, or has nothing behind it. Quotes around a value go. */
bool lsf_term_split(struct span text, struct lsf_term *ret);
bool lsf_term_is_least(const struct lsf_term *t); /* >, >=, == */
bool lsf_term_is_equal(const struct lsf_term *t); /* "=" and "==" say the same */
/* `words`: parted by blanks; any letter case. */
bool lsf_name_is_one_of(struct span name, const char *words);
/* Letters, digits, '_', '.' and '-'. */
bool lsf_is_feature(struct span s);

#endif
