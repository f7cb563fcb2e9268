/* Rows of the options of LSF and PBS, for the files that have these tables alone. Names, of a
 * letter or of several, stand behind one dash. */
#ifndef REMUDA_SCRIPT_DIALECT_ROWS_H
#define REMUDA_SCRIPT_DIALECT_ROWS_H

#include "script/options/option.h"

#define FLAG_(name_, doc_, set_, ...)                                                              \
    {                                                                                              \
        .name = name_, .doc = doc_, .set = set_, __VA_ARGS__                                       \
    }
#define VALUE_(name_, metavar_, doc_, set_, ...)                                                   \
    {                                                                                              \
        .name = name_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_, .set = set_,         \
        __VA_ARGS__                                                                                \
    }
#define IDLE_(name_, arg_, doc_, why_)    OPT_NO_EFFECT(name_, 0, arg_, doc_, .why = why_)
#define REFUSED_(name_, arg_, doc_, why_) OPT_REFUSED(name_, 0, arg_, doc_, why_)

#endif
