/* DIR/remuda.conf. */
#ifndef REMUDA_CONTROLLER_SITE_CONFIG_FILE_H
#define REMUDA_CONTROLLER_SITE_CONFIG_FILE_H

#include "base/err.h"
#include "model/settings/settings.h"

#include <stdbool.h>

/* Reads and parses it; Include paths are relative to the directory of the file. The caller ends it
 * with config_done. */
bool config_file_read(const char *path, struct config *ret, struct err *ret_err);

#endif
