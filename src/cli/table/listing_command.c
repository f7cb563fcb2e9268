#include "cli/table/listing_command.h"

#include "base/duration.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES 60000

static bool json_take(struct listing *l, const char *option, struct err *ret_err)
{
    if (l->command->no_json)
        return err_set(ret_err, ERR_UNSUPPORTED, "%s: not supported: %s", option, l->command->no_json);
    l->json = true;
    return true;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct listing *l = ctx;
    if (id < LISTING_ECHOED)
        l->given[id] = value ? value : "";
    switch (id) {
    case LISTING_CLUSTERS: l->clusters = value; break;
    case LISTING_DELIMITER: l->delimiter = value; break;
    case LISTING_FORMAT:
        if (l->command->one_format && l->long_text)
            return err_set(ret_err, ERR_INVALID, "-o (--format) is incompatible with -O (--Format)");
        l->format_text = value;
        l->long_text = NULL;
        break;
    case LISTING_LONG_FORMAT:
        if (l->command->one_format && l->format_text)
            return err_set(ret_err, ERR_INVALID, "-O (--Format) is incompatible with -o (--format)");
        l->long_text = value;
        l->format_text = NULL;
        break;
    case LISTING_FORMATS: l->formats_asked = true; break;
    case LISTING_HELP: l->help_asked = true; break;
    case LISTING_ITERATE:
        if (text_to_i64(value, 1, 1000000, &l->iterate_s))
            break;
        program_error(l->command->name, "%s--iterate=%s",
                      l->command->plain_unknown ? "Error: invalid entry for " : "", value);
        return err_set(ret_err, ERR_INVALID, "a number of seconds is needed, at least 1");
    case LISTING_JSON: return json_take(l, "--json", ret_err);
    case LISTING_YAML:
        return l->command->no_json
                   ? json_take(l, "--yaml", ret_err)
                   : err_set(ret_err, ERR_UNSUPPORTED, "--yaml: not supported yet; --json has the same data");
    case LISTING_LONG: l->longer = true; break;
    case LISTING_NOCONVERT: l->env.noconvert = true; break;
    case LISTING_NOHEADER: l->noheader = true; break;
    case LISTING_NOTHING: break;
    case LISTING_PARSABLE: l->parsable = 'p'; break;
    case LISTING_PARSABLE2: l->parsable = 'P'; break;
    case LISTING_USAGE: l->usage_asked = true; break;
    case LISTING_VERBOSE: l->verbose++; break;
    case LISTING_VERSION: l->version_asked = true; break;
    default: {
        bool ok = l->command->option(l->ctx, id, value, ret_err);
        l->last_option = id;
        return ok;
    }
    }
    l->last_option = id;
    return true;
}

/* -v: a line for each option, in the order of the table; flags are true or false. */
static void echo(const struct listing *l)
{
    const char *rule = "-----------------------------";
    puts(rule);
    for (size_t i = 0; i < l->command->options->n; i++) {
        const struct cli_option *o = &l->command->options->option[i];
        const char *given = o->id < LISTING_ECHOED ? l->given[o->id] : NULL;
        if (!o->doc || o->id == LISTING_HELP || o->id == LISTING_USAGE || o->id == LISTING_VERSION)
            continue;
        if (o->id == LISTING_VERBOSE)
            printf("%-11s = %d\n", o->name, l->verbose);
        else if (o->arg == CLI_NONE)
            printf("%-11s = %s\n", o->name, given ? "true" : "false");
        else
            printf("%-11s = %s\n", o->name, given ? given : "(null)");
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

/* There is one cluster: its name, "all" and "local" mean it. */
static bool clusters_check(struct listing *l, struct err *ret_err)
{
    const char *from_env = getenv("SLURM_CLUSTERS");
    const char *asked = l->clusters ? l->clusters : from_env;
    struct span rest = span_of(asked), piece;
    if (text_empty(asked))
        return true;
    l->env.cluster = cluster_name(state_dir_find(NULL, l->a), l->a);
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len || span_is_nocase(piece, "all") || span_is_nocase(piece, "local") ||
            text_empty(l->env.cluster) || span_is_nocase(piece, l->env.cluster))
            continue;
        program_error(l->command->name, "No cluster '%.*s' known by database.", (int)piece.len, piece.data);
        return err_set(
            ret_err, ERR_NOT_FOUND,
            "'%.*s' can't be reached now, or it is an invalid entry for %s.  This cluster is '%s'.",
            (int)piece.len, piece.data, l->clusters ? "--cluster" : "SLURM_CLUSTERS", l->env.cluster);
    }
    return true;
}

/* The columns that say the cluster's name. */
static void cluster_learn(struct listing *l)
{
    for (size_t i = 0; i < l->format.item.n && !l->env.cluster; i++)
        if (l->format.item.v[i].column && text_is_nocase(l->format.item.v[i].column->name, "Cluster"))
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
    if (!clusters_check(l, ret_err))
        return false;
    if (k->prepare && !k->prepare(l->ctx, ret_err))
        return false;
    if (k->echoes && l->verbose)
        echo(l);
    struct client *c = program_connect(k->name, state_dir_find(NULL, l->a));
    if (!c)
        return false;
    if (l->json)
        client_keep_texts(c);
    bool ok = show_all(l, c, ret_err);
    client_close(c);
    return ok;
}

int listing_main(struct listing *l, const struct listing_command *command, void *ctx, int argc, char **argv)
{
    struct err err = {0};
    l->command = command;
    l->ctx = ctx;
    l->a = arena_new();
    l->round = arena_new();
    bool ok = cli_parse(command->options, argc, argv, option_take, l, &err);
    if (ok && l->version_asked)
        puts(SLURM_VERSION_TEXT);
    else if (ok && l->help_asked)
        cli_help_print(command->options, command->usage);
    else if (ok && l->usage_asked)
        cli_usage_print(command->options, command->usage);
    else if (ok && l->formats_asked)
        command->formats();
    else if (ok)
        ok = run(l, &err);
    if (!ok && err.code)
        program_usage_error(command->name, &err);
    return ok ? 0 : 1;
}

void listing_done(struct listing *l)
{
    format_done(&l->format);
    str_done(&l->out);
    arena_free(l->round);
    arena_free(l->a);
}

/* ---- the table ---- */

static void date_add(struct listing *l)
{
    time_t now = (time_t)(l->env.now_us / USEC_PER_SEC);
    struct tm local;
    char date[64];
    localtime_r(&now, &local);
    strftime(date, sizeof date, "%a %b %d %H:%M:%S %Y", &local);
    str_addf(&l->out, "%s\n", date);
}

void listing_begin(struct listing *l)
{
    l->env.now_us = listing_env().now_us;
    cluster_learn(l);
    unknown_say(l);
    if (l->command->ruled) {
        if (l->noheader)
            return;
        if (l->parsable)
            format_print_parsable(&l->format, &l->env, NULL, l->delimiter, l->parsable == 'p', &l->out);
        else
            format_print_ruled_header(&l->format, &l->out);
        return;
    }
    if (l->command->dated && !l->noheader && (l->iterate_s || l->longer))
        date_add(l);
    if (!l->noheader && l->clusters)
        str_addf(&l->out, "CLUSTER: %s\n", l->env.cluster ? l->env.cluster : l->clusters);
    if (!l->noheader)
        format_print_header(&l->format, &l->out);
}

void listing_row(struct listing *l, const void *record)
{
    if (l->parsable)
        format_print_parsable(&l->format, &l->env, record, l->delimiter, l->parsable == 'p', &l->out);
    else
        format_print_row(&l->format, &l->env, record, &l->out);
    if (l->out.len > FLUSH_BYTES)
        listing_flush(&l->out);
}

void listing_end(struct listing *l)
{
    listing_flush(&l->out);
}
