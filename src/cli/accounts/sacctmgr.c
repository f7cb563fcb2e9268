/* sacctmgr: options may stand anywhere; commands, entities and keys may be cut short. Without a
 * command it asks for them, one a line. */
#include "base/alloc.h"
#include "cli/accounts/accounts.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- commands ------------------------------------------------------------------------------- */

static void no_entity(struct sacctmgr *s, const char *verb, const char *rest)
{
    sacctmgr_refuse(s, "No valid entity in %s command", verb);
    sacctmgr_refuse(s, "%s", rest);
}

static void show_run(struct sacctmgr *s, int n, char **word)
{
    enum entity entity;
    struct specs sp = {0};
    if (!n || !entity_find(word[0], &entity) || entity == ENTITY_COORDINATOR ||
        entity == ENTITY_JOB) {
        no_entity(
            s, "list",
            "Input line must include \"Account\", \"Association\", \"Cluster\", "
            "\"Configuration\",\n\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", "
            "\"Reservation\",\n\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", "
            "or \"WCKey\"");
        return;
    }
    if (!specs_read(s, entity, SPECS_WHERE, n - 1, word + 1, &sp)) {
        specs_done(&sp);
        return;
    }
    if ((TREE | ON(QOS)) >> entity & 1u)
        accounts_show(s, &sp);
    else
        others_show(s, &sp);
    specs_done(&sp);
}

/* Entities that Slurm changes and that are made elsewhere here. */
static bool elsewhere(struct sacctmgr *s, enum entity entity)
{
    if (entity == ENTITY_CLUSTER)
        sacctmgr_fail(s, "there is one cluster, the one that runs: ClusterName in remuda.conf");
    else if (entity == ENTITY_RESOURCE)
        sacctmgr_fail(s,
                      "resource: licences that several clusters share need an accounting that they "
                      "share, and there is one cluster here; Licenses= in remuda.conf are counted "
                      "by it, and MaxTRES=license/NAME=N shares them out");
    else if (entity == ENTITY_FEDERATION)
        sacctmgr_fail(s, "there are no federations");
    else
        return false;
    return true;
}

#define CHANGED_ENTITIES                                                                           \
    (ON(ACCOUNT) | ON(COORDINATOR) | ON(QOS) | ON(USER) | ON(WCKEY) | ON(CLUSTER) |                \
     ON(FEDERATION) | ON(RESOURCE))

/* What add, modify and delete do differently. */
struct change_verb {
    const char *verb;
    unsigned entities; /* bits of enum entity that the verb is for */
    unsigned here;     /* of those made elsewhere: it has its own word for them */
    enum spec_mode mode;
    void (*change)(struct sacctmgr *s, const struct specs *sp);
    const char *wanted; /* said where none of `entities` was named */
};

static void change_run(struct sacctmgr *s, int n, char **word, const struct change_verb *c)
{
    enum entity entity;
    struct specs sp = {0};
    if (!n || !entity_find(word[0], &entity) || !(c->entities >> entity & 1u)) {
        no_entity(s, c->verb, c->wanted);
        return;
    }
    if (s->readonly)
        sacctmgr_refuse(s, "Can't run this command in readonly mode.");
    else if ((c->here >> entity & 1u || !elsewhere(s, entity)) && sacctmgr_connect(s) &&
             specs_read(s, entity, c->mode, n - 1, word + 1, &sp))
        c->change(s, &sp);
    specs_done(&sp);
}

#define WANTED                                                                                     \
    "Input line must include \"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", " \
    "\"Resource\", or \"User\""

static void add_run(struct sacctmgr *s, int n, char **word)
{
    static const struct change_verb add = {"add",       CHANGED_ENTITIES, 0,
                                           SPECS_MIXED, accounts_add,     WANTED};
    change_run(s, n, word, &add);
}

static void modify_run(struct sacctmgr *s, int n, char **word)
{
    static const struct change_verb modify = {
        "modify",
        (CHANGED_ENTITIES & ~ON(COORDINATOR)) | ON(ASSOC) | ON(JOB),
        ON(CLUSTER),
        SPECS_SET,
        accounts_modify,
        "Input line must include \"Account\", \"Cluster\", \"Federation\", \"Job\", "
        "\"QOS\", \"Resource\" or \"User\""};
    change_run(s, n, word, &modify);
}

static void delete_run(struct sacctmgr *s, int n, char **word)
{
    static const struct change_verb delete = {"delete",    CHANGED_ENTITIES, 0,
                                              SPECS_WHERE, accounts_remove,  WANTED};
    change_run(s, n, word, &delete);
}

static void version_run(struct sacctmgr *s, int n, char **word)
{
    (void)s;
    (void)n;
    (void)word;
    puts(SLURM_VERSION_TEXT);
}

static void reconfigure_run(struct sacctmgr *s, int n, char **word)
{
    (void)n;
    (void)word;
    sacctmgr_fail(s, "reconfigure: there is no slurmdbd; scontrol reconfigure has the controller "
                     "read its configuration again");
}

static void shutdown_run(struct sacctmgr *s, int n, char **word)
{
    (void)n;
    (void)word;
    sacctmgr_fail(s,
                  "shutdown: there is no slurmdbd; scontrol shutdown stops the cluster's daemons");
}

static void clear_run(struct sacctmgr *s, int n, char **word)
{
    if (!n || !text_starts_nocase("stats", word[0]) || !*word[0]) {
        sacctmgr_refuse(s, "No valid entity in list command"); /* Slurm's word, here too */
        sacctmgr_refuse(s, "Input line must include \"Stats\"");
        return;
    }
    stats_clear(s);
}

static void ping_run(struct sacctmgr *s, int n, char **word)
{
    (void)n;
    (void)word;
    int64_t began = time_now_us();
    bool up = sacctmgr_connect(s) != NULL;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (s->json) {
        struct json_list l;
        json_list_begin(&l, s, NULL, "pings");
        json_object(&l.out);
        json_key_text(&l.out, "hostname", host);
        json_key_bool(&l.out, "responding", up);
        json_key_i64(&l.out, "latency", time_now_us() - began);
        json_key_bool(&l.out, "primary", true);
        json_object_end(&l.out);
        json_list_end(&l);
        return;
    }
    printf("slurmdbd(primary) at %s is %s\n", host, up ? "UP" : "DOWN");
}

static void problem_run(struct sacctmgr *s, int n, char **word)
{
    struct specs sp = {0};
    if (specs_read(s, ENTITY_PROBLEM, SPECS_WHERE, n, word, &sp))
        others_show(s, &sp);
    specs_done(&sp);
}

static void help_run(struct sacctmgr *s, int n, char **word);

enum sacctmgr_toggle {
    TOGGLE_NONE,
    TOGGLE_ASSOCIATIONS,
    TOGGLE_ONELINER,
    TOGGLE_PARSABLE,
    TOGGLE_PARSABLE2,
    TOGGLE_QUIET,
    TOGGLE_READONLY,
    TOGGLE_VERBOSE,
    TOGGLE_LEAVE
};

static const struct sacctmgr_command {
    const char *name;
    size_t least; /* letters that must be given */
    void (*run)(struct sacctmgr *s, int n, char **word);
    enum sacctmgr_toggle toggle;
    const char *doc;
} commands[] = {
    {"add", 2, add_run, TOGGLE_NONE,
     "account NAME… | user NAME… account=… | qos NAME… | coordinator NAME… account=… [KEY=VALUE…]"},
    {"archive", 2, sacctmgr_archive, TOGGLE_NONE,
     "dump [Jobs] [PurgeJobAfter=12months…] [Directory=DIR] | load file=FILE: the past to files, "
     "and "
     "back"},
    {"associations", 3, NULL, TOGGLE_ASSOCIATIONS, "from now on, list associations too"},
    {"clear", 2, clear_run, TOGGLE_NONE, "stats: count anew what show stats shows"},
    {"create", 2, add_run, TOGGLE_NONE, NULL},
    {"delete", 3, delete_run, TOGGLE_NONE,
     "account | user | qos | coordinator | wckey where KEY=VALUE…"},
    {"dump", 2, accounts_dump, TOGGLE_NONE, "CLUSTER [file=FILE]: the tree as Slurm's flat file"},
    {"exit", 1, NULL, TOGGLE_LEAVE, "end this command"},
    {"help", 1, help_run, TOGGLE_NONE, "this text"},
    {"list", 2, show_run, TOGGLE_NONE, "the same as show"},
    {"load", 2, accounts_load_file, TOGGLE_NONE, "FILE [clean]: such a file"},
    {"modify", 1, modify_run, TOGGLE_NONE,
     "account | user | qos | cluster | job where KEY=VALUE… set KEY=VALUE…"},
    {"oneliner", 1, NULL, TOGGLE_ONELINER, NULL},
    {"parsable", 1, NULL, TOGGLE_PARSABLE, NULL},
    {"parsable2", 9, NULL, TOGGLE_PARSABLE2, NULL},
    {"ping", 2, ping_run, TOGGLE_NONE, "does the controller answer?"},
    {"problem", 3, problem_run, TOGGLE_NONE, NULL},
    {"quiet", 4, NULL, TOGGLE_QUIET, "no messages but errors"},
    {"quit", 1, NULL, TOGGLE_LEAVE, "end this command"},
    {"readonly", 4, NULL, TOGGLE_READONLY, "change nothing from now on"},
    {"reconfigure", 3, reconfigure_run, TOGGLE_NONE, NULL},
    {"remove", 3, delete_run, TOGGLE_NONE, "the same as delete"},
    {"show", 3, show_run, TOGGLE_NONE,
     "account, association, cluster, configuration, event, problem, qos, reservation, runawayjobs, "
     "stats, transaction, tres, user, wckey [where] [KEY=VALUE…] [format=…]"},
    {"shutdown", 4, shutdown_run, TOGGLE_NONE, NULL},
    {"verbose", 4, NULL, TOGGLE_VERBOSE, NULL},
    {"version", 4, version_run, TOGGLE_NONE, "version"},
};

static const struct sacctmgr_command *command_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (text_is_nocase(commands[i].name, word))
            return &commands[i];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strlen(word) >= commands[i].least && text_starts_nocase(commands[i].name, word))
            return &commands[i];
    return NULL;
}

static void toggle(struct sacctmgr *s, enum sacctmgr_toggle what)
{
    switch (what) {
    case TOGGLE_ASSOCIATIONS: s->associations = true; break;
    case TOGGLE_ONELINER: s->oneliner = true; break;
    case TOGGLE_PARSABLE: s->parsable = 'p'; break;
    case TOGGLE_PARSABLE2: s->parsable = 'P'; break;
    case TOGGLE_QUIET: s->quiet = true; break;
    case TOGGLE_READONLY: s->readonly = true; break;
    case TOGGLE_VERBOSE: s->verbose = 1; break;
    case TOGGLE_LEAVE: s->leave = true; break;
    case TOGGLE_NONE: break;
    }
}

/* In JSON, or in a file from which they are to come back as they were. */
static bool texts_are_quoted(const struct sacctmgr *s, const struct sacctmgr_command *c)
{
    return c->run == accounts_dump || (s->json && (c->run == show_run || c->run == problem_run));
}

static void command_run(struct sacctmgr *s, int n, char **word)
{
    const struct sacctmgr_command *c = command_find(word[0]);
    const char *names[ARRAY_LEN(commands)];
    if (c && c->run) {
        s->exact = texts_are_quoted(s, c);
        c->run(s, n - 1, word + 1);
        return;
    }
    if (c) {
        toggle(s, c->toggle);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = text_nearest(word[0], names, ARRAY_LEN(commands));
    sacctmgr_refuse(s, "invalid keyword: %s", word[0]);
    if (near)
        sacctmgr_fail(s, "did you mean %s?", near);
    else
        sacctmgr_fail(s, "`sacctmgr help` lists the commands");
}

/* ---- the command line ----------------------------------------------------------------------- */

struct sacctmgr_line {
    struct sacctmgr s;
    VEC(char *) word;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sacctmgr_line *l = to;
    vec_push(&l->word, arena_strdup(a, word));
    return true;
}

static SETTER(set_parsable)
{
    struct sacctmgr_line *l = to;
    l->s.parsable = row->letter;
    return true;
}

#define AT(member) offsetof(struct sacctmgr_line, s.member)
static const struct option_row option_rows[] = {
    OPT_FLAG("associations", 's', "list the associations of what is shown", AT(associations)),
    OPT_ACCEPTED("help", 'h', ARG_NONE, "this text"),
    OPT_FLAG("immediate", 'i', "make changes without asking", AT(immediate)),
    {.name = "json",
     .arg = ARG_OPTIONAL,
     .metavar = "data_parser",
     .doc = "accounts, users, associations, QOS as JSON; list: of which data parsers",
     .set = json_form_set,
     .at = AT(json)},
    OPT_FLAG("noheader", 'n', "no header lines", AT(noheader)),
    OPT_NO_EFFECT("oneliner", 'o', ARG_NONE, "one line a record, as always"),
    {.name = "parsable",
     .letter = 'p',
     .doc = "cells between '|', with one at the end",
     .set = set_parsable},
    {.name = "parsable2", .letter = 'P', .doc = "cells between '|'", .set = set_parsable},
    OPT_FLAG("quiet", 'Q', "no messages but errors", AT(quiet)),
    OPT_FLAG("readonly", 'r', "change nothing", AT(readonly)),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "the same as --help"),
    {.name = "verbose", .letter = 'v', .doc = "say more", .set = set_count, .at = AT(verbose)},
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
    {.name = "yaml",
     .arg = ARG_OPTIONAL,
     .metavar = "data_parser",
     .doc = "the same as YAML",
     .set = json_form_set,
     .at = AT(json)},
};
OPTION_TABLE(sacctmgr_options, option_rows, .usage = "sacctmgr [<OPTION>] [<COMMAND>]",
             .words = WORDS_MIXED, .word = word_take, .variables_as_are = true);

static void help_run(struct sacctmgr *s, int n, char **word)
{
    (void)s;
    (void)n;
    (void)word;
    struct str text = STR_INIT;
    option_table_write_help(&sacctmgr_options, &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
    puts("    Valid <COMMAND> values are (they may be cut short; without one sacctmgr asks):");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (commands[i].doc)
            printf("  %-12s %s\n", commands[i].name, commands[i].doc);
    puts("\n  What may be limited (-1 takes a limit back):");
    for (int i = 0; i < RESOURCE_LIMIT_COUNT; i++)
        printf("  %-24s %s%s\n", resource_limit_table[i].word, resource_limit_table[i].doc,
               resource_limit_table[i].owners == ON_QOS ? " (QOS)" : "");
}

int cmd_sacctmgr(int argc, char **argv)
{
    struct sacctmgr_line l = {.s = {.a = arena_new()}};
    struct sacctmgr *s = &l.s;
    struct option_line line = {.table = &sacctmgr_options, .to = &l, .a = s->a};
    struct err err = {0};
    if (!option_line_read(&line, argc, argv, &err)) {
        program_usage_error("sacctmgr", &err);
        s->rc = 1;
    } else if (option_line_has(&line, "version"))
        puts(SLURM_VERSION_TEXT);
    else if (option_line_has(&line, "help") || option_line_has(&line, "usage"))
        help_run(s, 0, NULL);
    else if (json_form_listed(s->json))
        s->rc = 0;
    else if (l.word.n)
        command_run(s, (int)l.word.n, l.word.v);
    else
        sacctmgr_prompt(s, command_run);
    if (s->client)
        client_close(s->client);
    vec_done(&l.word);
    arena_free(s->a);
    return s->rc;
}
