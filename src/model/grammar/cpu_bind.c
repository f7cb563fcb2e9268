#include "model/grammar/cpu_bind.h"

#include "base/alloc.h"
#include "base/str.h"

bool cpu_bind_wanted_parse(const char *value, const char **ret, struct err *ret_err)
{
    static const struct {
        const char *word, *meant;
    } words[] = {{"none", "none"},   {"socket", "sockets"}, {"sockets", "sockets"},
                 {"ldom", "ldoms"},  {"ldoms", "ldoms"},    {"core", "cores"},
                 {"cores", "cores"}, {"thread", "threads"}, {"threads", "threads"},
                 {"off", NULL}};
    *ret = NULL;
    if (text_empty(value))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is_nocase(value, words[i].word)) {
            *ret = words[i].meant;
            return true;
        }
    return err_set(ret_err, ERR_INVALID,
                   "none, socket, ldom, core, thread or off is expected, not \"%.60s\"", value);
}
