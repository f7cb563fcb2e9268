/* Any text as a job script, and any words as a command line of the three
 * commands: taken or refused with a sentence. What is taken can stand as a job:
 * no negative counts, no range upside down, and only one kind of memory. Text
 * that begins with '#' is a script; else each line is a word. */
#include "fuzz.h"

#include "base/alloc.h"
#include "script/lint/lint.h"
#include "script/lsf/lsf.h"
#include "script/pbs/pbs.h"
#include "script/script.h"
#include "script/translate.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX  64
#define COMPONENTS 4

const char *const fuzz_words[] = {"#!/bin/sh\n",
                                  "#SBATCH ",
                                  "\n#SBATCH ",
                                  "--nodes=2-4",
                                  "\n",
                                  " ",
                                  "-t",
                                  "--time=",
                                  "1-2:3",
                                  "--mem=4G",
                                  "--gres=gpu:v100:2",
                                  "hetjob",
                                  "'",
                                  "\"",
                                  "--signal=B:USR1@60",
                                  "-d",
                                  "afterok:1:2",
                                  "--array=0-9%2",
                                  "-B",
                                  "2:*:1",
                                  "--tres-per-task=cpu=2,gres/gpu:1",
                                  "--exclusive=user",
                                  "cat <<EOF\n",
                                  "EOF\n",
                                  "#PBS -l x\n",
                                  "-l select=2:ncpus=4:mem=8gb,place=scatter",
                                  "-lnodes=2:ppn=4:gpus=1",
                                  "walltime=1:30:00",
                                  "-W depend=afterok:12.a:3[4],umask=77",
                                  "-a 202612312359.30",
                                  "-joe",
                                  "\n#PBS ",
                                  "#BSUB ",
                                  "\n#BSUB ",
                                  "-R \"rusage[mem=4GB] span[ptile=2]\"",
                                  "select[(a||b)&&mem>3]",
                                  "-R ",
                                  "-gpu ",
                                  "num=2/task:gmodel=V100-32G",
                                  "-W 1:30",
                                  "-b 2026:1:2:3:4",
                                  "-w ",
                                  "done(12[3])&&ended(\"n*\")",
                                  "-J \"n[1-3]%2\"",
                                  "-oo",
                                  "[",
                                  "]",
                                  "--gpus=8",
                                  "--gpus-per-node=4",
                                  "--gpus-per-task=2",
                                  "-n",
                                  "--",
                                  "-Hvk",
                                  "\\",
                                  "--switches=1@2",
                                  NULL};

static const unsigned commands[] = {CMD_SBATCH, CMD_SALLOC, CMD_SRUN};

static bool job_checked(struct submit_options *o, unsigned command, struct arena *a,
                        struct str *warnings)
{
    struct err e = {0};
    if (!options_finish(o, command, a, warnings, &e)) {
        CHECK(e.code != ERR_NONE && e.text[0]);
        return false;
    }
    const struct job_request *q = &o->spec.req;
    CHECK(q->min_nodes >= 0 && (q->max_nodes == 0 || q->max_nodes >= q->min_nodes));
    CHECK(q->ntasks >= 0 && q->ntasks_per_node >= 0 && q->cpus_per_task >= 0);
    CHECK((q->mem_per_node_mib != 0) + (q->mem_per_cpu_mib != 0) + (q->mem_per_gpu_mib != 0) <= 1);
    CHECK(q->time_limit_us >= 0 && q->switches_wait_us >= 0 && o->spec.signal >= 0);
    return true;
}

static void script_check_all(struct submit_options *comp, const char *text, size_t len,
                             const struct option_env *env, struct arena *a)
{
    struct str warnings = STR_INIT;
    struct err e = {0};
    size_t n = 0;
    if (!script_check(text, len, "fuzz", &e))
        CHECK(e.code != ERR_NONE && e.text[0]);
    e = (struct err){0};
    if (script_parse(NULL, text, len, comp, COMPONENTS, &n, len % 2, env, a, &warnings, &e)) {
        CHECK(n >= 1 && n <= COMPONENTS);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || options_carry_over(&comp[i], &comp[i - 1], env, a, &e))
                job_checked(&comp[i], CMD_SBATCH, a, &warnings);
    } else {
        CHECK(e.code != ERR_NONE && e.text[0]);
    }
    str_done(&warnings);
}

static bool directory_there(const char *path, const char *from)
{
    return *path && !from;
}

/* Whatever is found wrong, in whosever words: something is always said of what cannot be taken. */
static void lint_check(const char *text, size_t len, const struct option_env *env, struct arena *a)
{
    struct lint l = {.dialect = (enum dialect)(len % 3), .env = env, .a = a};
    lint_read(&l, text, len, 0, NULL, "fuzz", directory_there);
    CHECK(l.readable || lint_count(&l, LINT_ERROR) > 0);
    lint_done(&l);
}

/* What can be read as a job can be said in other words, with a sentence for what cannot. */
static void translate_check(const char *text, size_t len, const struct option_env *env,
                            struct arena *a)
{
    enum dialect from = (enum dialect)(len % 3), to = (enum dialect)((len + 1 + len / 3 % 2) % 3);
    struct translation t;
    struct err e = {0};
    if (!script_translate(text, len, from, to, env, "fuzz", a, &t, &e)) {
        CHECK(e.code != ERR_NONE && e.text[0]);
        return;
    }
    CHECK(t.len == strlen(t.text));
    translation_done(&t);
}

/* The same words as bsub's. */
static void lsf_check(struct submit_options *o, int argc, char *const argv[], const char *text,
                      const struct option_env *env, struct arena *a)
{
    struct lsf_request r = {.site = env->site};
    struct str warnings = STR_INIT;
    struct dialect_out out = {o, FROM_DIRECTIVE, env, a, &warnings};
    struct err e = {0};
    unsigned lines;
    int rest;
    if (lsf_read_script(&r, text, strlen(text), env, a, &warnings, &lines, &e) &&
        lsf_read_words(&r, argc, argv, env, a, &rest, &e) && lsf_finish(&r, &out, &e))
        job_checked(o, CMD_SBATCH, a, &warnings);
    else
        CHECK(e.code != ERR_NONE && e.text[0]);
    str_done(&warnings);
}

/* And qsub's, of either flavour. */
static void pbs_check(struct submit_options *o, int argc, char *const argv[], const char *text,
                      const struct option_env *env, struct arena *a)
{
    struct dialect_site site = *env->site;
    struct pbs_request r = {.site = &site};
    struct str warnings = STR_INIT;
    struct dialect_out out = {o, FROM_DIRECTIVE, env, a, &warnings};
    struct err e = {0};
    unsigned lines;
    int rest;
    site.torque = argc % 2;
    if (pbs_read_words(&r, argc, argv, env, a, &rest, &e) &&
        pbs_read_script(&r, text, strlen(text), env, a, &warnings, &lines, &e) &&
        pbs_finish(&r, &out, &e))
        job_checked(o, CMD_SBATCH, a, &warnings);
    else
        CHECK(e.code != ERR_NONE && e.text[0]);
    str_done(&warnings);
}

static void words_check(struct submit_options *o, char *text, unsigned command,
                        const struct option_env *env, struct arena *a)
{
    static char name[] = "command";
    char *argv[WORDS_MAX + 1] = {name}, *save = NULL;
    int argc = 1, rest;
    struct err e = {0};
    struct str warnings = STR_INIT;
    const char *whole = arena_strdup(a, text);
    for (char *word = strtok_r(text, "\n", &save); word && argc < WORDS_MAX;
         word = strtok_r(NULL, "\n", &save))
        argv[argc++] = word;
    lsf_check(&o[1], argc, argv, whole, env, a);
    pbs_check(&o[2], argc, argv, whole, env, a);
    if (options_parse_argv(o, command, argc, argv, FROM_COMMAND_LINE, env, a, &rest, &e)) {
        CHECK(rest >= 1 && rest <= argc);
        job_checked(o, command, a, &warnings);
    } else {
        CHECK(e.code != ERR_NONE && e.text[0]);
    }
    str_done(&warnings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dialect_site site; /* made once: to make it takes longer than to read a script */
    if (!site.lsf_limit_kib)
        site = dialect_site_standard();
    struct option_env env = {
        .now_us = INT64_C(1772445600000000), .zone = &civil_utc, .site = &site};
    struct arena *a = arena_new();
    struct submit_options *comp = xcalloc(COMPONENTS, sizeof *comp);
    char *text = xcalloc(1, size + 1);
    memcpy(text, data, size);
    if (text[0] == '#')
        script_check_all(comp, text, size, &env, a);
    if (text[0] == '#')
        lint_check(text, size, &env, a);
    if (text[0] == '#')
        translate_check(text, size, &env, a);
    else
        words_check(comp, text, commands[size % ARRAY_LEN(commands)], &env, a);
    free(text);
    free(comp);
    arena_free(a);
    return 0;
}
