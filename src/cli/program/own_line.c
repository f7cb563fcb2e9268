#include "cli/program/own_line.h"

#include "cli/program/program.h"

#define STATUS_UNREADABLE 2

SETTER(set_own_number)
{
    int64_t *number = (int64_t *)(void *)((char *)to + row->at);
    return text_to_i64(value, row->min, row->max, number) ||
           err_set(ret_err, ERR_INVALID, "--%s must be a number from %lld to %lld, not \"%s\"",
                   row->name, (long long)row->min, (long long)row->max, value);
}

bool own_word_refuse(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return err_set(ret_err, ERR_USAGE, "unknown word \"%s\"", word);
}

int own_line_failed(const char *name, const struct err *e)
{
    if (e->code != ERR_USAGE) {
        program_error(name, "%s", e->text);
        return 1;
    }
    program_error(name, "%s; `%s --help` lists the options", e->text, name);
    return STATUS_UNREADABLE;
}

bool own_line_read(const char *name, struct option_line *line, int argc, char *const argv[],
                   int *ret_status)
{
    struct err err = {0};
    if (option_line_read(line, argc, argv, &err)) {
        *ret_status = 0;
        return !program_information(line);
    }
    own_line_failed(name, &err);
    *ret_status = STATUS_UNREADABLE;
    return false;
}
