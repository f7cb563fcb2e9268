#include "model/grammar/container.h"

#include "base/str.h"

#include <string.h>

#define LETTERS  "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define WORD     LETTERS CAPITALS DIGITS

#define IMAGE_IS                                                                                    \
    "an image is [USER@][REGISTRY#]IMAGE[:TAG], docker://…, or the path of a .sqsh or .sif file " \
    "or of a directory"

/* ---- words ---- */

static bool is_of(struct span s, const char *letters)
{
    for (size_t i = 0; i < s.len; i++)
        if (!s.data[i] || !strchr(letters, s.data[i]))
            return false;
    return true;
}

/* Neither blanks nor what ends a line or quotes: paths are handed to programs that cut lines. */
static bool is_plain_path(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] <= ' ' || s.data[i] == 0x7f || strchr("\"'\\`$", s.data[i]))
            return false;
    return s.len > 0 && s.len <= CONTAINER_TEXT_MAX;
}

static bool is_absolute(struct span s)
{
    return s.len > 0 && s.data[0] == '/';
}

static bool begins_with(struct span s, const char *prefix)
{
    return s.len >= strlen(prefix) && memcmp(s.data, prefix, strlen(prefix)) == 0;
}

static bool ends_with(struct span s, const char *end)
{
    size_t len = strlen(end);
    return s.len > len && memcmp(s.data + s.len - len, end, len) == 0;
}

static struct span behind(struct span s, size_t n)
{
    return (struct span){s.data + n, s.len - n};
}

static const char *text_of(struct span s, struct arena *a)
{
    return arena_strndup(a, s.data, s.len);
}

/* ---- images ---- */

static bool image_refuse(struct span text, const char *why, struct err *e)
{
    return err_set(e, ERR_VALUE, "--container-image=%.*s: %s", SPAN_QUOTED(text), why);
}

static bool image_file(struct span text, struct arena *a, struct container_image *ret,
                       struct err *e)
{
    if (!is_plain_path(text))
        return image_refuse(text, "a path without blanks, quotes and control characters", e);
    ret->kind = ends_with(text, ".sqsh") || ends_with(text, ".squashfs") ? IMAGE_SQUASHFS
                : ends_with(text, ".sif")                                ? IMAGE_SIF
                                                                         : IMAGE_DIRECTORY;
    ret->path = text_of(text, a);
    return true;
}

/* "nvcr.io", "host:5000", "localhost": what no name on Docker Hub begins with. */
static bool is_host(struct span s)
{
    return span_is(s, "localhost") || memchr(s.data, '.', s.len) || memchr(s.data, ':', s.len);
}

static bool registry_take(struct span *rest, struct arena *a, struct container_image *ret)
{
    const char *hash = memchr(rest->data, '#', rest->len);
    const char *slash = memchr(rest->data, '/', rest->len);
    const char *end = hash ? hash : slash;
    struct span host = {rest->data, end ? (size_t)(end - rest->data) : 0};
    if (!end || (!hash && !is_host(host)))
        return true;
    if (!host.len || !is_of(host, WORD ".:-_[]") || host.data[0] == '.') /* that is a path */
        return false;
    ret->registry = text_of(host, a);
    *rest = behind(*rest, host.len + 1);
    return true;
}

/* USER@ stands before the registry's "#", or before a name that has no digest behind its "@". */
static bool user_take(struct span *rest, struct arena *a, struct container_image *ret)
{
    const char *at = memchr(rest->data, '@', rest->len);
    size_t n = at ? (size_t)(at - rest->data) : 0;
    if (!at || begins_with(behind(*rest, n + 1), "sha256:"))
        return true;
    if (!n || !is_of((struct span){rest->data, n}, WORD "._$+-"))
        return false;
    ret->user = text_of((struct span){rest->data, n}, a);
    *rest = behind(*rest, n + 1);
    return true;
}

static bool digest_take(struct span *rest, struct arena *a, struct container_image *ret)
{
    const char *at = memchr(rest->data, '@', rest->len);
    if (!at)
        return true;
    struct span digest = behind(*rest, (size_t)(at - rest->data) + 1);
    rest->len = (size_t)(at - rest->data);
    ret->digest = text_of(digest, a);
    return begins_with(digest, "sha256:") && digest.len == strlen("sha256:") + 64 &&
           is_of(behind(digest, strlen("sha256:")), DIGITS "abcdef");
}

static bool tag_take(struct span *rest, struct arena *a, struct container_image *ret)
{
    const char *colon = memchr(rest->data, ':', rest->len);
    if (!colon)
        return true;
    struct span tag = behind(*rest, (size_t)(colon - rest->data) + 1);
    rest->len = (size_t)(colon - rest->data);
    ret->tag = text_of(tag, a);
    return tag.len > 0 && tag.len <= 128 && is_of(tag, WORD "._-");
}

static bool image_read(const char *typed, struct arena *a, struct container_image *ret,
                       struct err *e)
{
    struct span text = span_of(typed), rest = text;
    if (text.len > CONTAINER_TEXT_MAX)
        return image_refuse(text, "it is too long", e);
    if (is_absolute(text) || begins_with(text, "."))
        return image_file(text, a, ret, e);
    const char *scheme = strstr(typed, "://");
    if (scheme && !begins_with(text, "docker://"))
        return image_refuse(text, "images come from docker:// alone; give others as a file", e);
    if (scheme)
        rest = behind(rest, strlen("docker://"));
    if (!user_take(&rest, a, ret) || !registry_take(&rest, a, ret) || !digest_take(&rest, a, ret) ||
        !tag_take(&rest, a, ret))
        return image_refuse(text, IMAGE_IS, e);
    if (!rest.len || !is_of(rest, WORD "._/-") || !is_of((struct span){rest.data, 1}, WORD) ||
        rest.data[rest.len - 1] == '/')
        return image_refuse(text, IMAGE_IS, e);
    ret->name = text_of(rest, a);
    return true;
}

/* ":24.01@sha256:…" */
static const char *version_of(const struct container_image *i, struct arena *a)
{
    return arena_printf(a, "%s%s%s%s", i->tag ? ":" : "", i->tag ? i->tag : "",
                        i->digest ? "@" : "", i->digest ? i->digest : "");
}

const char *container_image_reference(const struct container_image *i, struct arena *a)
{
    const char *library = i->registry || strchr(i->name, '/') ? "" : "library/";
    /* A tag beside a digest says nothing, and podman refuses both together. */
    struct container_image one = *i;
    if (one.digest)
        one.tag = NULL;
    /* A host's name alone would be taken for a name on Docker Hub. */
    const char *port = i->registry && !is_host(span_of(i->registry)) ? ":443" : "";
    return arena_printf(a, "%s%s/%s%s%s", i->registry ? i->registry : "docker.io", port, library,
                        i->name, version_of(&one, a));
}

const char *container_image_enroot(const struct container_image *i, struct arena *a)
{
    return arena_printf(a, "docker://%s%s%s%s%s%s", i->user ? i->user : "", i->user ? "@" : "",
                        i->registry ? i->registry : "", i->registry ? "#" : "", i->name,
                        version_of(i, a));
}

/* ---- mounts ---- */

static bool mount_refuse(struct span text, const char *why, struct err *e)
{
    return err_set(e, ERR_VALUE, "--container-mounts=%.*s: %s", SPAN_QUOTED(text), why);
}

/* Those that every runtime has or needs not; the rest would be left out by some. */
static bool flag_is_known(struct span flag)
{
    static const char *const known[] = {"bind",          "rbind",        "private",
                                        "rprivate",      "slave",        "rslave",
                                        "x-create=auto", "x-create=dir", "x-create=file"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (span_is(flag, known[i]))
            return true;
    return false;
}

static bool flags_read(struct span flags, struct arena *a, struct container_mount *ret)
{
    struct span rest = flags, flag;
    struct str others = STR_INIT;
    bool ok = true;
    while (ok && span_next(&rest, '+', &flag)) {
        if (span_is(flag, "ro")) {
            ret->read_only = true;
        } else if (span_is(flag, "rw")) {
            ret->read_only = false;
        } else if ((ok = flag_is_known(flag))) {
            str_addf(&others, "%s%.*s", others.len ? "+" : "", (int)flag.len, flag.data);
        }
    }
    ret->flags = others.len ? arena_strdup(a, str_text(&others)) : NULL;
    str_done(&others);
    return ok;
}

static bool mount_read(struct span text, struct arena *a, struct container_mount *ret,
                       struct err *e)
{
    struct span rest = text, from = {"", 0}, to = {"", 0};
    span_next(&rest, ':', &from);
    if (!span_next(&rest, ':', &to))
        to = from;
    if (begins_with(from, "tmpfs") && from.len == strlen("tmpfs"))
        return mount_refuse(text,
                            "file systems in memory are not made; mount a directory of "
                            "/dev/shm",
                            e);
    if (!is_plain_path(from) || !is_plain_path(to))
        return mount_refuse(text,
                            "paths without blanks, quotes and control characters: "
                            "SRC[:DST[:FLAG+FLAG…]]",
                            e);
    if (!is_absolute(from) && !begins_with(from, "./") && !begins_with(from, "../"))
        return mount_refuse(text, "what is mounted is a path that begins with /, ./ or ../", e);
    if (!is_absolute(to))
        return mount_refuse(text, "where it is seen is a path that begins with /", e);
    if (rest.len && !flags_read(rest, a, ret))
        return mount_refuse(text,
                            "flags are ro, rw, bind, rbind, private, rprivate, slave, rslave "
                            "and x-create=auto, dir or file, joined by +",
                            e);
    ret->from = text_of(from, a);
    ret->to = text_of(to, a);
    return true;
}

static bool mounts_read(const char *typed, struct arena *a, struct container_wish *ret,
                        struct err *e)
{
    struct span rest = span_of(typed), text;
    while (span_next(&rest, ',', &text)) {
        if (ret->mounts == CONTAINER_MOUNTS_MAX)
            return err_set(e, ERR_LIMIT, "--container-mounts: at most %u mounts",
                           CONTAINER_MOUNTS_MAX);
        if (!mount_read(text, a, &ret->mount[ret->mounts++], e))
            return false;
    }
    return true;
}

/* ---- the rest ---- */

static bool variables_read(const char *typed, struct arena *a, struct container_wish *ret,
                           struct err *e)
{
    struct span rest = span_of(typed), name;
    while (span_next(&rest, ',', &name)) {
        if (!name.len || name.len > CONTAINER_TEXT_MAX || !is_of(name, WORD "_") ||
            is_of((struct span){name.data, 1}, DIGITS))
            return err_set(e, ERR_VALUE,
                           "--container-env=%.*s: names of variables, separated by commas",
                           SPAN_QUOTED(name));
        if (ret->variables == CONTAINER_VARIABLES_MAX)
            return err_set(e, ERR_LIMIT, "--container-env: at most %u variables",
                           CONTAINER_VARIABLES_MAX);
        ret->variable[ret->variables++] = text_of(name, a);
    }
    return true;
}

static bool name_read(const char *typed, struct arena *a, struct container_wish *ret, struct err *e)
{
    struct span rest = span_of(typed), name = {"", 0}, use = {"", 0};
    span_next(&rest, ':', &name);
    bool said = span_next(&rest, ':', &use);
    if (!name.len || name.len > CONTAINER_NAME_MAX || !is_of(name, WORD "._-") ||
        !is_of((struct span){name.data, 1}, WORD))
        return err_set(e, ERR_VALUE,
                       "--container-name=%.*s: at most %u letters, digits and .-_, a letter or "
                       "digit first",
                       (int)QUOTED_MAX, typed, CONTAINER_NAME_MAX);
    ret->name = text_of(name, a);
    if (span_is(use, "create"))
        ret->use = CONTAINER_CREATE;
    else if (span_is(use, "exec"))
        ret->use = CONTAINER_EXEC;
    else if (said && !span_is(use, "auto") && !span_is(use, "no_exec")) /* it never joins one */
        return err_set(e, ERR_VALUE,
                       "--container-name=%.*s: behind the name stands auto, create or exec",
                       (int)QUOTED_MAX, typed);
    return true;
}

static bool workdir_check(const char *typed, struct err *e)
{
    struct span text = span_of(typed);
    if (is_absolute(text) && is_plain_path(text))
        return true;
    return err_set(e, ERR_VALUE,
                   "--container-workdir=%.*s: a path inside that begins with /, without blanks, "
                   "quotes and control characters",
                   SPAN_QUOTED(text));
}

bool container_ask_any(const struct container_ask *ask)
{
    return ask->image || ask->mounts || ask->workdir || ask->name || ask->env ||
           ask->mount_home != UNSET || ask->remap_root != UNSET || ask->writable != UNSET ||
           ask->entrypoint != UNSET;
}

bool container_ask_read(const struct container_ask *ask, struct arena *a,
                        struct container_wish *ret, struct err *ret_err)
{
    *ret = (struct container_wish){.use = CONTAINER_AUTO};
    if ((ask->image && !image_read(ask->image, a, &ret->image, ret_err)) ||
        (ask->mounts && !mounts_read(ask->mounts, a, ret, ret_err)) ||
        (ask->env && !variables_read(ask->env, a, ret, ret_err)) ||
        (ask->name && !name_read(ask->name, a, ret, ret_err)) ||
        (ask->workdir && !workdir_check(ask->workdir, ret_err)))
        return false;
    if (!ask->image && !ask->name)
        return err_set(ret_err, ERR_INVALID,
                       "container options are about the container of --container-image or "
                       "--container-name, and neither was given");
    if (!ask->image && ret->use == CONTAINER_CREATE)
        return err_set(ret_err, ERR_INVALID,
                       "--container-name=%s: a new container needs --container-image", ask->name);
    return true;
}
