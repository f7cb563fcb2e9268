/* sreport: its commands and options. What is reported is asked of the store's sums (QUERY_USED), so
 * that a report of a year reads months, not jobs. */
#include "cli/reports/sreport.h"

#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reports -------------------------------------------------------------------------------- */

struct report_name {
    const char *name;
    size_t least;
    void (*run)(struct sreport *s, int n, char **word);
};
static const struct report_name cluster_reports[] = {
    {"AccountUtilizationByUser", 1, report_account_by_user},
    {"AccountUtilizationByQOS", 20, report_account_by_user},
    {"UserUtilizationByAccount", 18, report_user_by_account},
    {"UserUtilizationByWckey", 18, report_user_by_wckey},
    {"Utilization", 2, report_utilization},
    {"WCKeyUtilizationByUser", 1, report_wckey_by_user},
    {NULL, 0, NULL},
};
static const struct report_name job_reports[] = {
    {"SizesByAccount", 1, report_sizes_by_account},
    {"SizesByAccountAndWcKey", 15, report_sizes_by_both},
    {"SizesByWckey", 8, report_sizes_by_wckey},
    {NULL, 0, NULL},
};
static const struct report_name user_reports[] = {{"TopUsage", 1, report_top}, {NULL, 0, NULL}};
static const struct report_name reservation_reports[] = {{"Utilization", 1, report_reservations},
                                                         {NULL, 0, NULL}};

static const struct sreport_kind {
    const char *name;
    size_t least;
    const struct report_name *reports;
    const char *valid;
} kinds[] = {
    {"cluster", 2, cluster_reports,
     "\"AccountUtilizationByUser\", \"UserUtilizationByAccount\", \"UserUtilizationByWckey\", "
     "\"Utilization\", and \"WCKeyUtilizationByUser\""},
    {"job", 1, job_reports, "\"SizesByAccount, SizesByAccountAndWcKey, and  SizesByWckey\""},
    {"reservation", 2, reservation_reports, "\"Utilization\""},
    {"user", 1, user_reports, "\"Top\""},
};

static bool starts_with_enough(const char *word, const char *name, size_t least)
{
    return strlen(word) >= least && text_starts_nocase(name, word);
}

static void kind_run(struct sreport *s, const struct sreport_kind *k, int n, char **word)
{
    if (n < 2) {
        if (!s->quiet)
            fprintf(stderr, "too few arguments for keyword:%s\n", word[0]);
        s->rc = 1;
        return;
    }
    for (const struct report_name *r = k->reports; r->name; r++)
        if (starts_with_enough(word[1], r->name, r->least)) {
            if (sreport_connect(s))
                r->run(s, n - 2, word + 2);
            return;
        }
    s->rc = 1;
    plain_line("Not valid report %s\nValid %s reports are, %s", word[1], k->name, k->valid);
}

/* ---- time ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t least;
    enum report_unit unit;
    bool value, percent;
} units[] = {
    {"SecPer", 4, REPORT_SECONDS, true, true},   {"MinPer", 4, REPORT_MINUTES, true, true},
    {"HourPer", 5, REPORT_HOURS, true, true},    {"Seconds", 1, REPORT_SECONDS, true, false},
    {"Minutes", 1, REPORT_MINUTES, true, false}, {"Hours", 1, REPORT_HOURS, true, false},
    {"Percent", 1, REPORT_MINUTES, false, true},
};

static void unit_set(struct sreport *s, const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (starts_with_enough(word, units[i].name, units[i].least)) {
            s->unit = units[i].unit;
            s->value = units[i].value;
            s->percent = units[i].percent;
            return;
        }
    fprintf(stderr, "unknown time format %s", word);
}

/* ---- commands ------------------------------------------------------------------------------- */

struct sreport_line {
    struct sreport s;
    VEC(char *) word;
};

static void help_print(void);

enum deed {
    DEED_LEAVE,
    DEED_HELP,
    DEED_TABLE,
    DEED_P,
    DEED_P2,
    DEED_QUIET,
    DEED_TIME,
    DEED_NONE,
    DEED_VERSION
};
static const struct {
    const char *name;
    size_t least;
    enum deed deed;
    int most; /* words */
} commands[] = {
    {"exit", 1, DEED_LEAVE, 1},        {"help", 2, DEED_HELP, 1},
    {"nonparsable", 4, DEED_TABLE, 1}, {"parsable", 8, DEED_P, 1},
    {"parsable2", 9, DEED_P2, 1},      {"quiet", 4, DEED_QUIET, 1},
    {"quit", 4, DEED_LEAVE, 1},        {"time", 1, DEED_TIME, 2},
    {"verbose", 4, DEED_NONE, 1},      {"version", 4, DEED_VERSION, 1},
};

static void deed_do(struct sreport *s, enum deed deed, int n, char **word)
{
    switch (deed) {
    case DEED_LEAVE: s->leave = true; break;
    case DEED_HELP: help_print(); break;
    case DEED_TABLE: s->parsable = 0; break;
    case DEED_P: s->parsable = 'p'; break;
    case DEED_P2: s->parsable = 'P'; break;
    case DEED_QUIET: s->quiet = true; break;
    case DEED_VERSION: puts(SLURM_VERSION_TEXT); break;
    case DEED_NONE: break;
    case DEED_TIME:
        if (n > 1) {
            unit_set(s, word[1]);
            break;
        }
        fprintf(stderr, "too few arguments for keyword:%s\n", word[0]);
        s->rc = 1;
        break;
    }
}

static void command_run(struct sreport *s, int n, char **word)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (starts_with_enough(word[0], kinds[i].name, kinds[i].least)) {
            kind_run(s, &kinds[i], n, word);
            return;
        }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (!starts_with_enough(word[0], commands[i].name, commands[i].least))
            continue;
        if (n > commands[i].most) {
            fprintf(stderr, "too many arguments for keyword:%s\n", word[0]);
            s->rc = 1;
            s->leave = commands[i].deed == DEED_LEAVE;
        } else {
            deed_do(s, commands[i].deed, n, word);
        }
        return;
    }
    const char *names[ARRAY_LEN(kinds) + ARRAY_LEN(commands)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        names[i] = i < ARRAY_LEN(kinds) ? kinds[i].name : commands[i - ARRAY_LEN(kinds)].name;
    const char *near = text_nearest(word[0], names, ARRAY_LEN(names));
    fprintf(stderr, "invalid keyword: %s\n", word[0]);
    s->rc = 1;
    if (near)
        program_error("sreport", "did you mean %s?", near);
}

/* ---- at a terminal -------------------------------------------------------------------------- */

#define WORDS_MAX 128

static int line_split(struct arena *a, const char *line, char **word)
{
    int n = 0;
    for (const char *at = line + strspn(line, " \t\r\n"); *at && n < WORDS_MAX;
         at += strspn(at, " \t\r\n")) {
        size_t len = strcspn(at, " \t\r\n");
        word[n++] = arena_strndup(a, at, len);
        at += len;
    }
    return n;
}

static void prompt(struct sreport *s)
{
    char *line = NULL, *word[WORDS_MAX];
    const char *last = "";
    size_t size = 0;
    while (!s->leave) {
        fputs("sreport: ", stdout);
        fflush(stdout);
        if (getline(&line, &size, stdin) < 0) {
            putchar('\n');
            break;
        }
        if (!isatty(STDIN_FILENO)) /* as a terminal would show it */
            printf("%s%s", line, strchr(line, '\n') ? "" : "\n");
        if (!text_starts(line + strspn(line, " \t"), "!!"))
            last = arena_strdup(s->a, line);
        int n = line_split(s->a, last, word);
        if (n)
            command_run(s, n, word);
        fflush(stdout);
    }
    free(line);
}

/* ---- the command line ----------------------------------------------------------------------- */

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sreport_line *l = to;
    vec_push(&l->word, arena_strdup(a, word));
    return true;
}

static SETTER(set_parsable)
{
    ((struct sreport_line *)to)->s.parsable = row->letter;
    return true;
}

static SETTER(set_unit)
{
    unit_set(&((struct sreport_line *)to)->s, value);
    return true;
}

#define AT(member) offsetof(struct sreport_line, s.member)
static const struct option_row option_rows[] = {
    OPT_NO_EFFECT("all_clusters", 'a', ARG_NONE, "all clusters (there is one)"),
    OPT_NO_EFFECT("cluster", 'M', ARG_REQUIRED, "the cluster (there is one)", .alias = "clusters"),
    OPT_NO_EFFECT("federation", 0, ARG_NONE, "the federation (there is none)"),
    OPT_ACCEPTED("help", 'h', ARG_NONE, "this text"),
    OPT_NO_EFFECT("local", 0, ARG_NONE, "this cluster, as always"),
    OPT_FLAG("noheader", 'n', "no header lines", AT(noheader)),
    {.name = "parsable",
     .letter = 'p',
     .doc = "cells between '|', with one at the end",
     .set = set_parsable},
    {.name = "parsable2", .letter = 'P', .doc = "cells between '|'", .set = set_parsable},
    OPT_FLAG("quiet", 'Q', "no messages but errors", AT(quiet)),
    OPT_VALUE("timeformat", 't', "unit",
              "Seconds, Minutes, Hours, Percent, SecPer, MinPer or HourPer", set_unit, 0),
    OPT_VALUE("tres", 'T', "names", "resources: cpu,mem,gres/gpu or ALL", set_any_text, AT(tres)),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "the same as --help"),
    OPT_NO_EFFECT("verbose", 'v', ARG_NONE, "say more (there is no more)"),
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
};
OPTION_TABLE(sreport_options, option_rows, .usage = "sreport [<OPTION>] [<COMMAND>]",
             .words = WORDS_MIXED, .word = word_take, .variables_as_are = true);

static void help_print(void)
{
    struct str text = STR_INIT;
    option_table_write_help(&sreport_options, &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
    puts("    Valid <COMMAND> values are (they may be cut short; without one sreport asks):");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (const struct report_name *r = kinds[i].reports; r->name; r++)
            printf("  %-12s %s\n", kinds[i].name, r->name);
    puts(
        "  exit, help, nonparsable, parsable, parsable2, quiet, quit, time <time_format>, version, "
        "!!\n\n"
        "  Behind a report: start= end= format= clusters= all_clusters, and\n"
        "  cluster      accounts= users= wckeys= tree\n"
        "  job          accounts= users= wckeys= partitions= grouping= flatview acctasparent "
        "printjobcount\n"
        "  reservation  names= nodes=\n"
        "  user         accounts= users= group topcount=");
}

/* Slurm looks at them before it looks at the command. */
static bool tres_fit(struct sreport *s)
{
    struct sreport_asked k = {0};
    bool fit = !s->tres || asked_tres(s, &k);
    asked_done(&k);
    return fit;
}

int cmd_sreport(int argc, char **argv)
{
    struct sreport_line l = {.s = {.a = arena_new(), .unit = REPORT_MINUTES, .value = true}};
    struct sreport *s = &l.s;
    struct option_line line = {.table = &sreport_options, .to = &l, .a = s->a};
    struct err err = {0};
    if (!option_line_read(&line, argc, argv, &err)) {
        program_usage_error("sreport", &err);
        s->rc = 1;
    } else if (option_line_has(&line, "version"))
        puts(SLURM_VERSION_TEXT);
    else if (option_line_has(&line, "help") || option_line_has(&line, "usage"))
        help_print();
    else if (!tres_fit(s))
        ; /* said */
    else if (l.word.n)
        command_run(s, (int)l.word.n, l.word.v);
    else
        prompt(s);
    if (s->client)
        client_close(s->client);
    vec_done(&l.word);
    arena_free(s->a);
    return s->rc;
}
