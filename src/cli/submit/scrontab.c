/* scrontab: a user's table of jobs that come again and again. It is read here, each entry becomes
 * a job as sbatch would make one, and the whole goes to the controller, which takes all or
 * nothing. */
#include "cli/submit/scrontab.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/submit/check.h"
#include "cli/submit/command.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "script/scrontab.h"
#include "wire/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME          "scrontab"
#define COMMAND_SHOWN 8000 /* bytes of a command that scontrol shows */

static const char example[] =
    "# Each line is a job that runs again and again:\n"
    "#\n"
    "#   minute (0-59)  hour (0-23)  day of the month (1-31)  month (1-12)  day of the week (0-7)  "
    "command\n"
    "#\n"
    "# or @hourly, @daily, @weekly, @monthly, @yearly and the command. Lines #SCRON hold options "
    "of\n"
    "# sbatch for the next entry:\n"
    "#\n"
    "#   #SCRON -t 10 -o backup.log --open-mode=append\n"
    "#   30 2 * * * ./backup.sh\n";

struct scrontab_line {
    struct arena *a;
    bool edit, list, remove, ask;
    int verbose;
    const char *user; /* as asked; NULL = who asks */
    const char *file; /* "-" = standard input */
    /* of the user */
    uint32_t uid;
    const char *name, *home;
    struct submit_command submit; /* how jobs are made */
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct scrontab_line *s = to;
    if (s->file)
        return err_set(ret_err, ERR_INVALID, "one file is installed, not %s and %s", s->file, word);
    s->file = word;
    return true;
}

#define AT(member) offsetof(struct scrontab_line, member)
static const struct option_row rows[] = {
    OPT_FLAG("edit", 'e', "change the table in an editor (VISUAL, EDITOR)", AT(edit)),
    OPT_ACCEPTED("help", 0, ARG_NONE, "this text"),
    OPT_FLAG("interactive", 'i', "with -r: ask first", AT(ask)),
    OPT_FLAG("list", 'l', "show the table", AT(list)),
    OPT_FLAG("remove", 'r', "remove the table; what runs goes on, what waits is cancelled",
             AT(remove)),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines"),
    OPT_VALUE("user", 'u', "user", "the table of this user (root; to list: operators)",
              set_any_text, AT(user)),
    {.name = "verbose", .letter = 'v', .doc = "say more", .set = set_count, .at = AT(verbose)},
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
};
OPTION_TABLE(scrontab_options, rows, .usage = "scrontab [OPTIONS] [FILE|-]",
             .about = "  Installs the table in FILE (-: standard input), or -e, -l, -r.\n",
             .words = WORDS_MIXED, .word = word_take);

/* ---- jobs ---- */

/* What its command is called. */
static const char *job_name(const char *command, struct arena *a)
{
    char *word = arena_strndup(a, command, strcspn(command, " \t;&|<>"));
    const char *slash = strrchr(word, '/');
    return slash && slash[1] ? slash + 1 : *word ? word : NAME;
}

static bool env_make(struct scrontab_line *s, const struct submit_options *o, struct blob *ret,
                     struct err *e)
{
    static char *const nothing[] = {NULL}; /* all else is of the login that the node makes */
    struct arena *a = s->a;
    const char *extra[4 + SUBMIT_ENV_OPTIONS + 1] = {
        arena_printf(a, "SLURM_SUBMIT_DIR=%s", s->home),
        arena_printf(a, "SLURM_SUBMIT_HOST=%s", o->spec.alloc_host),
        arena_printf(a, "SLURM_PRIO_PROCESS=%d", submit_nice()),
        arena_printf(a, "SLURM_UMASK=%04o", (unsigned)o->spec.umask_plus1 - 1),
    };
    submit_env_options(o, CMD_SBATCH, a, extra + 4);
    struct env_ask ask = {.environ = nothing, .export_env = o->spec.export_env, .extra = extra};
    struct str env = STR_INIT;
    bool ok = submit_env_capture(&ask, &env, e);
    if (ok)
        *ret = (struct blob){arena_dup(a, env.data, env.len), env.len};
    str_done(&env);
    return ok;
}

static bool entry_make(struct scrontab_line *s, const struct scrontab_entry *from,
                       struct cron_entry *ret, struct err *e)
{
    struct submit_options *o = from->options;
    struct job_spec *j = &o->spec;
    const char *script = scrontab_script(from, s->a);
    j->batch = true;
    j->name = j->name ? j->name : job_name(from->command, s->a);
    j->command = arena_strndup(s->a, from->command,
                               utf8_cut(from->command, strlen(from->command), COMMAND_SHOWN));
    submit_spec_complete(&s->submit, o);
    j->get_user_env = !text_is_nocase(j->export_env, "NIL");
    *ret = (struct cron_entry){.cron = from->when,
                               .first = from->first,
                               .last = from->last,
                               .spec = {j, 1},
                               .script = {script, strlen(script)}};
    return (env_make(s, o, &ret->env, e) && submit_spec_check(j, e)) ||
           err_prefix(e, "line %u", from->last);
}

/* ---- installing ---- */

static void lines_print(struct str *lines, bool error)
{
    struct span rest = {str_text(lines), lines->len}, line;
    while (lines->len && span_next(&rest, '\n', &line))
        if (error)
            program_error(NAME, "%.*s", (int)line.len, line.data);
        else
            fprintf(stderr, NAME ": %.*s\n", (int)line.len, line.data);
}

static bool answer_take(const struct msg_done *done)
{
    const struct result *result = done->results.v;
    for (size_t i = 0; i < done->results.n; i++)
        program_error(
            NAME, "line %s: %s%s%s", result[i].ref, refusal_text((enum refusal)result[i].refusal),
            text_empty(result[i].detail) ? "" : ": ", result[i].detail ? result[i].detail : "");
    if (done->refusal && !done->results.n)
        program_error(NAME, "%s%s%s", refusal_text((enum refusal)done->refusal),
                      text_empty(done->detail) ? "" : ": ", done->detail ? done->detail : "");
    struct str warnings = STR_INIT;
    str_add(&warnings, done->warning ? done->warning : "");
    lines_print(&warnings, false);
    str_done(&warnings);
    return !done->refusal;
}

/* NULL = no table. */
static bool table_send(struct scrontab_line *s, const char *text, struct cron_entry *entry,
                       size_t n)
{
    struct msg_set_crontab m = {.text = text, .entries = {entry, n}};
    struct message answer;
    struct err e = {0};
    struct client *c = program_connect(NAME, s->submit.state_dir);
    if (!c)
        return false;
    program_finish_first();
    bool ok = client_call(c, MSG_SET_CRONTAB, &m, 0, s->a, &answer, &e);
    client_close(c);
    if (ok && answer.kind == MSG_DONE)
        return answer_take(answer.body);
    program_error(NAME, "%s",
                  ok ? "the controller gave an answer that belongs to no table" : e.text);
    return false;
}

/* Lines that end as on Windows end as here: the table is kept, and shown, without what is no text.
 */
static const char *lines_ended(const char *text, struct arena *a)
{
    char *plain = arena_strdup(a, text), *to = plain;
    for (const char *p = text; *p; p++)
        if (*p != '\r' || (p[1] && p[1] != '\n'))
            *to++ = *p;
    *to = 0;
    return plain;
}

static bool table_install(struct scrontab_line *s, const char *text)
{
    struct scrontab table;
    struct err e = {0};
    text = lines_ended(text, s->a);
    bool ok = scrontab_parse(text, &s->submit.env, s->a, &table);
    size_t n = table.entry.n;
    struct cron_entry *entry = arena_alloc(s->a, (n ? n : 1) * sizeof *entry);
    lines_print(&table.warnings, false);
    lines_print(&table.wrong, true);
    for (size_t i = 0; ok && i < n; i++)
        if (!(ok = entry_make(s, &table.entry.v[i], &entry[i], &e)))
            program_error(NAME, "%s", e.text);
    ok = ok && table_send(s, text, entry, n);
    if (ok && s->verbose)
        fprintf(stderr, NAME ": the table of %s has %zu entries\n", s->name, n);
    scrontab_done(&table);
    return ok;
}

/* ---- what is there ---- */

/* False: it could not be learnt, which is said. */
static bool table_get(struct scrontab_line *s, const char **ret)
{
    struct msg_get_crontab m = {.user_plus1 = s->uid + 1};
    struct message answer;
    struct err e = {0};
    struct client *c = program_connect(NAME, s->submit.state_dir);
    if (!c)
        return false;
    bool ok = client_call(c, MSG_GET_CRONTAB, &m, 0, s->a, &answer, &e);
    client_close(c);
    if (ok && answer.kind == MSG_CRONTAB) {
        *ret = ((const struct msg_crontab *)answer.body)->text;
        return true;
    }
    if (ok && answer.kind == MSG_DONE)
        return answer_take(answer.body);
    program_error(NAME, "%s", e.text);
    return false;
}

static int no_table(const struct scrontab_line *s)
{
    fprintf(stderr, "no crontab for %s\n", s->name);
    return 1;
}

static int list(struct scrontab_line *s)
{
    const char *text = NULL;
    struct str plain = STR_INIT;
    if (!table_get(s, &text))
        return 1;
    if (!text)
        return no_table(s);
    /* What somebody else wrote moves no terminal; a file gets it as it is. */
    if (s->uid != getuid() && isatty(STDOUT_FILENO))
        str_add_plain_lines(&plain, text);
    fputs(plain.len ? str_text(&plain) : text, stdout);
    str_done(&plain);
    return 0;
}

static bool yes(const char *question)
{
    char answer[16] = "";
    for (;;) {
        printf("%s (y/n) ", question);
        fflush(stdout);
        if (!fgets(answer, sizeof answer, stdin))
            return false;
        if (*answer == 'y' || *answer == 'Y')
            return true;
        if (*answer == 'n' || *answer == 'N')
            return false;
    }
}

static int remove_table(struct scrontab_line *s)
{
    const char *text = NULL;
    if (!table_get(s, &text))
        return 1;
    if (!text)
        return no_table(s);
    if (s->ask && !yes("Remove the table and cancel its waiting jobs?"))
        return 1;
    return table_send(s, NULL, NULL, 0) ? 0 : 1;
}

static bool become(const struct scrontab_line *s, struct err *e)
{
    return submit_become(arena_printf(s->a, "%u", (unsigned)s->uid), NULL, e);
}

/* The editor has root's terminal and environment, and what is executed as another is open to all
 * of his processes: it runs as root, and a process that executes nothing asks in the other's name
 * (decision 173). */
static bool edited_install(struct scrontab_line *s, const char *text)
{
    struct err e = {0};
    int status = -1;
    if (s->uid == getuid())
        return table_install(s, text);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        bool ok = become(s, &e);
        if (!ok)
            program_error(NAME, "%s", e.text);
        ok = ok && table_install(s, text);
        fflush(NULL);
        _exit(ok ? 0 : 1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid < 0)
        program_error(NAME, "the table cannot be sent: %s", strerror(errno));
    return status == 0;
}

/* What was written is never lost: the file stays until its text is installed. */
static int edit(struct scrontab_line *s)
{
    const char *before = NULL, *text;
    struct err e = {0};
    if (!table_get(s, &before))
        return 1;
    const char *path = scrontab_file_make(before ? before : example, s->a, &e);
    if (!path) {
        program_error(NAME, "%s", e.text);
        return 1;
    }
    for (;;) {
        text = scrontab_file_edit(path, s->a, &e);
        if (!text)
            program_error(NAME, "%s", e.text);
        bool same = text && text_is(text, before ? before : example);
        if (same)
            fprintf(stderr, NAME ": nothing was changed\n");
        if (same || (text && edited_install(s, text))) {
            unlink(path);
            return 0;
        }
        if (!yes("The table was not changed. Edit it again?")) {
            fprintf(stderr, NAME ": your text is in %s\n", path);
            return 1;
        }
    }
}

static int install(struct scrontab_line *s, const char *text)
{
    if (table_install(s, text))
        return 0;
    program_error(NAME, "the table was not changed");
    return 1;
}

/* ---- the whole ---- */

static bool user_find(struct scrontab_line *s, struct err *e)
{
    uint64_t number;
    const struct passwd *pw = s->user ? user_by_name(s->user) : user_by_uid(getuid());
    if (!pw && s->user && text_to_u64(s->user, UINT32_MAX - 2, &number))
        pw = user_by_uid((uid_t)number);
    if (!pw && s->user)
        return err_set(e, ERR_NOT_FOUND, "there is no user %s here", s->user);
    s->uid = pw ? pw->pw_uid : getuid();
    s->name = pw ? arena_strdup(s->a, pw->pw_name) : arena_printf(s->a, "%u", (unsigned)s->uid);
    s->home = pw && *pw->pw_dir ? arena_strdup(s->a, pw->pw_dir) : "/";
    if (s->uid == getuid() || s->list || getuid() == 0)
        return true;
    return err_set(e, ERR_DENIED, "only root may change the table of another user");
}

static bool line_check(const struct scrontab_line *s, struct err *e)
{
    int asked = s->edit + s->list + s->remove + (s->file != NULL);
    if (asked == 1 && (!s->ask || s->remove))
        return true;
    return err_set(e, ERR_INVALID,
                   asked != 1
                       ? "one of these: a FILE to install (- is standard input), -e to edit, -l to "
                         "list, -r to remove"
                       : "-i belongs to -r");
}

/* Whoever's table it is asks: the file of root is read before, and what is executed is root's. */
static int run(struct scrontab_line *s)
{
    struct err e = {0};
    const char *text = NULL;
    bool from_file = s->file && !text_is(s->file, "-");
    if (!line_check(s, &e) || !user_find(s, &e)) {
        program_error(NAME, "%s", e.text);
        return 1;
    }
    s->submit.state_dir = state_dir_find(NULL, s->a);
    s->submit.cwd = s->home;
    int fd = from_file ? open(s->file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (fd < 0)
        err_set(&e, ERR_NOT_FOUND, "%s: %s", s->file, strerror(errno));
    else if (s->file)
        text = scrontab_read_fd(fd, from_file ? s->file : "standard input", s->a, &e);
    if ((s->file && !text) ||
        (s->user && s->uid != getuid() && !s->list && !s->edit && !become(s, &e))) {
        program_error(NAME, "%s", e.text);
        return 1;
    }
    return s->file ? install(s, text) : s->edit ? edit(s) : s->list ? list(s) : remove_table(s);
}

int cmd_scrontab(int argc, char **argv)
{
    struct err e = {0};
    struct scrontab_line s = {.a = arena_new()};
    struct option_line line = {.table = &scrontab_options, .to = &s, .a = s.a};
    int status = 1;
    submit_command_init(&s.submit, NAME, CMD_SBATCH, argc, argv, s.a);
    if (!option_line_read(&line, argc, argv, &e))
        program_usage_error(NAME, &e);
    else
        status = program_information(&line) ? 0 : run(&s);
    submit_command_done(&s.submit);
    arena_free(s.a);
    return status;
}
