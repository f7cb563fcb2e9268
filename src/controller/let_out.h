/* Effects of the core that are due, let out: to sessions, to the mailer, into the log, to the
 * daemon itself. */
#ifndef REMUDA_CONTROLLER_LET_OUT_H
#define REMUDA_CONTROLLER_LET_OUT_H

#include "controller/turn.h"

extern const struct turn_ops let_out;

#endif
