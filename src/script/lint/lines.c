/* What shows in the lines themselves, before any option is read. */
#include "script/lines.h"
#include "base/alloc.h"
#include "script/dialect_variables.h"
#include "script/lint/lint.h"
#include "script/script.h"

#include <string.h>

#define SHOWN 80 /* of a line */

struct lint_looking {
    struct lint *l;
    struct script_line line;
    const char *shown;
    bool shebang_late, goes_to_submission, waits;
    bool backslash;      /* the line above is a directive of Slurm's that ends with one */
    unsigned background; /* the line of the last command, if that is left in the background */
};

static const char *shown(const struct lint_looking *k)
{
    struct span t = span_trim(k->line.text);
    return arena_strndup(k->l->a, t.data, t.len < SHOWN ? t.len : SHOWN);
}

/* ---- is it a script ---- */

static void script_look(struct lint *l, const char *name)
{
    struct err e = {0};
    const char *dos = memmem(l->text, l->len, "\r\n", 2);
    unsigned line = 1;
    for (const char *c = l->text; dos && c < dos; c++)
        line += *c == '\n';
    if (dos)
        lint_find(l, RULE_DOS_LINES, line, 0,
                  "the line ends in CR LF, as on Windows; mend it with: sed -i 's/\\r$//' %s",
                  name);
    bool own_shebang = l->dialect != DIALECT_SLURM && !l->by_sbatch;
    bool none = l->len < 2 || memcmp(l->text, "#!", 2) != 0;
    bool any_first_line = own_shebang && none && l->len;
    if (!dos && !(any_first_line ? script_is_text(l->text, l->len, name, &e)
                                 : script_check(l->text, l->len, name, &e)))
        lint_find(l, RULE_NO_SCRIPT, 1, 0, "%s", e.text);
}

static void shebang_look(struct lint_looking *k)
{
    if (k->line.number == 1 || k->shebang_late || k->line.heredoc ||
        !script_starts_with(span_trim(k->line.text), "#!/"))
        return;
    k->shebang_late = true;
    if (k->l->len > 2 && memcmp(k->l->text, "#!", 2) == 0)
        return;
    lint_find(k->l, RULE_LATE_SHEBANG, k->line.number, k->line.first_command,
              "%s names the interpreter only on the first line of the script, with nothing before "
              "it",
              k->shown);
}

/* ---- directives that are none ---- */

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* "# SBATCH -n 4", "#SBTACH -n 4", "  #SBATCH -n 4": *ret is the prefix that is nearest. One '#'
 * more is how people leave a directive out. */
static bool nearly_directive(struct span line, const char **ret)
{
    static const char *const names[] = {"SBATCH", "BSUB", "PBS"}, *const prefixes[] = {
                                                                      "#SBATCH", "#BSUB", "#PBS"};
    line = span_trim(line);
    if (!line.len || line.data[0] != '#')
        return false;
    struct span rest = span_trim((struct span){line.data + 1, line.len - 1});
    char word[16];
    size_t n = 0;
    while (n < rest.len && n < sizeof word - 1 && is_letter(rest.data[n])) {
        word[n] = rest.data[n];
        n++;
    }
    word[n] = 0;
    struct span value = {rest.data + n, rest.len - n};
    if (value.len && value.data[0] == ':')
        value = (struct span){value.data + 1, value.len - 1};
    bool apart = value.len && (script_is_blank(value.data[0]) || value.data[0] == '-');
    value = span_trim(value);
    if (n < 2 || !apart || value.len < 2 || value.data[0] != '-' ||
        !(is_letter(value.data[1]) || value.data[1] == '-'))
        return false;
    const char *near = text_nearest(word, names, ARRAY_LEN(names));
    for (size_t i = 0; near && i < ARRAY_LEN(names); i++)
        if (text_is(near, names[i]))
            *ret = prefixes[i];
    return near != NULL;
}

static bool is_directive(const struct lint *l, struct span line)
{
    struct span rest;
    for (unsigned d = DIALECT_SLURM; d <= DIALECT_PBS; d++)
        if (script_line_is_of(line, d, &rest))
            return true;
    return l->dialect == DIALECT_PBS && l->pbs.prefix && *l->pbs.prefix &&
           script_starts_with(span_trim(line), l->pbs.prefix);
}

/* The command takes the line's words for a directive's, and the shell of the job runs it. */
static void continued_look(struct lint_looking *k)
{
    if (k->line.continued && script_is_command(k->line.text))
        lint_find(k->l, RULE_CONTINUED_LINE, k->line.number, 0,
                  "%s reads it as a part of the directive above, and the job runs it as a command; "
                  "begin it with %s",
                  script_command(k->l->dialect), script_prefix(k->l->dialect));
    if (k->backslash && script_is_command(k->line.text))
        lint_find(
            k->l, RULE_CONTINUED_LINE, k->line.number, 0,
            "a directive ends with its line, whatever a backslash says, and the job runs this "
            "as a command; begin it with #SBATCH");
    k->backslash = k->l->dialect == DIALECT_SLURM && !k->line.first_command && !k->line.heredoc &&
                   script_ends_in_backslash(k->line.text);
}

static void misspelt_look(struct lint_looking *k)
{
    const char *prefix = NULL;
    if (k->line.heredoc || is_directive(k->l, k->line.text) ||
        !nearly_directive(k->line.text, &prefix))
        return;
    lint_find(k->l, RULE_MISSPELT_DIRECTIVE, k->line.number, 0,
              "a comment to %s, as it does not begin with %s at the start of the line: %s",
              script_command(k->l->dialect), prefix, k->shown);
}

static void late_look(struct lint_looking *k)
{
    struct span rest;
    if (k->l->dialect == DIALECT_LSF || k->line.heredoc || !k->line.first_command ||
        !script_line_is_of(k->line.text, k->l->dialect, &rest) || !span_trim(rest).len)
        return;
    lint_find(k->l, RULE_LATE_DIRECTIVE, k->line.number, k->line.first_command,
              "not read, because it stands after the first command (line %u): %s",
              k->line.first_command, k->shown);
}

/* ---- what is in a directive ---- */

/* Signs of word processors, as UTF-8. */
static const struct {
    const char *sign, *name;
} typography[] = {
    {"\xe2\x80\x90", "a hyphen of a word processor (write -)"},
    {"\xe2\x80\x91", "a hyphen of a word processor (write -)"},
    {"\xe2\x80\x92", "a dash of a word processor (write - or --)"},
    {"\xe2\x80\x93", "a dash of a word processor (write - or --)"},
    {"\xe2\x80\x94", "a dash of a word processor (write - or --)"},
    {"\xe2\x88\x92", "a minus sign that is no hyphen (write -)"},
    {"\xe2\x80\x98", "a quote of a word processor (write ')"},
    {"\xe2\x80\x99", "a quote of a word processor (write ')"},
    {"\xe2\x80\x9c", "a quote of a word processor (write \")"},
    {"\xe2\x80\x9d", "a quote of a word processor (write \")"},
    {"\xc2\xa0", "a blank that is none (U+00A0)"},
    {"\xe2\x80\x8b", "a blank that is not seen (U+200B)"},
    {"\xef\xbc\x8d", "a wide hyphen (write -)"},
};

static void typography_look(struct lint_looking *k)
{
    for (size_t i = 0; i < ARRAY_LEN(typography); i++)
        if (memmem(k->line.text.data, k->line.text.len, typography[i].sign,
                   strlen(typography[i].sign)))
            lint_find(k->l, RULE_TYPOGRAPHY, k->line.number, 0, "the line has %s",
                      typography[i].name);
}

/* "--job-name=run#1": of Slurm's words a '#' inside ends the line. */
static void hash_look(struct lint_looking *k, struct span words)
{
    char quote = 0;
    for (size_t i = 0; i < words.len; i++) {
        char c = words.data[i];
        if (c == '\\')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '#' && i > 0 && !script_is_blank(words.data[i - 1]))
            return lint_find(k->l, RULE_CUT_BY_HASH, k->line.number, 0,
                             "what stands behind # is a comment: %.*s; quote the value",
                             (int)(words.len - i < SHOWN ? words.len - i : SHOWN), words.data + i);
        else if (c == '#')
            return;
    }
}

static const char *instead_of(const struct lint *l)
{
    switch (l->dialect) {
    case DIALECT_SLURM: return "write it out, or use %u, %x, %j in file names";
    case DIALECT_LSF: return "write it out, or give the option on the command line";
    case DIALECT_PBS: return "write it out, or give the option on the command line";
    }
    return "";
}

/* Torque puts in some of these in the names of files. */
static bool torque_knows(const struct lint *l, struct span name)
{
    static const char *const known[] = {"PBS_JOBID", "HOME", "TMPDIR"};
    for (size_t i = 0; l->dialect == DIALECT_PBS && l->env->site->torque && i < ARRAY_LEN(known);
         i++)
        if (span_is(name, known[i]))
            return true;
    return false;
}

static void expansion_look(struct lint_looking *k, struct span words)
{
    struct span name;
    size_t at = 0;
    const char *comment = memchr(words.data, '#', words.len);
    if (comment)
        words.len = (size_t)(comment - words.data);
    if (dialect_variable_next(words, &at, &name)) {
        if (!torque_knows(k->l, name))
            lint_find(k->l, RULE_NOT_EXPANDED, k->line.number, 0,
                      "$%.*s stays as it is: no shell looks at directives; %s", (int)name.len,
                      name.data, instead_of(k->l));
    } else if (memmem(words.data, words.len, "$(", 2) || memchr(words.data, '`', words.len)) {
        lint_find(k->l, RULE_NOT_EXPANDED, k->line.number, 0,
                  "the command is not run: no shell looks at directives; %s", instead_of(k->l));
    } else if (memmem(words.data, words.len, "=~/", 3) || memmem(words.data, words.len, " ~/", 3)) {
        lint_find(k->l, RULE_NOT_EXPANDED, k->line.number, 0,
                  "~ is no directory here: no shell looks at directives; write the path out");
    }
}

/* "-nodes=2" is -n with the value odes=2. */
static void dashes_look(struct lint_looking *k, struct span words)
{
    struct span word;
    while (span_next(&words, ' ', &word)) {
        if (word.len < 4 || word.data[0] != '-' || word.data[1] == '-')
            continue;
        const char *equals = memchr(word.data, '=', word.len);
        size_t end = equals ? (size_t)(equals - word.data) : word.len;
        const char *name = arena_strndup(k->l->a, word.data + 1, end - 1);
        if (strlen(name) > 2 && option_named(name, CMD_SBATCH))
            lint_find(k->l, RULE_ONE_DASH, k->line.number, 0,
                      "-%s is read letter by letter; the option has two dashes: -%.*s", name,
                      (int)(word.len < SHOWN ? word.len : SHOWN), word.data);
    }
}

static void directive_look(struct lint_looking *k)
{
    struct span rest;
    if (!script_line_is_of(k->line.text, k->l->dialect, &rest) ||
        (k->line.first_command && k->l->dialect != DIALECT_LSF))
        return;
    if (script_starts_with(k->line.text, "#SLURM"))
        lint_find(k->l, RULE_OLD_DIRECTIVE, k->line.number, 0, "write #SBATCH instead of #SLURM");
    typography_look(k);
    expansion_look(k, rest);
    if (k->l->dialect != DIALECT_SLURM)
        return;
    hash_look(k, rest);
    dashes_look(k, rest);
}

/* ---- commands ---- */

static void variable_look(struct lint_looking *k, struct span name)
{
    enum dialect of;
    bool array = k->l->comp[0].spec.array != NULL;
    enum dialect here = k->l->by_sbatch ? DIALECT_SLURM : k->l->dialect;
    if (!dialect_of_variable(name, &of) || of == here || of == DIALECT_SLURM)
        return;
    const struct dialect_variable *v = dialect_variable_named(name, of, array);
    const char *ours = v ? dialect_variable_in(v, here, k->l->env->site->torque) : NULL;
    if (!v && here == DIALECT_SLURM && of == DIALECT_LSF && !script_starts_with(name, "LSB_"))
        return;
    if (ours)
        lint_find(k->l, RULE_FOREIGN_VARIABLE, k->line.number, 0,
                  "$%.*s is not set in a job of %s; here it is $%s%s%s", (int)name.len, name.data,
                  script_command(here), ours, v->remark ? ": " : "", v->remark ? v->remark : "");
    else
        lint_find(k->l, RULE_FOREIGN_VARIABLE, k->line.number, 0, "$%.*s is not set in a job of %s",
                  (int)name.len, name.data, script_command(here));
}

/* Launchers of other systems, and what starts the tasks here. */
static void launcher_look(struct lint_looking *k)
{
    static const struct {
        const char *name, *here;
    } launchers[] = {
        {"aprun", "srun -n TASKS -N NODES"},
        {"ibrun", "srun"},
    };
    struct span rest = span_trim(k->line.text), word;
    if (!span_next(&rest, ' ', &word))
        return;
    for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
        if (span_is(word, launchers[i].name))
            lint_find(k->l, RULE_FOREIGN_COMMAND, k->line.number, 0,
                      "%s belongs to another system and is not here: %s", launchers[i].name,
                      launchers[i].here);
}

/* Does the script end with a command in the background? What the script leaves behind is ended
 * with it. */
static void background_look(struct lint_looking *k)
{
    struct span t = span_trim(k->line.text);
    bool behind = t.len > 1 && t.data[t.len - 1] == '&' && t.data[t.len - 2] != '&';
    k->background = behind ? k->line.number : 0;
    k->waits = k->waits || memmem(t.data, t.len, "wait", 4) != NULL;
}

static void command_look(struct lint_looking *k)
{
    struct span name;
    size_t at = 0;
    launcher_look(k);
    background_look(k);
    if (memmem(k->line.text.data, k->line.text.len, "PBS_O_WORKDIR", 13) ||
        memmem(k->line.text.data, k->line.text.len, "SLURM_SUBMIT_DIR", 16))
        k->goes_to_submission = true;
    while (dialect_variable_next(k->line.text, &at, &name))
        variable_look(k, name);
}

static void home_look(const struct lint_looking *k)
{
    struct lint *l = k->l;
    if (l->dialect == DIALECT_PBS && !l->by_sbatch && !k->goes_to_submission && !l->pbs.dir)
        lint_find(l, RULE_HOME_DIRECTORY, 0, 0,
                  "the job starts in the home directory, as with PBS; to start where it was "
                  "submitted, write before the first command: cd $PBS_O_WORKDIR");
}

void lint_lines_look(struct lint *l, const char *name)
{
    struct lint_looking k = {.l = l};
    struct script_lines lines = {.rest = {l->text, l->len}, .reads = l->dialect};
    script_look(l, name);
    while (script_line_next(&lines, &k.line)) {
        k.shown = shown(&k);
        shebang_look(&k);
        continued_look(&k);
        misspelt_look(&k);
        late_look(&k);
        directive_look(&k);
        if (k.line.command)
            command_look(&k);
    }
    home_look(&k);
    if (k.background && !k.waits)
        lint_find(l, RULE_LEFT_RUNNING, k.background, 0,
                  "the script ends while this runs in the background, and the job with it, which "
                  "kills it; leave the & out, or end the script with: wait");
}
