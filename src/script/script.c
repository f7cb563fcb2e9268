/* Directives in a job script.
 *
 * The script is read line by line. "#SBATCH" at the very start of a line makes the rest of the line
 * part of a command line; words are split as Slurm splits them (quotes, backslash, '#' ends the
 * line). A backslash at its end is nothing: no directive goes on in the next line. The first line
 * that is neither blank nor a comment ends the directives. What comes behind
 * is only looked at to tell people of #SBATCH lines that are dropped there; a here-document is left
 * out of that, because scripts that write other scripts are common.
 *
 * "hetjob" as a word of a directive, in capitals or not, starts the next component. */
#include "script/script.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "model/limits.h"
#include "script/lines.h"
#include "script/lsf/lsf.h"
#include "script/options/values.h"
#include "script/pbs/pbs.h"

#include <stdio.h>
#include <string.h>

/* Slurm looks for other systems' directives until it has seen so many lines with commands. */
#define FOREIGN_COMMAND_LINES 100
#define DROPPED_SHOWN         3

typedef VEC(char *) words_t;

struct script_reader {
    const char *name; /* of the script, as Slurm's first lines have it; NULL = of none */
    struct submit_options *comp;
    size_t max, ncomp;
    const struct option_env *env;
    struct arena *a;
    char *word; /* room for the longest of the directive at hand */
    struct str *warnings;
    unsigned line;         /* number of the current one */
    unsigned directives;   /* lines with #SBATCH seen */
    unsigned commands;     /* lines with commands seen */
    unsigned foreign_line; /* first #PBS or #BSUB line */
    const char *foreign;   /* "#PBS" */
    unsigned dropped;      /* #SBATCH lines behind the first command */
    bool old_magic;        /* "#SLURM" was seen */
    bool backslash;        /* the line above is a directive that ends with one */
    struct span heredoc;   /* the word that ends it; len 0 = in none */
};

/* ---- lines and words
 * ---------------------------------------------------------------------- */

static bool line_next(struct span *rest, struct span *ret)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->len);
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    *ret = (struct span){rest->data, len};
    size_t used = end ? len + 1 : len;
    rest->data += used;
    rest->len -= used;
    return true;
}

/* Slurm's line about a sign that is out of place, in what is left of the directive. */
static int sign_blame(const struct script_reader *r, const char *what, char sign, struct span rest,
                      struct err *e)
{
    if (rest.len > 200)
        rest.len = 200;
    err_lead(e, "fatal: %s%sline %u: %s `%c` in [%.*s]", r->name ? r->name : "",
             r->name ? ": " : "", r->line, what, sign, (int)rest.len, rest.data);
    return -1;
}

static bool only_blanks(struct span s)
{
    while (s.len && script_is_blank(s.data[s.len - 1]))
        s.len--;
    return s.len == 0;
}

/* Takes one word off *rest. Returns 1, 0 at the end of the line or a comment, -1 with the error
 * set. */
static int word_take(struct script_reader *r, struct span *rest, char **ret, struct err *e)
{
    size_t i = 0, n = 0;
    while (i < rest->len && script_is_blank(rest->data[i]))
        i++;
    if (i == rest->len || rest->data[i] == '#')
        return 0;
    if (rest->data[i] == ':') {
        err_set(e, ERR_INVALID,
                "line %u: \":\" is no option; components are parted by a line #SBATCH hetjob",
                r->line);
        return sign_blame(r, "Unexpected", ':', *rest, e);
    }
    char *word = r->word, quote = 0;
    for (; i < rest->len; i++) {
        char c = rest->data[i];
        if (c == '\\' && !quote &&
            only_blanks((struct span){rest->data + i + 1, rest->len - i - 1}))
            rest->len = i;
        else if (c == '\\' && i + 1 < rest->len)
            word[n++] = rest->data[++i];
        else if (quote && c == quote)
            quote = 0;
        else if (!quote && (c == '"' || c == '\''))
            quote = c;
        else if (!quote && (script_is_blank(c) || c == '#'))
            break;
        else
            word[n++] = c;
    }
    if (quote) {
        err_set(e, ERR_INVALID, "line %u: the quote is not closed", r->line);
        return sign_blame(r, "Unmatched", quote, *rest, e);
    }
    bool ended = i >= rest->len;
    *rest = ended ? (struct span){0} : (struct span){rest->data + i, rest->len - i};
    *ret = arena_strndup(r->a, word, n);
    return !ended || n > 0;
}

/* ---- directives
 * --------------------------------------------------------------------------- */

static bool directive_refuse(const char *word, struct err *e)
{
    err_set(e, ERR_VALUE, "\"%.100s\" is no option; a value with a blank in it is quoted", word);
    return err_lead(e, "error: Invalid directive found in batch script: %s", word);
}

/* What getopt would say leads; the sentence names the line. */
static bool line_blame(const struct script_reader *r, struct err *e)
{
    if (e->code == ERR_USAGE) {
        char words[ERR_TEXT_MAX];
        snprintf(words, sizeof words, "%s", e->text);
        char *hint = strstr(words, " (");
        if (hint)
            *hint = '\0';
        e->code = ERR_VALUE;
        err_lead(e, "%s", words);
    }
    return err_prefix(e, "line %u", r->line);
}

static bool words_apply(struct script_reader *r, words_t *words, struct err *e)
{
    int rest = 0;
    bool ok = options_parse_argv(&r->comp[r->ncomp - 1], CMD_SBATCH, (int)words->n, words->v,
                                 FROM_DIRECTIVE, r->env, r->a, &rest, e);
    if (ok && rest < (int)words->n)
        ok = directive_refuse(words->v[rest], e);
    words->n = 1;
    return ok || line_blame(r, e);
}

static bool component_begin(struct script_reader *r, struct err *e)
{
    if (r->ncomp == r->max)
        return err_set(e, ERR_LIMIT, "line %u: a job has at most %zu components", r->line, r->max);
    r->ncomp++;
    return true;
}

static bool directive_words(struct script_reader *r, struct span rest, words_t *words,
                            struct err *e)
{
    char *word;
    int more;
    while ((more = word_take(r, &rest, &word, e)) == 1) {
        if (text_is_nocase(word, "hetjob") || text_is_nocase(word, "packjob")) {
            if (!words_apply(r, words, e) || !component_begin(r, e))
                return false;
        } else {
            vec_push(words, word);
        }
    }
    return more == 0 && words_apply(r, words, e);
}

static bool directive_read(struct script_reader *r, struct span rest, struct err *e)
{
    words_t words = {0};
    char name[] = "sbatch";
    vec_push(&words, name);
    r->word = arena_alloc(r->a, rest.len + 1);
    r->directives++;
    while (rest.len && script_is_blank(rest.data[0]))
        rest = (struct span){rest.data + 1, rest.len - 1};
    option_watch_line(r->env, r->line);
    bool ok = option_watched_line(r->env, directive_words(r, rest, &words, e), e);
    option_watch_line(r->env, 0);
    vec_done(&words);
    return ok;
}

bool script_directive(struct span words, unsigned line, struct submit_options *o,
                      const struct option_env *env, struct arena *a, struct err *ret_err)
{
    struct script_reader r = {.comp = o, .max = 1, .ncomp = 1, .env = env, .a = a, .line = line};
    return directive_read(&r, words, ret_err);
}

/* ---- the other lines
 * ---------------------------------------------------------------------- */

static void foreign_note(struct script_reader *r, struct span line)
{
    if (r->foreign || r->commands > FOREIGN_COMMAND_LINES)
        return;
    if (script_starts_with(line, "#PBS "))
        r->foreign = "#PBS";
    else if (script_starts_with(line, "#BSUB "))
        r->foreign = "#BSUB";
    if (r->foreign)
        r->foreign_line = r->line;
}

static void dropped_note(struct script_reader *r, struct span line)
{
    r->dropped++;
    if (r->dropped > DROPPED_SHOWN)
        return;
    if (line.len > 120)
        line.len = 120;
    str_addf(r->warnings, "line %u: ignored, because it stands after the first command: %.*s\n",
             r->line, (int)line.len, line.data);
}

/* A line that is no directive in force; `meant` as one that goes on, it seems. */
static void line_note(struct script_reader *r, struct span line, bool meant)
{
    if (meant && script_is_command(line))
        str_addf(r->warnings,
                 "line %u: a command, no part of the directive above it, which ends with its line "
                 "whatever its backslash says: begin each with #SBATCH\n",
                 r->line);
    if (r->heredoc.len) {
        struct span t = span_trim(line);
        if (t.len == r->heredoc.len && memcmp(t.data, r->heredoc.data, t.len) == 0)
            r->heredoc.len = 0;
        return;
    }
    foreign_note(r, line);
    if (r->commands && script_starts_with(line, "#SBATCH "))
        dropped_note(r, line);
    if (script_is_command(line)) {
        r->commands++;
        r->heredoc = script_heredoc_word(line);
    }
}

static bool line_read(struct script_reader *r, struct span line, struct err *e)
{
    bool backslash = r->backslash;
    r->backslash = script_ends_in_backslash(line);
    if (!r->commands && script_starts_with(line, "#SBATCH"))
        return directive_read(r, (struct span){line.data + 7, line.len - 7}, e);
    if (!r->commands && script_starts_with(line, "#SLURM")) {
        if (!r->old_magic)
            str_addf(r->warnings, "line %u: write #SBATCH instead of #SLURM\n", r->line);
        r->old_magic = true;
        return directive_read(r, (struct span){line.data + 6, line.len - 6}, e);
    }
    line_note(r, line, backslash);
    return true;
}

static bool lsf_apply(struct script_reader *r, const char *text, size_t len,
                      const struct dialect_site *site, struct dialect_out *out, struct err *e)
{
    struct lsf_request lsf = {.site = site, .keep_output = true};
    unsigned lines;
    if (!lsf_read_script(&lsf, text, len, r->env, r->a, r->warnings, &lines, e))
        return false;
    if (lsf.depend.n || lsf.candidates || lsf.interactive != LSF_BATCH || lsf.wait)
        return err_set(e, ERR_UNSUPPORTED,
                       "-w, -m, -I and -K of #BSUB lines are read by bsub: bsub < FILE");
    if (lsf.host_select)
        lsf_note(&lsf, r->a, "select[] of hosts", "bsub asks them, sbatch does not");
    if (lsf.same_model)
        lsf_note(&lsf, r->a, "same[model]",
                 "bsub asks the hosts for their models, sbatch does not");
    if (lsf.mig_slices)
        return err_set(e, ERR_UNSUPPORTED,
                       "-gpu mig= of #BSUB lines is read by bsub: bsub < FILE; or name the type of "
                       "the instance: gmodel=TYPE");
    if (lsf.nulimit)
        lsf_note(&lsf, r->a, "-C, -S, -D, -F", "bsub sets them; ulimit in the script");
    if (lsf.env_without)
        lsf_note(&lsf, r->a, "-env ~NAME", "bsub leaves them out; unset in the script");
    r->ncomp = lsf_parts(&lsf);
    if (r->ncomp > r->max)
        return err_set(e, ERR_LIMIT, "-R: %zu different parts; at most %zu are taken", r->ncomp,
                       r->max);
    for (size_t i = 0; i < r->ncomp; i++) {
        struct dialect_out one = *out;
        const struct lsf_request *part = lsf_part(&lsf, i, r->a, e);
        one.o = &r->comp[i];
        if (!part || !lsf_finish(part, &one, e))
            return false;
    }
    return true;
}

/* Its directory, files and environment are those of sbatch. */
static bool pbs_apply(struct script_reader *r, const char *text, size_t len,
                      const struct dialect_site *site, struct dialect_out *out, struct err *e)
{
    struct pbs_request pbs = {.site = site, .keep_environment = true};
    unsigned lines;
    if (!pbs_read_script(&pbs, text, len, r->env, r->a, r->warnings, &lines, e))
        return false;
    if (pbs.interactive || pbs.wait || pbs.shell || pbs.args)
        return err_set(e, ERR_UNSUPPORTED,
                       "-I, -S, -F and -W block of #PBS lines are read by qsub: qsub FILE");
    r->ncomp = pbs_parts(&pbs);
    if (r->ncomp > r->max)
        return err_set(e, ERR_LIMIT, "-l: %zu different parts; at most %zu are taken", r->ncomp,
                       r->max);
    for (size_t i = 0; i < r->ncomp; i++) {
        struct dialect_out one = *out;
        one.o = &r->comp[i];
        if (!pbs_part_finish(&pbs, i, &one, e))
            return false;
    }
    return pbs_files_finish(&pbs, true, out, e);
}

/* A script of another system: its lines are read as that system would. */
static bool foreign_read(struct script_reader *r, const char *text, size_t len, struct err *e)
{
    struct dialect_site site = r->env->site ? *r->env->site : dialect_site_standard();
    struct dialect_out out = {r->comp, FROM_DIRECTIVE, r->env, r->a, r->warnings};
    bool lsf = text_is(r->foreign, "#BSUB");
    if (!(lsf ? lsf_apply : pbs_apply)(r, text, len, &site, &out, e))
        return false;
    str_addf(r->warnings, "read as %s's, for it has %s lines and no #SBATCH:", lsf ? "LSF" : "PBS",
             r->foreign);
    for (size_t i = 0; i < r->ncomp; i++) {
        str_add(r->warnings, i ? " :" : "");
        options_write_words(&r->comp[i], CMD_SBATCH, r->warnings);
    }
    str_addc(r->warnings, '\n');
    return true;
}

bool script_parse(const char *name, const char *text, size_t len, struct submit_options *comp,
                  size_t max, size_t *ret_ncomp, bool ignore_pbs, const struct option_env *env,
                  struct arena *a, struct str *warnings, struct err *ret_err)
{
    ASSERT(max > 0 && max <= COMPONENTS_MAX);
    struct script_reader r = {.name = name,
                              .comp = comp,
                              .max = max,
                              .ncomp = 1,
                              .env = env,
                              .a = a,
                              .warnings = warnings};
    struct span rest = {text, len}, line;
    while (line_next(&rest, &line)) {
        r.line++;
        if (!line_read(&r, line, ret_err))
            return false;
    }
    if (r.dropped > DROPPED_SHOWN)
        str_addf(warnings, "and %u more such lines\n", r.dropped - DROPPED_SHOWN);
    if (r.foreign && r.directives)
        note_no_effect(&comp[0], a, r.foreign, "the script has #SBATCH lines, which count");
    bool ok = !r.foreign || r.directives || ignore_pbs || foreign_read(&r, text, len, ret_err);
    *ret_ncomp = r.ncomp;
    return ok;
}

/* ---- is it a script
 * ----------------------------------------------------------------------- */

static bool shebang_refuse(const char *text, const char *name, struct err *e)
{
    const char *hint = "put a line #!/bin/bash at the top";
    if (script_starts_with((struct span){text, strlen(text)}, "\xef\xbb\xbf#!"))
        hint = "it starts with a byte order mark; remove that: sed -i '1s/^\\xef\\xbb\\xbf//'";
    else if (text_starts(text, "'''") || text_starts(text, "\"\"\""))
        hint = "it starts with a Python docstring; put a line #!/bin/bash (or #!/usr/bin/env "
               "python3 for a "
               "Python program) above it";
    else if (text_starts(text, "import ") || text_starts(text, "from "))
        hint = "it looks like a Python program; put a line #!/usr/bin/env python3 at the top, or "
               "submit "
               "sbatch --wrap=\"python3 FILE\"";
    else if (text_starts(text, "#SBATCH") || text_starts(text, "\n#!") || text_starts(text, " #!"))
        hint =
            "put a line #!/bin/bash at the very top, above the directives, with nothing before it";
    else if (text_starts(text, "\177ELF"))
        hint = "it is a program; submit it with sbatch --wrap=COMMAND";
    err_set(e, ERR_INVALID, "%s: %s", name, hint);
    err_lead(e, "error: This does not look like a batch script.  The first");
    err_lead(e, "error: line must start with #! followed by the path to an interpreter.");
    return err_lead(e, "error: For instance: #!/bin/sh");
}

bool script_is_text(const char *text, size_t len, const char *name, struct err *ret_err)
{
    return !memchr(text, 0, len) ||
           err_set(ret_err, ERR_INVALID, "%s has a NULL character in it, as programs have", name);
}

bool script_check(const char *text, size_t len, const char *name, struct err *ret_err)
{
    if (len == 0) {
        err_set(ret_err, ERR_INVALID, "%s has nothing in it", name);
        return err_lead(ret_err, "error: Batch script is empty!");
    }
    if (len > LIMIT_SCRIPT_BYTES)
        return err_set(
            ret_err, ERR_LIMIT,
            "%s has %zu bytes; a batch script has at most %u (keep data in files and read them in "
            "the script)",
            name, len, LIMIT_SCRIPT_BYTES);
    size_t white = strspn(text, " \t\r\n\v\f");
    if (!text[white]) { /* as Slurm, which reads to the first NUL */
        err_set(ret_err, ERR_INVALID, "%s has %s", name,
                white < len ? "a NULL character first: is it a program?"
                            : "nothing but blanks in it");
        return err_lead(ret_err, "error: Batch script contains only whitespace!");
    }
    if (len < 2 || memcmp(text, "#!", 2) != 0)
        return shebang_refuse(text, name, ret_err);
    if (!script_is_text(text, len, name, ret_err)) {
        err_lead(ret_err, "error: The Slurm controller does not allow scripts that");
        return err_lead(ret_err, "error: contain a NULL character '\\0'.");
    }
    if (memmem(text, len, "\r\n", 2)) {
        err_set(ret_err, ERR_INVALID, "%s has lines of DOS; mend it with: sed -i 's/\\r$//' %s",
                name, name);
        err_lead(ret_err, "error: Batch script contains DOS line breaks (\\r\\n)");
        return err_lead(ret_err, "error: instead of expected UNIX line breaks (\\n).");
    }
    return true;
}
