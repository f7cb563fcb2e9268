#include "cli/table/listing_command.h"

#include "base/duration.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES 60000

SETTER(listing_set_iterate)
{
    struct listing *l = to;
    if (text_to_i64(value, 1, 1000000, &l->iterate_s))
        return true;
    program_error(l->command->name, "%s--iterate=%s",
                  l->command->plain_unknown ? "Error: invalid entry for " : "", value);
    return err_set(ret_err, ERR_INVALID, "a number of seconds is needed, at least 1");
}

SETTER(listing_set_format)
{
    struct listing *l = to;
    if (l->command->one_format && l->long_text)
        return err_set(ret_err, ERR_INVALID, "-o (--format) is incompatible with -O (--Format)");
    l->format_text = value;
    l->long_text = NULL;
    return true;
}

SETTER(listing_set_long_format)
{
    struct listing *l = to;
    if (l->command->one_format && l->format_text)
        return err_set(ret_err, ERR_INVALID, "-O (--Format) is incompatible with -o (--format)");
    l->long_text = value;
    l->format_text = NULL;
    return true;
}

SETTER(listing_set_parsable)
{
    ((struct listing *)to)->parsable = row->letter;
    return true;
}

/* SLURM_CLUSTERS is read by clusters_check, before anything is printed. */
static bool variable_counts(void *to, const struct option_row *row, const char *value)
{
    const struct listing *l = to;
    return row->at != LISTING(clusters) &&
           (!l->command->variable_counts || l->command->variable_counts(to, row, value));
}

/* -v: a line for each option, in the order of the table; flags are true or false. */
static void echo(const struct listing *l)
{
    const char *rule = "-----------------------------";
    const struct option_row *row;
    puts(rule);
    for (size_t i = 0; (row = option_row_at(l->command->options, i)); i++) {
        const char *given = l->line.source[i] == FROM_COMMAND_LINE ? l->line.given[i] : NULL;
        bool of_help = text_is(row->name, "help") || text_is(row->name, "usage");
        if (row->hidden || row->support == SUPPORT_REFUSED || of_help ||
            text_is(row->name, "version"))
            continue;
        if (text_is(row->name, "verbose"))
            printf("%-11s = %d\n", row->name, l->verbose);
        else if (row->arg == ARG_NONE)
            printf("%-11s = %s\n", row->name, given ? "true" : "false");
        else
            printf("%-11s = %s\n", row->name, given ? given : "(null)");
    }
    printf("%s\n\n\n", rule);
}

static bool show_all(struct listing *l, struct client *c, struct err *ret_err)
{
    for (;;) {
        arena_reset(l->round);
        if (!l->command->show(l->ctx, c, ret_err))
            return false;
        if (!l->iterate_s)
            return true;
        putchar('\n');
        fflush(stdout);
        sleep((unsigned)l->iterate_s);
    }
}

/* SLURM_CLUSTERS where the command has it beside -M; an empty one is as none. */
static const char *clusters_of_variable(const struct listing *l)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row_at(l->command->options, i)); i++) {
        const char *value =
            row->at == LISTING(clusters) && row->env[0] ? getenv(row->env[0]) : NULL;
        if (!text_empty(value))
            return value;
    }
    return NULL;
}

/* There is one cluster: its name and "all" mean it. */
static bool clusters_check(struct listing *l, struct err *ret_err)
{
    const char *from = l->clusters ? "--cluster" : "SLURM_CLUSTERS";
    if (!l->clusters)
        l->clusters = clusters_of_variable(l);
    if (text_empty(l->clusters))
        return true;
    l->env.cluster = cluster_name(state_dir_find(NULL, l->a), l->a);
    return listing_cluster_check(l->command->name, l->clusters, from, l->env.cluster, ret_err);
}

/* The columns that say the cluster's name; in sinfo it is said only where -M asked for it. */
static void cluster_learn(struct listing *l)
{
    if (l->command->cluster_if_asked)
        return;
    for (size_t i = 0; i < l->format.item.n && !l->env.cluster; i++)
        if (l->format.item.v[i].column &&
            text_is_nocase(l->format.item.v[i].column->name, "Cluster"))
            l->env.cluster = cluster_name(state_dir_find(NULL, l->a), l->a);
}

static void unknown_say(struct listing *l)
{
    struct span rest = span_of(l->format.unknown), line;
    while (!l->unknown_said && l->format.unknown && span_next(&rest, '\n', &line)) {
        if (l->command->plain_unknown && !l->long_text)
            fprintf(stderr, "%.*s\n", (int)line.len, line.data);
        else
            program_error(l->command->name, "%.*s", (int)line.len, line.data);
    }
    l->unknown_said = true;
}

static bool run(struct listing *l, struct err *ret_err)
{
    const struct listing_command *k = l->command;
    struct cell_env env = listing_env();
    l->env.now_us = env.now_us;
    l->env.time_format = env.time_format;
    l->env.bits_shown = env.bits_shown;
    listing_time_format_check(k->name);
    if (!clusters_check(l, ret_err) || !option_line_read_variables(&l->line, getenv, ret_err))
        return false;
    if (k->prepare && !k->prepare(l->ctx, ret_err))
        return false;
    if (k->echoes && l->verbose)
        echo(l);
    struct client *c = k->show_away
                           ? cluster_reach(state_dir_find(NULL, l->a), ret_err)
                           : program_connect_for(k->name, state_dir_find(NULL, l->a), l->asks);
    l->away = !c;
    if (!c && k->show_away)
        k->show_away(l->ctx);
    if (!c && l->json && !k->away)
        json_slurm_away(k->name, l->json);
    if (!c)
        return false;
    if (l->json)
        client_keep_texts(c, true);
    bool ok = show_all(l, c, ret_err);
    client_close(c);
    return ok;
}

int listing_main(struct listing *l, const struct listing_command *command, void *ctx, int argc,
                 char **argv)
{
    struct err err = {0};
    l->command = command;
    l->ctx = ctx;
    l->a = arena_new();
    l->round = arena_new();
    l->line = (struct option_line){
        .table = command->options, .to = ctx, .a = l->a, .variable_counts = variable_counts};
    bool ok = option_line_read(&l->line, argc, argv, &err);
    if (ok && !program_information(&l->line) && !json_form_listed(l->json)) {
        if (option_line_has(&l->line, "helpformat"))
            command->formats();
        else
            ok = run(l, &err);
    }
    if (!ok && err.code)
        program_usage_error(command->name, &err);
    if (ok || (l->away && command->show_away))
        return 0;
    return l->away && command->away ? command->away : 1;
}

void listing_done(struct listing *l)
{
    format_done(&l->format);
    str_done(&l->out);
    arena_free(l->round);
    arena_free(l->a);
}

/* ---- the table ---- */

void listing_date(struct listing *l)
{
    if (l->noheader || !(l->iterate_s || l->longer))
        return;
    struct tm local;
    char date[64];
    local_time((time_t)(listing_env().now_us / USEC_PER_SEC), &local);
    strftime(date, sizeof date, "%a %b %d %H:%M:%S %Y", &local);
    str_addf(&l->out, "%s\n", date);
}

static void cluster_head(struct listing *l)
{
    if (l->clusters)
        str_addf(&l->out, "CLUSTER: %s\n", l->env.cluster ? l->env.cluster : l->clusters);
}

void listing_begin(struct listing *l)
{
    l->env.now_us = listing_env().now_us;
    cluster_learn(l);
    unknown_say(l);
    if (l->command->headed)
        cluster_head(l);
    if (l->command->ruled) {
        if (l->noheader)
            return;
        if (l->parsable)
            format_print_parsable(&l->format, &l->env, NULL, l->delimiter, l->parsable == 'p',
                                  &l->out);
        else
            format_print_ruled_header(&l->format, &l->out);
        return;
    }
    if (l->command->dated)
        listing_date(l);
    if (!l->noheader) {
        cluster_head(l);
        format_print_header(&l->format, &l->out);
    }
}

void listing_row(struct listing *l, const void *record)
{
    if (l->parsable)
        format_print_parsable(&l->format, &l->env, record, l->delimiter, l->parsable == 'p',
                              &l->out);
    else
        format_print_row(&l->format, &l->env, record, &l->out);
    if (l->out.len > FLUSH_BYTES)
        listing_flush(&l->out);
}

void listing_end(struct listing *l)
{
    listing_flush(&l->out);
}
