/* What the keys of `scontrol update` do to the change they make, whatever it is a change of. */
#include "cli/scontrol/update.h"
#include "cli/table/listing.h"

bool update_field(struct update_change *c, const char *name)
{
    c->fields = listing_join(c->fields, name, c->s->a);
    return true;
}

bool update_word_refuse(struct update_change *c, const char *what, const char *word)
{
    scontrol_refuse(c->s, "%s: %s\nRequest aborted", what, word);
    return true;
}

bool update_nothing(struct update_change *c)
{
    scontrol_refuse(c->s, "No changes specified");
    return true;
}

bool update_number(const char *value, int32_t *ret, struct err *ret_err)
{
    int64_t n = 0;
    if (!text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%s\"", value);
    *ret = (int32_t)n;
    return true;
}
