/* A configuration that is read, or refused, and what is said of it. */
#ifndef REMUDA_TESTS_MODEL_CONFIG_HELP_H
#define REMUDA_TESTS_MODEL_CONFIG_HELP_H

#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "model/limits.h"
#include "model/settings/settings.h"

#include <stdio.h>
#include <string.h>

/* Files by name for Include: name, text, name, text, …, NULL. */
static const char *file_read(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    for (const char *const *file = ctx; file && *file; file += 2)
        if (text_is(file[0], path))
            return arena_strdup(a, file[1]);
    err_set(ret_err, ERR_NOT_FOUND, "%s: no such file", path);
    return NULL;
}

/* The configuration of the test at hand; the next `read` and teardown free it. */
static struct config config;

static inline int teardown(void **state)
{
    if (config.arena)
        config_done(&config);
    return 0;
}

static const struct config *read_with(const char *text, const char *const *files)
{
    struct err e = {0};
    teardown(NULL);
    if (!config_parse(text, "remuda.conf", file_read, (void *)(uintptr_t)files, &config, &e))
        fail_msg("%s", e.text);
    return &config;
}

static const struct config *read(const char *text)
{
    return read_with(text, NULL);
}

static inline void assert_error_with(const char *text, const char *const *files, const char *starts,
                                     const char *says)
{
    struct config untouched = {0}, ret = {0};
    struct err e = {0};
    if (config_parse(text, "remuda.conf", file_read, (void *)(uintptr_t)files, &ret, &e)) {
        config_done(&ret);
        fail_msg("\"%s\" was accepted", text);
    }
    if (!text_starts(e.text, starts) || !strstr(e.text, says))
        fail_msg("%s", e.text);
    assert_memory_equal(&ret, &untouched, sizeof ret);
}

static inline void assert_error(const char *text, const char *starts, const char *says)
{
    assert_error_with(text, NULL, starts, says);
}

static inline void assert_no_warnings(void)
{
    if (config.nwarnings)
        fail_msg("%s", config.warning[0]);
}

#endif
