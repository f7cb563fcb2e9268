/* scontrol: options may stand anywhere, commands and entities may be cut short. Without a command
 * it asks for them, one a line. */
#include "cli/scontrol/scontrol.h"
#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/table/listing.h"
#include "model/job/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the commands --------------------------------------------------------------------------- */

static void version_run(struct scontrol *s, int n, char **word)
{
    (void)word;
    if (n > 0)
        scontrol_refuse(s, "too many arguments for version keyword");
    else
        puts(SLURM_VERSION_TEXT);
}

static void cluster_run(struct scontrol *s, int n, char **word)
{
    struct err err = {0};
    const char *own = cluster_name(state_dir_find(NULL, s->a), s->a);
    if (n && !listing_cluster_check("scontrol", word[0], "--cluster", own, &err))
        scontrol_fail(s, "%s", err.text);
}

static void help_run(struct scontrol *s, int n, char **word);

/* What the words of the prompt switch. */
enum scontrol_toggle {
    TOGGLE_NONE,
    TOGGLE_ALL,
    TOGGLE_HIDE,
    TOGGLE_DETAILS,
    TOGGLE_ONELINER,
    TOGGLE_QUIET,
    TOGGLE_VERBOSE,
    TOGGLE_LEAVE
};

static const struct scontrol_command {
    const char *name;
    size_t least; /* letters that must be given */
    int min, max; /* words after it */
    void (*run)(struct scontrol *s, int n, char **word);
    enum scontrol_toggle toggle;
    const char *doc; /* NULL: not supported yet, or a toggle */
} commands[] = {
    {"show", 2, 1, 999, scontrol_show, TOGGLE_NONE,
     "job, node, partition, step, config, hostnames, hostlist, hostlistsorted, daemons, licenses, "
     "… [NAME]"},
    {"update", 1, 1, 999, scontrol_update, TOGGLE_NONE,
     "JobId=… | StepId=… | NodeName=… | PartitionName=… | ReservationName=… KEY=VALUE…"},
    {"create", 2, 1, 999, scontrol_create, TOGGLE_NONE,
     "PartitionName=NAME Nodes=LIST KEY=VALUE… | reservation [NAME] StartTime=… Duration=… Users=… "
     "Nodes=…"},
    {"delete", 2, 1, 999, scontrol_delete, TOGGLE_NONE,
     "PartitionName=NAME | ReservationName=NAME"},
    {"hold", 2, 1, 999, scontrol_hold, TOGGLE_NONE,
     "JOB… | jobname=NAME: keep waiting jobs from starting"},
    {"holdu", 5, 1, 999, scontrol_holdu, TOGGLE_NONE, NULL},
    {"uhold", 2, 1, 999, scontrol_uhold, TOGGLE_NONE, "JOB…: the same; the owner may release them"},
    {"release", 3, 1, 999, scontrol_release, TOGGLE_NONE, "JOB…: let held jobs start"},
    {"requeue", 3, 1, 999, scontrol_requeue, TOGGLE_NONE, "[Incomplete] JOB…: back into the queue"},
    {"requeuehold", 8, 1, 999, scontrol_requeuehold, TOGGLE_NONE,
     "[Incomplete] [State=SpecialExit] JOB…: back into the queue, held"},
    {"suspend", 2, 1, 999, scontrol_suspend, TOGGLE_NONE, "JOB…: stop running jobs for a while"},
    {"resume", 3, 1, 999, scontrol_resume, TOGGLE_NONE, "JOB…: let them go on"},
    {"top", 3, 1, 1, scontrol_top, TOGGLE_NONE, "JOB…: ahead of the user's other jobs"},
    {"write", 2, 1, 3, scontrol_write, TOGGLE_NONE, "batch_script JOB [FILE|-] | config [FILE]"},
    {"wait_job", 2, 1, 1, scontrol_wait_job, TOGGLE_NONE, "JOB: until it has started or is over"},
    {"completing", 3, 0, 0, scontrol_completing, TOGGLE_NONE, "jobs that are being cleaned up"},
    {"ping", 2, 0, 0, scontrol_ping, TOGGLE_NONE, "does the controller answer?"},
    {"reconfigure", 3, 0, 0, scontrol_reconfigure, TOGGLE_NONE, "read the configuration again"},
    {"shutdown", 8, 0, 1, scontrol_shutdown, TOGGLE_NONE,
     "[slurmctld]: stop all daemons, or the controller; running jobs go on"},
    {"cluster", 2, 0, 1, cluster_run, TOGGLE_NONE, "NAME: only this one is known"},
    {"version", 4, 0, 999, version_run, TOGGLE_NONE, "version"},
    {"help", 2, 0, 999, help_run, TOGGLE_NONE, "this text"},
    {"all", 2, 0, 0, NULL, TOGGLE_ALL, NULL},
    {"hide", 2, 0, 0, NULL, TOGGLE_HIDE, NULL},
    {"details", 3, 0, 0, NULL, TOGGLE_DETAILS, NULL},
    {"oneliner", 1, 0, 0, NULL, TOGGLE_ONELINER, NULL},
    {"quiet", 4, 0, 0, NULL, TOGGLE_QUIET, NULL},
    {"verbose", 4, 0, 0, NULL, TOGGLE_VERBOSE, NULL},
    {"exit", 1, 0, 0, NULL, TOGGLE_LEAVE, NULL},
    {"quit", 1, 0, 0, NULL, TOGGLE_LEAVE, NULL},
    {"listpids", 5, 0, 2, scontrol_listpids, TOGGLE_NONE,
     "[JOB[.STEP] [NODE]]: processes of jobs on this host"},
    {"listjobs", 5, 0, 1, scontrol_listjobs, TOGGLE_NONE,
     "[NODE]: jobs with processes on this host"},
    {"liststeps", 5, 0, 1, scontrol_liststeps, TOGGLE_NONE,
     "[NODE]: steps with processes on this host"},
    {"pidinfo", 3, 1, 1, scontrol_pidinfo, TOGGLE_NONE,
     "PID: the job of a process, and when it ends"},
    {"notify", 1, 2, 999, scontrol_notify, TOGGLE_NONE,
     "JOB MESSAGE: a line on the standard error of the job"},
    {"errnumstr", 2, 0, 999, scontrol_errnumstr, TOGGLE_NONE, "NUMBER: the text of an error"},
    {"setdebug", 8, 1, 2, scontrol_setdebug, TOGGLE_NONE, NULL},
    {"setdebugflags", 9, 1, 999, scontrol_setdebugflags, TOGGLE_NONE, NULL},
    {"schedloglevel", 3, 1, 1, scontrol_schedloglevel, TOGGLE_NONE, NULL},
    {"fsdampeningfactor", 3, 1, 1, scontrol_fsdampeningfactor, TOGGLE_NONE, NULL},
    {"reboot", 3, 0, 999, scontrol_reboot, TOGGLE_NONE, NULL},
    {"cancel_reboot", 3, 0, 1, scontrol_cancel_reboot, TOGGLE_NONE, NULL},
    {"takeover", 8, 0, 1, scontrol_takeover, TOGGLE_NONE, NULL},
    {"abort", 5, 0, 999, NULL, TOGGLE_NONE, NULL},
    {"getent", 4, 0, 999, NULL, TOGGLE_NONE, NULL},
    {"power", 3, 0, 999, NULL, TOGGLE_NONE, NULL},
    {"token", 3, 0, 999, scontrol_token, TOGGLE_NONE, NULL},
};

static const struct scontrol_command *command_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (text_is_nocase(commands[i].name, word))
            return &commands[i];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strlen(word) >= commands[i].least && text_starts_nocase(commands[i].name, word))
            return &commands[i];
    return NULL;
}

static void keyword_unknown(struct scontrol *s, const char *word)
{
    const char *names[ARRAY_LEN(commands)];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = text_nearest(word, names, ARRAY_LEN(commands));
    fprintf(stderr, "invalid keyword: %s\n", word); /* with -Q, too */
    s->rc = 1;
    if (near)
        scontrol_fail(s, "did you mean %s?", near);
    else
        scontrol_fail(s, "`scontrol help` lists the commands");
}

static void toggle(struct scontrol *s, enum scontrol_toggle what)
{
    switch (what) {
    case TOGGLE_ALL: s->all = true; break;
    case TOGGLE_HIDE: s->all = false; break;
    case TOGGLE_DETAILS: s->details = 1; break;
    case TOGGLE_ONELINER: s->oneliner = true; break;
    case TOGGLE_QUIET: s->quiet = true; break;
    case TOGGLE_VERBOSE: s->quiet = false; break;
    case TOGGLE_LEAVE: s->leave = true; break;
    case TOGGLE_NONE: break;
    }
}

/* Slurm words it in these ways. */
static void too_few(struct scontrol *s, const struct scontrol_command *c)
{
    static const struct {
        const char *command, *text;
    } own[] = {{"update", "too few arguments for update keyword"},
               {"create", "too few arguments for create keyword"},
               {"delete", "too few arguments for delete keyword"},
               {"pidinfo", "missing argument for keyword:pidinfo"}};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (text_is(own[i].command, c->name)) {
            scontrol_refuse(s, "%s", own[i].text);
            return;
        }
    scontrol_refuse(s, "too few arguments for keyword:%s", c->name);
}

/* What prints a list, of which there is no document. */
static bool is_listing(const struct scontrol_command *c)
{
    return c->run == scontrol_completing || text_starts(c->name, "list") ||
           text_is(c->name, "pidinfo");
}

static void command_run(struct scontrol *s, int n, char **word)
{
    const struct scontrol_command *c = command_find(word[0]);
    if (!c)
        keyword_unknown(s, word[0]);
    else if (c->toggle != TOGGLE_NONE)
        toggle(s, c->toggle);
    else if (!c->run)
        scontrol_fail(s, "%s: not supported yet", c->name);
    else if (n - 1 < c->min)
        too_few(s, c);
    else if (n - 1 > c->max)
        scontrol_refuse(s, "too many arguments for keyword:%s", c->name);
    else if (s->json && is_listing(c))
        scontrol_fail(s, "%s: no --json and no --yaml of it", c->name);
    else
        c->run(s, n - 1, word + 1);
}

/* ---- the prompt ----------------------------------------------------------------------------- */

static void prompt(struct scontrol *s)
{
    char *line = NULL, *word[256];
    const char *last = "";
    size_t cap = 0;
    bool asks = isatty(STDIN_FILENO);
    while (!s->leave) {
        if (asks) {
            fputs("scontrol: ", stdout);
            fflush(stdout);
        }
        if (getline(&line, &cap, stdin) < 0)
            break;
        if (!text_starts(line + strspn(line, " \t"), "!!"))
            last = arena_strdup(s->a, line);
        int n = words_split(s->a, last, word, (int)ARRAY_LEN(word));
        if (n)
            command_run(s, n, word);
        fflush(stdout);
    }
    free(line);
}

/* ---- the command line ----------------------------------------------------------------------- */

/* What the options fill, and the words between them. */
struct scontrol_line {
    struct scontrol s;
    const char *clusters;
    VEC(char *) word;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct scontrol_line *l = to;
    vec_push(&l->word, arena_strdup(a, word));
    return true;
}

static bool cluster_check(const struct scontrol_line *l, struct err *ret_err)
{
    const char *asked = l->clusters ? l->clusters : getenv("SLURM_CLUSTERS");
    if (text_empty(asked))
        return true;
    return listing_cluster_check("scontrol", asked, l->clusters ? "--cluster" : "SLURM_CLUSTERS",
                                 cluster_name(state_dir_find(NULL, l->s.a), l->s.a), ret_err);
}

#define AT(member) offsetof(struct scontrol_line, s.member)
static const struct option_row option_rows[] = {
    OPT_FLAG("all", 'a', "what is in hidden partitions too", AT(all), .env = {"SCONTROL_ALL"}),
    OPT_VALUE("clusters", 'M', "cluster", "cluster; only this one is known", set_any_text,
              offsetof(struct scontrol_line, clusters), .alias = "cluster"),
    {.name = "details",
     .letter = 'd',
     .doc = "more about jobs",
     .set = set_count,
     .at = AT(details)},
    OPT_NO_EFFECT("federation", 0, ARG_NONE, "there are no federations: the same as without"),
    OPT_FLAG("future", 'F', "nodes in state FUTURE too", AT(future), .env = {"SCONTROL_FUTURE"}),
    OPT_ACCEPTED("help", 'h', ARG_NONE, "this text"),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "the same"),
    {.name = "hide",
     .doc = "nothing of hidden partitions (the default)",
     .set = unset_flag,
     .at = AT(all)},
    {.name = "json",
     .arg = ARG_OPTIONAL,
     .metavar = "data_parser",
     .doc = "show jobs, nodes, partitions, licences as JSON; list: of which data parsers",
     .set = json_form_set,
     .at = AT(json)},
    OPT_NO_EFFECT("local", 0, ARG_NONE, "this cluster (the default)"),
    OPT_FLAG("oneliner", 'o', "one line a record", AT(oneliner)),
    OPT_FLAG("quiet", 'Q', "no messages", AT(quiet)),
    OPT_REFUSED("sibling", 0, ARG_NONE, "jobs of other clusters of a federation",
                "not supported yet: there are no federations"),
    OPT_REFUSED("uid", 'u', ARG_REQUIRED, "change jobs as this user",
                "not supported yet; run scontrol as that user"),
    OPT_NO_EFFECT("verbose", 'v', ARG_NONE, "say more"),
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
    {.name = "yaml",
     .arg = ARG_OPTIONAL,
     .metavar = "data_parser",
     .doc = "the same as YAML",
     .set = json_form_set,
     .at = AT(json)},
};
OPTION_TABLE(scontrol_options, option_rows, .usage = "scontrol [<OPTION>] [<COMMAND>]",
             .words = WORDS_MIXED, .word = word_take, .variables_as_are = true);

static void help_run(struct scontrol *s, int n, char **word)
{
    (void)s;
    (void)n;
    (void)word;
    struct str text = STR_INIT;
    option_table_write_help(&scontrol_options, &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
    puts("    Valid <COMMAND> values are (they may be cut short; without one scontrol asks):");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (commands[i].doc)
            printf("  %-12s %s\n", commands[i].name, commands[i].doc);
}

/* "setdebugflags -Backfill": what is taken from the flags is no option. */
static void flags_keep(int *argc, char ***argv, struct arena *a)
{
    int n = *argc;
    for (int i = 1; i + 1 < n; i++) {
        if (!text_is((*argv)[i], "setdebugflags") || (*argv)[i + 1][0] != '-' ||
            (*argv)[i + 1][1] == '-')
            continue;
        char **longer = arena_alloc(a, (size_t)(n + 2) * sizeof *longer);
        memcpy(longer, *argv, (size_t)(i + 1) * sizeof *longer);
        longer[i + 1] = arena_strdup(a, "--");
        memcpy(longer + i + 2, *argv + i + 1, (size_t)(n - i) * sizeof *longer);
        *argv = longer;
        *argc = n + 1;
        return;
    }
}

int cmd_scontrol(int argc, char **argv)
{
    struct scontrol_line l = {.s = {.a = arena_new()}};
    struct scontrol *s = &l.s;
    struct option_line line = {.table = &scontrol_options, .to = &l, .a = s->a};
    struct err err = {0};
    flags_keep(&argc, &argv, s->a);
    option_line_read_variables(&line, getenv, NULL); /* first: --hide takes SCONTROL_ALL back */
    if (!option_line_read(&line, argc, argv, &err)) {
        program_usage_error("scontrol", &err);
        s->rc = 1;
    } else if (option_line_has(&line, "version"))
        puts(SLURM_VERSION_TEXT);
    else if (option_line_has(&line, "help") || option_line_has(&line, "usage"))
        help_run(s, 0, NULL);
    else if (json_form_listed(s->json))
        s->rc = 0;
    else if (!cluster_check(&l, &err)) {
        program_error("scontrol", "%s", err.text);
        s->rc = 1;
    } else if (l.word.n)
        command_run(s, (int)l.word.n, l.word.v);
    else
        prompt(s);
    if (s->client)
        client_close(s->client);
    vec_done(&l.word);
    arena_free(s->a);
    return s->rc;
}
