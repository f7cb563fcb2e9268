#include "cli/listing_command.h"

#include "base/duration.h"
#include "cli/listing.h"
#include "cli/program.h"

#include <stdio.h>
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
    switch (id) {
    case LISTING_CLUSTERS: return listing_clusters(value, ret_err);
    case LISTING_DELIMITER: l->delimiter = value; break;
    case LISTING_FORMAT:
        l->format_text = value;
        l->long_text = NULL;
        break;
    case LISTING_LONG_FORMAT:
        l->long_text = value;
        l->format_text = NULL;
        break;
    case LISTING_FORMATS: l->formats_asked = true; break;
    case LISTING_HELP: l->help_asked = true; break;
    case LISTING_ITERATE:
        return text_to_i64(value, 1, 1000000, &l->iterate_s) ||
               err_set(ret_err, ERR_INVALID,
                       "Error: invalid entry for --iterate=%s; it needs a number of seconds", value);
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

static bool run(struct listing *l, struct err *ret_err)
{
    const struct listing_command *k = l->command;
    struct cell_env env = listing_env();
    l->env.now_us = env.now_us;
    l->env.time_format = env.time_format;
    if (k->prepare && !k->prepare(l->ctx, ret_err))
        return false;
    struct client *c = program_connect(k->name, state_dir_find(NULL, l->a));
    if (!c)
        return false;
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
    else if (ok && l->formats_asked)
        command->formats();
    else if (ok)
        ok = run(l, &err);
    if (!ok && err.code)
        program_error(command->name, "%s", err.text);
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
    if (l->command->ruled) {
        if (l->noheader)
            return;
        if (l->parsable)
            format_print_parsable(&l->format, &l->env, NULL, l->delimiter, l->parsable == 'p', &l->out);
        else
            format_print_ruled_header(&l->format, &l->out);
        return;
    }
    if (l->command->dated && (l->iterate_s || (l->longer && !l->noheader)))
        date_add(l);
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
