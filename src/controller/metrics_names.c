#include "controller/metrics_names.h"

#include "base/alloc.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <string.h>

#define NAME_MAX_BYTES 256

const char *metrics_address_of(const char *setting, struct arena *a)
{
    const char *text = setting ? setting : "";
    return arena_strndup(a, text, strcspn(text, ","));
}

/* NAME of NAME:PORT and of [NAME]:PORT, without the dot that ends it. */
static struct span name_of(const char *host)
{
    struct span name = {host, strcspn(host, ":(")};
    if (host[0] == '[')
        name = (struct span){host + 1, strcspn(host + 1, "]")};
    while (name.len > 0 && strchr(" \t.", name.data[name.len - 1]))
        name.len--;
    return name;
}

static bool is_number(struct span name)
{
    char text[NAME_MAX_BYTES];
    struct in6_addr room;
    if (name.len >= sizeof text)
        return false;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return inet_pton(AF_INET, text, &room) == 1 || inet_pton(AF_INET6, text, &room) == 1;
}

static bool is_localhost(struct span name)
{
    static const char ending[] = ".localhost";
    const size_t len = sizeof ending - 1;
    return span_is_nocase(name, ending + 1) ||
           (name.len > len &&
            span_is_nocase((struct span){name.data + name.len - len, len}, ending));
}

static bool is_own(struct span name, const char *own)
{
    char first[NAME_MAX_BYTES];
    size_t len = strcspn(own, ".");
    if (len == 0 || len >= sizeof first)
        return false;
    memcpy(first, own, len);
    first[len] = '\0';
    return span_is_nocase(name, own) || span_is_nocase(name, first);
}

static bool is_listed(struct span name, const char *list)
{
    struct span rest = span_of(list ? list : ""), word;
    while (span_next(&rest, ',', &word)) {
        char text[NAME_MAX_BYTES];
        if (word.len == 0 || word.len >= sizeof text)
            continue;
        memcpy(text, word.data, word.len);
        text[word.len] = '\0';
        struct span one = name_of(text);
        if (span_is((struct span){one.data, one.len}, "*") ||
            (one.len == name.len && strncasecmp(one.data, name.data, one.len) == 0))
            return true;
    }
    return false;
}

bool metrics_name_is_ours(const char *host, const char *own, const char *setting,
                          const char *slurmctld_host)
{
    ASSERT(own);
    if (!host)
        return true;
    const struct span name = name_of(host);
    const char *more = setting ? strchr(setting, ',') : NULL;
    if (name.len == 0)
        return false;
    /* "*:6821" is every address, not every name. */
    bool listed =
        is_listed(name, more) || (setting && setting[0] != '*' && is_listed(name, setting));
    return listed || is_number(name) || is_localhost(name) || is_own(name, own) ||
           is_listed(name, slurmctld_host);
}
