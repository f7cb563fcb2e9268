/* Values as lines of a configuration have them. */
#include "model/settings/settings.h"

#include <string.h>

void config_value_add(const char *value, struct str *out)
{
    size_t len = strlen(value);
    bool quoted = !len || strpbrk(value, CONFIG_BLANKS) || value[len - 1] == '\\';
    if (quoted)
        str_addc(out, '"');
    for (; *value; value++)
        str_addf(out, *value == '#' ? "\\%c" : "%c", *value);
    if (quoted)
        str_addc(out, '"');
}
