/* The options of remuda plot. */
#include "cli/plot/plot.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "model/job/array.h"
#include "model/record/series.h"

#include <string.h>

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct plot_line *l = to;
    struct job_ref ref;
    if (l->job && l->step)
        return err_set(ret_err, ERR_USAGE, "one job and one of its steps are drawn; \"%s\" is more",
                       word);
    const char *text = l->job ? arena_printf(a, "%s.%s", l->job, word) : word;
    if (!job_ref_parse(text, &ref, ret_err))
        return false;
    bool has_step = ref.has_step;
    job_ref_done(&ref);
    const char *dot = strrchr(text, '.');
    l->job = has_step && dot ? arena_strndup(a, text, (size_t)(dot - text)) : arena_strdup(a, text);
    l->step = has_step && dot ? arena_strdup(a, dot + 1) : NULL;
    return true;
}

static SETTER(values_set)
{
    struct plot_line *l = to;
    struct span rest = span_of(value), one;
    struct str known = STR_INIT;
    (void)row;
    (void)env;
    while (span_next(&rest, ',', &one))
        if (!series_value_named(one)) {
            for (size_t i = 0; i < series_values_n; i++)
                str_addf(&known, "%s%s", i ? ", " : "", series_values[i].word);
            err_set(ret_err, ERR_USAGE, "there is no value \"%.*s\"; there are: %s",
                    (int)(one.len < 40 ? one.len : 40), one.data, str_text(&known));
            str_done(&known);
            return false;
        }
    l->values = arena_strdup(a, value);
    return true;
}

static SETTER(csv_set)
{
    struct plot_line *l = to;
    (void)row;
    (void)env;
    (void)a;
    l->csv = true;
    l->csv_bare = value && text_is_nocase(value, "nounits");
    return text_empty(value) || l->csv_bare ||
           err_set(ret_err, ERR_USAGE,
                   "--csv has units in each cell, --csv=nounits has none; "
                   "\"%.40s\" is neither",
                   value);
}

static bool theme_read(struct plot_line *l, const char *name, const char *value, struct arena *a,
                       struct err *ret_err)
{
    l->theme = text_empty(value) ? "auto" : arena_strdup(a, value);
    return text_is_nocase(l->theme, "auto") || text_is_nocase(l->theme, "light") ||
           text_is_nocase(l->theme, "dark") ||
           err_set(ret_err, ERR_USAGE, "--%s, --%s=light and --%s=dark are drawn, not \"%.40s\"",
                   name, name, name, value);
}

static SETTER(svg_set)
{
    struct plot_line *l = to;
    (void)row;
    (void)env;
    l->svg = true;
    return theme_read(l, "svg", value, a, ret_err);
}

static SETTER(png_set)
{
    struct plot_line *l = to;
    (void)row;
    (void)env;
    l->png = true;
    return theme_read(l, "png", value, a, ret_err);
}

#define AT(member) offsetof(struct plot_line, member)
static const struct option_row rows[] = {
    OPT_FLAG("all-values", 'a', "everything that was sampled", AT(all)),
    {.name = "csv",
     .arg = ARG_OPTIONAL,
     .metavar = "nounits",
     .set = csv_set,
     .doc = "a row for each sample and device, as nvidia-smi writes them"},
    OPT_FLAG("each", 0, "a chart for each GPU and node, however many there are", AT(each)),
    OPT_VALUE("from", 'S', "time", "since then; else since its beginning", set_any_text, AT(from)),
    OPT_VALUE("gpu", 'g', "numbers", "these GPUs, as their node numbers them: 0,2-3", set_any_text,
              AT(gpus)),
    OPT_VALUE("height", 0, "rows", "rows of each chart; else as many as are good", set_own_number,
              AT(height), .min = 1, .max = 40),
    OWN_HELP,
    OWN_JSON(struct plot_line, "everything as JSON"),
    {.name = "png",
     .arg = ARG_OPTIONAL,
     .metavar = "theme",
     .set = png_set,
     .doc = "a picture of dots, on standard output, by cairo: light or dark"},
    OPT_VALUE("run", 0, "number", "which run of a job that was requeued, from 1 on; else the last",
              set_own_number, AT(attempt), .min = 1, .max = INT32_MAX),
    OWN_STATE(struct plot_line),
    {.name = "svg",
     .arg = ARG_OPTIONAL,
     .metavar = "theme",
     .set = svg_set,
     .doc = "a picture, on standard output: light, dark, or as its viewer is"},
    OPT_VALUE("to", 'E', "time", "until then; else to its end", set_any_text, AT(to)),
    OPT_VALUE("value", 0, "words", "what is drawn: util,mem,power,cpu,rss,read …", values_set, 0),
    OPT_FLAG("watch", 'w', "again and again while the job runs", AT(watch)),
    OWN_YAML(struct plot_line),
};
OPTION_TABLE(plot_options, rows, .usage = "remuda plot [OPTIONS] JOB [STEP]",
             .about = "  What a job did, as it was sampled while it ran: each GPU, CPUs, memory, "
                      "bytes. 42, 42_7 of an array, 42+1 of a het job, 42.0 or 42 0: a step.\n",
             .words = WORDS_MIXED, .word = word_take);
