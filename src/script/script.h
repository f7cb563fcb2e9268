/* Job scripts: shebang, directives of Slurm (#SBATCH), later PBS and LSF → options. */
#ifndef REMUDA_SCRIPT_SCRIPT_H
#define REMUDA_SCRIPT_SCRIPT_H

#include "script/options/options.h"

/* Reads the directives of a script as sbatch(1) and spec/guides.md 0.6, spec/clients.md edges 15–19
 * say: "#SBATCH" at the start of a line, several options on a line, quotes, unquoted '#' comments,
 * until the first command; "hetjob" separates components. `name` is what people call the script, in
 * Slurm's own lines. Sets options with FROM_DIRECTIVE in
 * comp[0], comp[1] … (all `max` of them zeroed by the caller, but for comp[0]). Errors name the
 * line. Directives that are dropped because they stand after the first command are named in
 * `warnings`, one a line. A script that has #BSUB lines and no #SBATCH is read as LSF's, by what
 * env->site says, and what it became is a warning; one with #PBS lines is refused. Neither is so
 * with `ignore_pbs`. */
bool script_parse(const char *name, const char *text, size_t len, struct submit_options *comp,
                  size_t max, size_t *ret_ncomp, bool ignore_pbs, const struct option_env *env,
                  struct arena *a, struct str *warnings, struct err *ret_err);
/* The words of one line behind its "#SBATCH" (of scrontab "#SCRON"), as options of one job; an
 * error names the line by that number. */
bool script_directive(struct span words, unsigned line, struct submit_options *o,
                      const struct option_env *env, struct arena *a, struct err *ret_err);
/* Would Slurm take it as a script: not empty, starts with "#!", no NUL byte, no DOS line ends, at
 * most LIMIT_SCRIPT_BYTES. The sentence tells how to mend it; `name` is what people call the
 * script. text[len] must be NUL. */
bool script_check(const char *text, size_t len, const char *name, struct err *ret_err);
/* Has it no NUL byte? Of one with such a byte what stands behind it would be lost. */
bool script_is_text(const char *text, size_t len, const char *name, struct err *ret_err);

#endif
