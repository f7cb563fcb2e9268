/* --container-image and its kin: the tasks run `remuda container OPTIONS -- PROGRAM ARGUMENTS`, of
 * this release on their node (cli/container/), which makes the container and starts the program in
 * it. The step is called, and shown, by the user's program. */
#include "base/alloc.h"
#include "cli/step/srun_parts.h"

#include <string.h>

static void word_add(struct str *words, const char *option, const char *value)
{
    if (!option)
        return;
    str_addf(words, value ? "--%s=%s" : "--%s", option, value);
    str_addc(words, '\0');
}

static const char *choice(enum tristate t, const char *yes, const char *no)
{
    return t == YES ? yes : t == NO ? no : NULL;
}

static void options_add(struct str *words, const struct container_ask *ask)
{
    const struct {
        const char *option, *value;
    } texts[] = {{"container-image", ask->image},
                 {"container-mounts", ask->mounts},
                 {"container-workdir", ask->workdir},
                 {"container-name", ask->name},
                 {"container-env", ask->env}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        word_add(words, texts[i].value ? texts[i].option : NULL, texts[i].value);
    word_add(words, choice(ask->mount_home, "container-mount-home", "no-container-mount-home"),
             NULL);
    word_add(words, choice(ask->remap_root, "container-remap-root", "no-container-remap-root"),
             NULL);
    word_add(words, choice(ask->writable, "container-writable", "container-readonly"), NULL);
    word_add(words, choice(ask->entrypoint, "container-entrypoint", "no-container-entrypoint"),
             NULL);
}

bool srun_container_take(struct launch *l, size_t i, struct step_ask *s, struct err *e)
{
    ASSERT(i < l->line.ncomp);
    const struct submit_options *o = &l->line.comp[i];
    const struct container_ask *ask = &o->launch.container;
    struct str words = STR_INIT;
    if (!container_ask_any(ask))
        return true;
    struct container_wish *wish = arena_alloc(l->line.a, sizeof *wish);
    if (!container_ask_read(ask, l->line.a, wish, e))
        return false;
    if (o->launch.multi_prog)
        return err_set(e, ERR_UNSUPPORTED,
                       "--multi-prog does not go with containers: one container is made for one "
                       "program; let a script look at SLURM_PROCID");
    if (o->launch.bcast)
        return err_set(e, ERR_UNSUPPORTED,
                       "--bcast does not go with containers: the copy lies on the node and not in "
                       "the image; copy it with sbcast and name it in --container-mounts");
    str_addn(&words, "remuda", sizeof "remuda");
    str_addn(&words, "container", sizeof "container");
    options_add(&words, ask);
    str_addn(&words, "--", sizeof "--");
    str_addn(&words, s->tasks.args.data, s->tasks.args.len);
    s->tasks.args = (struct blob){arena_dup(l->line.a, words.data, words.len), words.len};
    str_done(&words);
    return true;
}
