#include "io/process/program_list.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/settings/key.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static void list_add(struct program_list *l, const char *path)
{
    l->path = xrealloc(l->path, (l->n + 1) * sizeof *l->path);
    l->path[l->n++] = xstrdup(path);
}

bool program_list_find(const char *pattern, struct program_list *ret, struct err *ret_err)
{
    glob_t found = {0};
    *ret = (struct program_list){0};
    if (!is_pattern(pattern)) {
        list_add(ret, pattern);
        return true;
    }
    int rc = glob(pattern, GLOB_ERR, NULL, &found);
    int why = rc == GLOB_NOSPACE ? ENOMEM : rc == GLOB_NOMATCH ? ENOENT : errno;
    for (size_t i = rc == 0 ? found.gl_pathc : 0; i > 0; i--)
        list_add(ret, found.gl_pathv[i - 1]);
    globfree(&found);
    if (rc == 0)
        return true;
    err_set(ret_err, ERR_NOT_FOUND,
            rc == GLOB_NOMATCH ? "no program matches %s" : "%s cannot be read", pattern);
    errno = why;
    return false;
}

void program_list_done(struct program_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->path[i]);
    free(l->path);
    *l = (struct program_list){0};
}

bool program_list_check(const char *pattern, struct err *ret_err)
{
    struct program_list l;
    bool ok = program_list_find(pattern, &l, ret_err);
    for (size_t i = 0; ok && i < l.n; i++)
        if (access(l.path[i], X_OK) != 0)
            ok =
                err_set(ret_err, ERR_NOT_FOUND, "%s cannot be run: %s", l.path[i], strerror(errno));
    program_list_done(&l);
    return ok;
}

static void setting_check(const char *key, const char *pattern,
                          void (*say)(void *ctx, const char *sentence), void *ctx)
{
    struct err err = {0};
    if (text_empty(pattern) || program_list_check(pattern, &err))
        return;
    char *text =
        xasprintf("%s=%s: %s on this host. A node where it is so is drained by the first job that "
                  "comes (\"%s error\" in sinfo -R)",
                  key, pattern, err.text, key);
    say(ctx, text);
    free(text);
}

static void filter_check(const char *path, void (*say)(void *ctx, const char *sentence), void *ctx)
{
    if (text_empty(path) || (path[0] == '/' && access(path, X_OK) == 0))
        return;
    char *text = xasprintf("SubmitFilter=%s: %s. Until it can be run all submissions are refused",
                           path, path[0] == '/' ? strerror(errno) : "not an absolute path");
    say(ctx, text);
    free(text);
}

void program_settings_check(const struct settings *s, void (*say)(void *ctx, const char *sentence),
                            void *ctx)
{
    setting_check(SETTING_KEY(Prolog), s->prolog, say, ctx);
    setting_check(SETTING_KEY(Epilog), s->epilog, say, ctx);
    filter_check(s->submit_filter, say, ctx);
}
