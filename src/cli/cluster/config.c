/* remuda config check: a configuration as the controller would read it, without one. */
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/table/json_form.h"
#include "io/process/program_list.h"
#include "wire/json.h"

#include <stdio.h>

struct config_line {
    const char *state_dir, *deed, *file;
    enum json_form json;
    bool verbose;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct config_line *o = to;
    if (!o->deed && !text_is(word, "check"))
        return err_set(ret_err, ERR_USAGE, "check is expected, not \"%s\"", word);
    if (o->file)
        return own_word_refuse(to, word, a, ret_err);
    *(o->deed ? &o->file : &o->deed) = word;
    return true;
}

static const struct option_row rows[] = {
    OWN_JSON(struct config_line, "as JSON, every warning with what it weighs"),
    OWN_STATE(struct config_line),
    OPT_FLAG("verbose", 'v', "tell of each setting that has no effect",
             offsetof(struct config_line, verbose)),
    OWN_YAML(struct config_line),
    OWN_HELP,
};
OPTION_TABLE(
    config_options, rows, .usage = "remuda config [OPTIONS] check [FILE]",
    .about = "  Reads FILE, or the cluster's remuda.conf, as the controller would, with what it "
             "includes. The status is 1 if it could not\n"
             "  be taken. First is said what means something else here than in Slurm; settings "
             "that are not needed here and keys that\n"
             "  nobody knows are counted, and with -v told of one by one.\n",
    .words = WORDS_MIXED, .word = word_take);

static void line_print(void *ctx, const char *line)
{
    (void)ctx;
    printf("  %s\n", line);
}

/* ---- JSON ---- */

static void warning_json(struct json_out *j, const char *weight, const char *text)
{
    json_object(j);
    json_key_text(j, "weighs", weight);
    json_key_text(j, "text", text);
    json_object_end(j);
}

static void setting_json(void *ctx, const char *line)
{
    warning_json(ctx, "meaning", line);
}

static void check_json(const char *path, const struct config *c, const struct err *err,
                       enum json_form form)
{
    static const char *const weights[] = {
        [WEIGHS_MEANING] = "meaning", [WEIGHS_UNKNOWN] = "unknown", [WEIGHS_NOTHING] = "nothing"};
    struct str out = STR_INIT;
    struct json_out j;
    json_begin(&j, &out, true);
    json_object(&j);
    json_key_text(&j, "file", path);
    json_key_text(&j, "error", c ? NULL : err->text);
    json_key(&j, "warnings");
    json_array(&j);
    for (size_t i = 0; c && i < c->nwarnings; i++)
        warning_json(&j, weights[c->weighs[i]], c->warning[i]);
    if (c)
        program_settings_check(&c->settings, setting_json, &j);
    json_array_end(&j);
    json_object_end(&j);
    json_form_print(&out, form);
    str_done(&out);
}

/* ---- in words ---- */

static void check_print(const char *path, const struct config *c, bool verbose)
{
    const char *first = NULL;
    for (size_t i = 0; i < c->nparts; i++)
        if (c->part[i].is_default)
            first = c->part[i].name;
    printf("%s can be taken: cluster %s, %zu node%s, %zu partition%s%s%s\n", path,
           c->settings.cluster_name, c->nnodes, c->nnodes == 1 ? "" : "s", c->nparts,
           c->nparts == 1 ? "" : "s", first ? ", default " : "", first ? first : "");
    config_warnings_say(c, verbose, "-v", line_print, NULL);
    program_settings_check(&c->settings, line_print, NULL);
}

static int check(const struct config_line *o, struct arena *a)
{
    struct config c;
    struct err err = {0};
    const char *path = o->file ? o->file : cluster_conf_path(state_dir_find(o->state_dir, a), a);
    bool ok = cluster_conf_read_file(path, &c, &err);
    if (o->json)
        check_json(path, ok ? &c : NULL, &err, o->json);
    else if (ok)
        check_print(path, &c, o->verbose);
    else
        program_error("remuda config", "%s", err.text);
    if (ok)
        config_done(&c);
    return ok ? 0 : 1;
}

int cmd_config(int argc, char **argv)
{
    struct config_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &config_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda config", &line, argc, argv, &status)) {
        if (!o.deed) {
            program_error("remuda config", "what is to be done? `remuda config check [FILE]`");
            status = 2;
        } else {
            status = check(&o, a);
        }
    }
    arena_free(a);
    return status;
}
