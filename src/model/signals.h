/* Signal names: "USR1", "SIGUSR1", "usr1", "10" ↔ number (Linux numbers, the same on every host of a cluster). */
#ifndef REMUDA_MODEL_SIGNALS_H
#define REMUDA_MODEL_SIGNALS_H

#include <stdbool.h>

bool signal_parse(const char *text, int *ret);
const char *signal_name(int signo); /* "USR1"; NULL if unknown */

#endif
