/* The options of qsub, and the lines of scripts that hold them. */
#include "script/pbs/pbs.h"

#include "base/alloc.h"
#include "script/dialect_rows.h"
#include "script/pbs/write.h"

#include <string.h>

#define PBS_SETTER(name)                                                                           \
    static bool name##_in(struct pbs_request *r, const struct option_row *row, const char *value,  \
                          const struct option_env *env, struct arena *a, struct err *ret_err);     \
    static SETTER(name)                                                                            \
    {                                                                                              \
        return name##_in(to, row, value, env, a, ret_err);                                         \
    }                                                                                              \
    static bool name##_in(struct pbs_request *r, const struct option_row *row, const char *value,  \
                          const struct option_env *env, struct arena *a, struct err *ret_err)

static bool refuse(const struct option_row *row, const char *value, const char *allowed,
                   struct err *e)
{
    return dialect_blame_row(e, row, value, allowed);
}

PBS_SETTER(set_resources)
{
    return pbs_resources_read(r, value, a, ret_err);
}

/* psij writes -N="x". */
PBS_SETTER(set_name)
{
    size_t len = strlen(value);
    if (*value == '=') {
        value++;
        len--;
    }
    if (len >= 2 && strchr("'\"", value[0]) && value[len - 1] == value[0]) {
        value++;
        len -= 2;
    }
    r->name = arena_strndup(a, value, len);
    if (strpbrk(r->name, " \t\n\v\f\r"))
        return refuse(row, r->name, "a name of PBS has no blanks", ret_err);
    return len > 0 || refuse(row, value, "a name is needed", ret_err);
}

/* Q, Q@SERVER, @SERVER: there is one server. */
PBS_SETTER(set_queue)
{
    const char *at = strchr(value, '@');
    r->queue = at ? arena_strndup(a, value, (size_t)(at - value)) : arena_strdup(a, value);
    if (text_empty(r->queue))
        r->queue = NULL;
    if (!at || !r->site->pbs_server || text_is(at + 1, r->site->pbs_server))
        return true;
    return dialect_refuse(ret_err, arena_printf(a, "-q @%s", at + 1), "this server is %s",
                          r->site->pbs_server);
}

PBS_SETTER(set_array)
{
    r->array = arena_strdup(a, value);
    r->array_torque = row->name[0] == 't';
    return *value || refuse(row, value, "indexes are needed: 0-9", ret_err);
}

PBS_SETTER(set_project)
{
    if (r->site->torque && text_is(r->site->user, "root"))
        return dialect_refuse(ret_err, "-P of root (run as another user)",
                              "submit as that user; of other users it is the account");
    r->project = arena_strdup(a, value);
    return true;
}

PBS_SETTER(set_directory)
{
    r->dir = r->origin = arena_strdup(a, value);
    return *value || refuse(row, value, "a directory is needed", ret_err);
}

/* USER[@HOST],…: who submits is the only one it may be. */
PBS_SETTER(set_user)
{
    size_t len = strcspn(value, "@,");
    const char *self = r->site->user;
    if (self && strlen(self) == len && strncmp(self, value, len) == 0)
        return true;
    return dialect_refuse(ret_err, "-u with another user", "submit as that user");
}

PBS_SETTER(set_join)
{
    if (text_is(value, "oe") || text_is(value, "eo"))
        r->join = value[0];
    else if (!text_is(value, "n"))
        return refuse(row, value, "oe, eo and n are allowed (-j y of Grid Engine is -j oe)",
                      ret_err);
    return true;
}

PBS_SETTER(set_drop)
{
    r->drop_out = strchr(value, 'o') != NULL;
    r->drop_err = strchr(value, 'e') != NULL;
    return strspn(value, "oe") == strlen(value) ||
           refuse(row, value, "o, e and oe are allowed", ret_err);
}

/* Torque's; Grid Engine's is y or n. */
PBS_SETTER(set_tries)
{
    if (!*value || strspn(value, "0123456789") != strlen(value))
        return refuse(row, value,
                      "seconds are needed; -b y of Grid Engine is \"qsub -- COMMAND\" here",
                      ret_err);
    pbs_note(r, a, "-b", "a controller that is away is waited for");
    return true;
}

/* "oe", "doe", "n" */
PBS_SETTER(set_keep)
{
    if (!*value || strspn(value, "oedn") != strlen(value) ||
        (strchr(value, 'n') && !text_is(value, "n")))
        return refuse(row, value, "o, e, d and n are allowed", ret_err);
    if (!text_is(value, "n"))
        pbs_note(r, a, "-k", "output is written to its file directly");
    return true;
}

PBS_SETTER(set_mail_points)
{
    r->mail_points = arena_strdup(a, value);
    return (*value && strspn(value, "abefjnp") == strlen(value)) ||
           refuse(row, value, "a, b, e, f, j, n and p are allowed", ret_err);
}

static bool two_digits(const char *text, int *ret)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return false;
    *ret = 10 * (text[0] - '0') + text[1] - '0';
    return true;
}

/* [[[[CC]YY]MM]DD]hhmm[.SS]: what is missing is as near in the future as can be. */
PBS_SETTER(set_begin)
{
    size_t digits = strspn(value, "0123456789");
    int f[6] = {0}, n = (int)(digits / 2), seconds = 0;
    struct civil now, c;
    bool ok = digits % 2 == 0 && n >= 2 && n <= 6;
    for (int i = 0; ok && i < n; i++)
        ok = two_digits(value + 2 * i, &f[6 - n + i]);
    if (value[digits] == '.')
        ok = ok && two_digits(value + digits + 1, &seconds) && !value[digits + 3];
    else
        ok = ok && !value[digits];
    if (!ok || f[4] > 23 || f[5] > 59 || f[2] > 12 || f[3] > 31 || seconds > 59)
        return refuse(row, value, "[[[[CC]YY]MM]DD]hhmm[.SS] is needed", ret_err);
    env->zone->sec_to_local(civil_sec(env->now_us), &now);
    c = (struct civil){.year = now.year,
                       .month = now.month,
                       .day = now.day,
                       .hour = f[4],
                       .minute = f[5],
                       .second = seconds};
    if (n >= 3)
        c.day = f[3];
    if (n >= 4)
        c.month = f[2];
    if (n >= 5)
        c.year = (n == 6 ? f[0] : 20) * 100 + f[1];
    int64_t sec = env->zone->local_to_sec(&c);
    if (sec < civil_sec(env->now_us) && n < 5) {
        c.year += n == 4 || (n == 3 && c.month == 12);
        c.month = n == 3 ? c.month % 12 + 1 : c.month;
        sec = n == 2 ? sec + 24 * 3600 : env->zone->local_to_sec(&c);
    }
    struct str text = STR_INIT;
    civil_format_iso(sec * USEC_PER_SEC, env->zone, &text);
    r->begin = arena_strdup(a, str_text(&text));
    str_done(&text);
    return true;
}

PBS_SETTER(set_priority)
{
    int64_t n;
    if (!text_to_i64(value[0] == '+' ? value + 1 : value, -1024, 1023, &n))
        return refuse(row, value, "-1024 to 1023 is allowed", ret_err);
    r->priority = (int32_t)n;
    if (n > 0)
        pbs_note(r, a, "-p above 0", "users cannot raise a priority");
    return true;
}

PBS_SETTER(set_rerun)
{
    r->rerun_no = text_is(value, "n");
    return text_is(value, "y") || text_is(value, "n") ||
           refuse(row, value, "y and n are allowed", ret_err);
}

/* -v A,B=1: several of the command line add up; of the script's lines the last counts. */
PBS_SETTER(set_variables)
{
    r->variables = r->variables && r->in_script == false
                       ? arena_printf(a, "%s,%s", r->variables, value)
                       : arena_strdup(a, value);
    return true;
}

/* Attributes of -W: what the command line gives of them no line of the script does. */
static const char *const attributes[] = {"depend", "block", "umask", "group_list", "x"};

static bool attribute_was_given(struct pbs_request *r, struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
        if (span_is(name, attributes[i])) {
            bool before = r->attributes_given >> i & 1;
            r->attributes_given |= r->in_script ? 0 : 1u << i;
            return r->in_script && before;
        }
    return false;
}

/* Octal; without a 0 before it Torque's is decimal. */
static bool umask_set(struct pbs_request *r, const char *text, struct arena *a, struct err *e)
{
    size_t zeros = strspn(text, "0"), digits = strspn(text + zeros, "01234567");
    int64_t n;
    r->umask = text;
    if (!r->site->torque || zeros)
        return (zeros + digits && !text[zeros + digits] && digits <= 3) ||
               dialect_blame(e, "-W umask", text, "octal digits up to 777 are needed");
    if (!text_to_i64(text, 0, 0777, &n))
        return dialect_blame(e, "-W umask", text,
                             "a number up to 511, or octal digits up to 0777 are needed");
    r->umask = arena_printf(a, "%llo", (unsigned long long)n);
    return true;
}

static bool attribute_set(struct pbs_request *r, struct span name, struct span value,
                          struct arena *a, struct err *e)
{
    const char *text = arena_strndup(a, value.data, value.len);
    if (attribute_was_given(r, name))
        return true;
    if (span_is(name, "depend"))
        return (r->depend = pbs_depend_read(text, a, e)) != NULL;
    if (span_is(name, "block")) {
        r->wait = text_is(text, "true");
        return true;
    }
    if (span_is(name, "umask")) {
        return umask_set(r, text, a, e);
    }
    if (span_is(name, "group_list")) {
        r->group = arena_strndup(a, text, strcspn(text, "@,"));
        return true;
    }
    if (span_is(name, "x") && text_starts_nocase(text, "advres:")) {
        r->reservation = text + strlen("advres:");
        return true;
    }
    if (span_is(name, "run_count")) {
        pbs_note(r, a, "-W run_count", "runs are counted by what happened");
        return true;
    }
    return dialect_refuse(e, arena_printf(a, "-W %.*s", (int)name.len, name.data),
                          "depend, block, umask, group_list and x=advres: are taken; files are "
                          "copied in the script");
}

/* -W a=b,c=d; commas inside depend= begin its next item. */
PBS_SETTER(set_attributes)
{
    const char *at = value;
    while (*at) {
        size_t name = strcspn(at, "="), len = name;
        if (!at[name])
            return refuse(row, value, "NAME=VALUE is needed", ret_err);
        bool depend = name == 6 && memcmp(at, "depend", 6) == 0;
        for (len = name + 1; at[len]; len++)
            if (at[len] == ',' && (!depend || at[len + 1 + strcspn(at + len + 1, ",:=")] == '='))
                break;
        if (!attribute_set(r, (struct span){at, name}, (struct span){at + name + 1, len - name - 1},
                           a, ret_err))
            return false;
        at += len + (at[len] == ',');
    }
    return true;
}

#define AT_(member) offsetof(struct pbs_request, member)

/* Words of Grid Engine's qsub: letter by letter they would be options of PBS, and mean another job.
 */
#define GRID_(name_, arg_, why_)                                                                   \
    {                                                                                              \
        .name = name_, .arg = arg_, .support = SUPPORT_REFUSED, .doc = "of Grid Engine's qsub",    \
        .why = "it is Grid Engine's, and this qsub takes the words of PBS; " why_, .hidden = true  \
    }

static const struct option_row rows[] = {
    VALUE_("A", "account", "account to charge", set_text, .at = AT_(account), .becomes = "account",
           .write = pbs_write_account),
    VALUE_("C", "prefix", "what lines of the script begin with that hold options", set_any_text,
           .at = AT_(prefix)),
    REFUSED_("D", ARG_REQUIRED, "root directory of the job", "-d names its work directory"),
    VALUE_("F", "arguments", "arguments of the script", set_text, .at = AT_(args)),
    FLAG_("I", "interactive: a shell on the first node, at this terminal", set_flag,
          .at = AT_(interactive)),
    VALUE_("J", "x-y[:z][%k]", "an array", set_array, .becomes = "array", .write = pbs_write_array),
    REFUSED_("K", ARG_REQUIRED, "time between SIGTERM and SIGKILL", "it is KillWait, for all jobs"),
    VALUE_("M", "addresses", "who gets the mail", set_text, .at = AT_(mail_to),
           .write = pbs_write_mail_to, .becomes = "mail-user mail-type"),
    VALUE_("N", "name", "name; default: that of the script, or STDIN", set_name,
           .becomes = "job-name", .write = pbs_write_name),
    VALUE_("P", "project", "project: the account, without -A (Torque: a user; refused)",
           set_project, .becomes = "account", .write = pbs_write_project),
    VALUE_("R", "o|e|oe", "streams that are not kept", set_drop, .becomes = "output error"),
    VALUE_("S", "path", "shell of the script", set_text, .at = AT_(shell)),
    REFUSED_("T", ARG_REQUIRED, "programs before and after", "call them in the script"),
    FLAG_("V", "the whole environment goes with it", set_flag, .at = AT_(whole_environment),
          .write = pbs_write_environment, .becomes = "export"),
    VALUE_("W", "attributes", "depend=…, block=true, umask=…, x=advres:NAME", set_attributes,
           .becomes = "dependency reservation gid wait", .write = pbs_write_attributes),
    REFUSED_("X", ARG_NONE, "forward X11",
             "X11 is not forwarded; ssh -X to the node works where the site allows it"),
    VALUE_("a", "time", "not before [[[[CC]YY]MM]DD]hhmm[.SS]", set_begin, .becomes = "begin",
           .write = pbs_write_begin),
    VALUE_("b", "seconds", "how long to try (a controller that is away is waited for)", set_tries),
    GRID_("binding", ARG_REQUIRED, "CPUs are those of -l ncpus="),
    IDLE_("c", ARG_REQUIRED, "checkpoints", "programs write their own"),
    GRID_("ckpt", ARG_REQUIRED, "programs write their own checkpoints"),
    GRID_("cwd", ARG_NONE, "-d . starts it here, or cd $PBS_O_WORKDIR in the script"),
    VALUE_("d", "dir", "work directory", set_text, .at = AT_(dir), .becomes = "chdir",
           .write = pbs_write_directory),
    GRID_("dl", ARG_REQUIRED, "-l walltime= bounds how long it runs"),
    VALUE_("e", "path", "standard error; default NAME.eID", set_text, .at = AT_(err_file),
           .write = pbs_write_error, .becomes = "error"),
    FLAG_("f", "goes on when one of its nodes fails (Torque; of Pro: no daemon, there is none)",
          set_flag, .at = AT_(fault_tolerant), .becomes = "no-kill", .write = pbs_write_tolerant),
    FLAG_("h", "submit held; qrls lets it go", set_flag, .at = AT_(hold), .becomes = "hold",
          .write = pbs_write_hold),
    GRID_("hard", ARG_NONE, "all of -l is hard"),
    FLAG_("help", "show this help", set_flag, .at = AT_(help)),
    GRID_("hold_jid", ARG_REQUIRED, "-W depend=afterany:ID waits for a job"),
    GRID_("hold_jid_ad", ARG_REQUIRED, "-W depend=afterany:ID waits for a job"),
    REFUSED_("i", ARG_REQUIRED, "idle slots", "an array's %K bounds how many run at once"),
    VALUE_("j", "oe|eo|n", "one file for both streams", set_join, .becomes = "output error",
           .write = pbs_write_join),
    GRID_("js", ARG_REQUIRED, "-p is the priority"),
    GRID_("jsv", ARG_REQUIRED, "leave it out"),
    VALUE_("k", "oedn", "streams that stay on the node (all are written directly)", set_keep),
    VALUE_("l", "resources", "select, place, nodes, ncpus, mem, walltime …", set_resources,
           .becomes =
               "nodes ntasks ntasks-per-node cpus-per-task mem mem-per-cpu gpus gpus-per-node "
               "gpus-per-task time nodelist constraint tmp qos licenses switches exclusive",
           .write = pbs_resources_write),
    FLAG_("lint", "say what it means and what looks wrong, submit nothing (Remuda's own)", set_flag,
          .at = AT_(lint)),
    VALUE_("m", "abefjnp", "mail at abort, begin, end; n = none", set_mail_points,
           .becomes = "mail-type", .write = pbs_write_mail_points),
    GRID_("masterq", ARG_REQUIRED, "-q names the queue"),
    FLAG_("n", "nodes for itself", set_flag, .at = AT_(l.exclusive), .becomes = "exclusive",
          .write = pbs_write_exclusive),
    GRID_("notify", ARG_NONE, "SIGTERM comes before SIGKILL anyway"),
    GRID_("now", ARG_REQUIRED, "qsub -I waits; sinfo says what is free"),
    VALUE_("o", "path", "standard output; default NAME.oID", set_text, .at = AT_(out),
           .write = pbs_write_output, .becomes = "output"),
    VALUE_("p", "n", "priority, -1024 to 1023", set_priority, .becomes = "nice",
           .write = pbs_write_priority),
    GRID_("pe", ARG_REQUIRED, "-l nodes=N:ppn=P or -l select=N:ncpus=P asks for more than a CPU"),
    VALUE_("q", "queue", "queue", set_queue, .becomes = "partition", .write = pbs_write_queue),
    VALUE_("r", "y|n", "run it again when a node fails (y)", set_rerun,
           .becomes = "requeue no-requeue", .write = pbs_write_rerun),
    GRID_("shell", ARG_REQUIRED, "-S names the shell"),
    GRID_("soft", ARG_NONE, "all of -l is hard"),
    GRID_("sync", ARG_REQUIRED, "-W block=true waits for the end"),
    VALUE_("t", "list[%k]", "an array (Torque)", set_array, .becomes = "array",
           .write = pbs_write_torque_array),
    GRID_("tc", ARG_REQUIRED, "an array's %N bounds how many run at once: -J 1-10%2"),
    GRID_("terse", ARG_NONE, "it prints the number alone anyway"),
    VALUE_("u", "user", "run as this user: oneself", set_user),
    VALUE_("v", "names", "variables that go with it: A,B=1", set_variables, .becomes = "export",
           .write = pbs_write_variables),
    GRID_("verify", ARG_NONE, "--lint says what it means and submits nothing"),
    FLAG_("version", "show the version", set_flag, .at = AT_(version)),
    VALUE_("w", "dir", "work directory, and PBS_O_WORKDIR", set_directory, .becomes = "chdir"),
    GRID_("wd", ARG_REQUIRED, "-d names the work directory"),
    REFUSED_("x", ARG_REQUIRED, "command of an interactive job", "give it as the script"),
    FLAG_("z", "do not print the id", set_flag, .at = AT_(quiet)),
};
OPTION_TABLE(qsub_options, rows, .usage = "qsub [OPTIONS] [script [arguments] | -- command …]",
             .words = WORDS_END, .one_dash = true, .letters_attach = true);

/* ---- reading ---- */

struct qsub_taker {
    struct pbs_request *r;
    const struct option_env *env;
    struct arena *a;
};

static bool option_take(void *ctx, const struct option_row *row, const char *value,
                        struct err *ret_err)
{
    const struct qsub_taker *t = ctx;
    size_t i = (size_t)(row - rows);
    bool adds = text_is(row->name, "l") || text_is(row->name, "W"); /* resource by resource */
    if (t->r->in_script && t->r->given[i] && !adds)
        return true;
    bool ok = row->support == SUPPORT_REFUSED
                  ? dialect_refuse(ret_err, arena_printf(t->a, "-%s", row->name), "%s", row->why)
                  : row->set(t->r, row, value, t->env, t->a, ret_err);
    if (!t->r->in_script)
        t->r->given[i] = true;
    if (row->support == SUPPORT_NO_EFFECT)
        pbs_note(t->r, t->a, arena_printf(t->a, "-%s", row->name), row->why);
    if (ok && adds)
        pbs_resources_note(t->r, t->a);
    return option_watched(t->env, row, value, ok, ret_err);
}

bool pbs_read_words(struct pbs_request *r, int argc, char *const argv[],
                    const struct option_env *env, struct arena *a, int *ret_rest,
                    struct err *ret_err)
{
    _Static_assert(ARRAY_LEN(rows) <= ARRAY_LEN(((struct pbs_request *)0)->given), "given[]");
    struct qsub_taker t = {r, env, a};
    return options_walk(&qsub_options, argc, argv, option_take, NULL, &t, ret_rest, ret_err);
}
