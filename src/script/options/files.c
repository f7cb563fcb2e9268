/* Options about files, the work directory and the environment. */
#include "script/options/values.h"

#include "base/alloc.h"

#include <string.h>

JOB_SETTER(set_open_mode)
{
    if (text_is_nocase(value, "append") || text_is_nocase(value, "a"))
        o->spec.open_mode = OPEN_APPEND;
    else if (text_is_nocase(value, "truncate") || text_is_nocase(value, "t"))
        o->spec.open_mode = OPEN_TRUNCATE;
    else if (text_is_nocase(value, "truncate-output"))
        o->spec.open_mode = OPEN_TRUNCATE_OUTPUT;
    else if (text_is_nocase(value, "truncate-error"))
        o->spec.open_mode = OPEN_TRUNCATE_ERROR;
    else
        return value_refuse(row, value, ret_err,
                            "append and truncate are allowed; truncate-output and "
                            "truncate-error begin one of the two files anew");
    return true;
}

/* [timeout][mode]: accepted in full, though the node decides how a login environment is made. */
JOB_SETTER(set_get_user_env)
{
    const char *rest = value ? value : "";
    while (*rest >= '0' && *rest <= '9')
        rest++;
    if (*rest && (!strchr("SsLl", *rest) || rest[1]))
        return value_refuse(row, value, ret_err,
                            "seconds and S or L are allowed, attached: --get-user-env=10L");
    o->get_user_env = value ? arena_strdup(a, value) : "";
    o->spec.get_user_env = true;
    return true;
}

static bool propagate_refuse(const struct option_row *row, const char *value, struct err *e,
                             struct span word)
{
    value_lead(
        row, value, e,
        "ALL, NONE, AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and STACK are allowed",
        "Bad rlimit name: %.*s", (int)word.len, word.data);
    if (e)
        e->code = ERR_INVALID; /* the command exits with 1 */
    return err_lead(e, "error: --propagate=%s is not valid.", value);
}

JOB_SETTER(set_propagate)
{
    static const char *const limits[] = {"ALL",   "NONE",    "AS",     "CORE",  "CPU", "DATA",
                                         "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"};
    struct span rest = span_of(text_empty(value) ? NULL : value), word;
    while (span_next(&rest, ',', &word)) {
        struct span name = word;
        if (name.len > 7 && strncasecmp(name.data, "RLIMIT_", 7) == 0)
            name = (struct span){name.data + 7, name.len - 7};
        size_t i = 0;
        while (i < ARRAY_LEN(limits) && !span_is_nocase(name, limits[i]))
            i++;
        if (i == ARRAY_LEN(limits))
            return propagate_refuse(row, value, ret_err, word);
    }
    o->propagate = value ? arena_strdup(a, value) : "";
    return true;
}

const struct option_row options_files[] = {
    {.name = "chdir",
     .letter = 'D',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_WORKING_DIR SLURM_REMOTE_CWD"},
     .metavar = "dir",
     .doc = "work directory of the job",
     .set = set_text,
     .at = AT(spec.work_dir)},
    {.name = "error",
     .letter = 'e',
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH | CMD_SRUN,
     .env = {"SBATCH_ERROR", NULL, "SRUN_ERROR SLURM_STDERRMODE"},
     .metavar = "file",
     .doc = "standard error; default: with standard output",
     .set = set_path,
     .at = AT(spec.std_err)},
    {.name = "export",
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH | CMD_SRUN,
     .env = {"SBATCH_EXPORT", NULL, "SRUN_EXPORT_ENV SLURM_EXPORT_ENV"},
     .metavar = "list",
     .doc = "environment of the job: ALL, NONE, NIL, or [ALL,]NAME[=VALUE],…",
     .set = set_text,
     .at = AT(spec.export_env)},
    {.name = "export-file",
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH,
     .metavar = "file|fd",
     .doc = "environment from a file of NAME=VALUE, each ended by NUL",
     .set = set_any_text,
     .at = AT(export_file)},
    {.name = "get-user-env",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALLOC,
     .env = {"SBATCH_GET_USER_ENV"},
     .metavar = "timeout|mode",
     .doc = "login environment of the user, under the exported one",
     .set = set_get_user_env},
    {.name = "input",
     .letter = 'i',
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH | CMD_SRUN,
     .env = {"SBATCH_INPUT", NULL, "SRUN_INPUT SLURM_STDINMODE"},
     .metavar = "file",
     .doc = "standard input; default /dev/null",
     .set = set_path,
     .at = AT(spec.std_in)},
    {.name = "open-mode",
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH | CMD_SRUN,
     .env = {"SBATCH_OPEN_MODE", NULL, "SLURM_OPEN_MODE"},
     .metavar = "append|truncate",
     .doc = "output files: continue them or start anew",
     .set = set_open_mode},
    {.name = "output",
     .letter = 'o',
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH | CMD_SRUN,
     .env = {"SBATCH_OUTPUT", NULL, "SRUN_OUTPUT SLURM_STDOUTMODE"},
     .metavar = "file",
     .doc = "standard output; default slurm-%j.out",
     .set = set_path,
     .at = AT(spec.std_out)},
    {.name = "propagate",
     .arg = ARG_OPTIONAL,
     .commands = CMD_SBATCH | CMD_SRUN,
     .env = {"SBATCH_PROPAGATE", NULL, "SLURM_PROPAGATE"},
     .metavar = "limits",
     .doc = "soft resource limits the job takes over",
     .set = set_propagate},
};
const size_t options_files_n = ARRAY_LEN(options_files);
