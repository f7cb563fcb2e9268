/* What is told of a configuration, sorted: a file that comes from Slurm has dozens of lines that
 * nothing needs to be said of here, and among them may be one that somebody counts on. */
#include "base/str.h"
#include "model/settings/settings.h"

#include <string.h>

static size_t count(const struct config *c, enum config_weight weight)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nwarnings; i++)
        n += c->weighs[i] == weight;
    return n;
}

static void each_say(const struct config *c, enum config_weight weight,
                     void (*say)(void *ctx, const char *line), void *ctx)
{
    for (size_t i = 0; i < c->nwarnings; i++)
        if (c->weighs[i] == weight)
            say(ctx, c->warning[i]);
}

#define NAMED_MOST 6

/* The keys of the warnings, and for what is not known the key that may be meant: `SelectTyp (did
 * you mean SelectType?)`. */
static void keys_add(const struct config *c, enum config_weight weight, struct str *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nwarnings; i++) {
        if (c->weighs[i] != weight)
            continue;
        if (++n > NAMED_MOST) {
            str_add(out, ", …");
            return;
        }
        const char *said = strchr(c->warning[i], ' '),
                   *meant = strstr(c->warning[i], "did you mean");
        const char *quoted = said ? strchr(said, '"') : NULL;
        str_add(out, n > 1 ? ", " : "");
        if (weight == WEIGHS_UNKNOWN && quoted)
            str_addf(out, "%.*s", (int)strcspn(quoted + 1, "\""), quoted + 1);
        else if (said)
            str_addf(out, "%.*s", (int)strcspn(said + 1, " ="), said + 1);
        if (meant)
            str_addf(out, " (%s)", meant);
    }
}

static void counted_say(const struct config *c, size_t idle, size_t unknown, const char *details,
                        void (*say)(void *ctx, const char *line), void *ctx)
{
    struct str line = STR_INIT;
    if (unknown > 0) {
        str_addf(&line, "%zu key%s not known (", unknown, unknown == 1 ? " is" : "s are");
        keys_add(c, WEIGHS_UNKNOWN, &line);
        str_add(&line, idle > 0 ? "); " : ")");
    }
    if (idle > 0) {
        str_addf(&line, "%zu setting%s of Slurm's %s no effect here and none is missed (", idle,
                 idle == 1 ? "" : "s", idle == 1 ? "has" : "have");
        keys_add(c, WEIGHS_NOTHING, &line);
        str_addc(&line, ')');
    }
    str_addf(&line, "; %s tells of each", details);
    say(ctx, str_text(&line));
    str_done(&line);
}

#define ALL_SAID_TO 2

void config_warnings_say(const struct config *c, bool all, const char *details,
                         void (*say)(void *ctx, const char *line), void *ctx)
{
    size_t idle = count(c, WEIGHS_NOTHING), unknown = count(c, WEIGHS_UNKNOWN);
    each_say(c, WEIGHS_MEANING, say, ctx);
    if (all || idle + unknown <= ALL_SAID_TO) {
        each_say(c, WEIGHS_UNKNOWN, say, ctx);
        each_say(c, WEIGHS_NOTHING, say, ctx);
    } else {
        counted_say(c, idle, unknown, details, say, ctx);
    }
}
