/* Programs that are login shells of bash's: /etc/profile begins PATH anew there, and without what
 * `remuda env` put into it the commands of the cluster are not found. bash reads the file that
 * BASH_ENV names after its profiles, so it gets one that puts them back, and takes BASH_ENV out. */
#ifndef REMUDA_NODE_STEP_LOGIN_SHELL_H
#define REMUDA_NODE_STEP_LOGIN_SHELL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define LOGIN_PATH_FILE "login_path" /* below NODE_DIR */

/* A command's words, NULL at the end: "bash -lc …", "/bin/bash --login", also behind `env -S`. */
bool login_shell_words(const char *const *words);
/* The first line of a script: "#!/bin/bash -l". The script need not end with a NUL. */
bool login_shell_script(const char *script, size_t len);
/* What bash reads in that file; appended. */
struct str;
/* A file for BASH_ENV that puts the folder of the commands on the PATH, once, and takes itself
 * out. */
void login_path_text(const char *bin_dir, struct str *out);

#endif
