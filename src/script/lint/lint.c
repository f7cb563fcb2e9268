#include "script/lint/lint.h"

void lint_read(struct lint *l, const char *text, size_t len, int argc, char *const argv[],
               const char *name, lint_is_directory is_directory)
{
    lint_read_alone(l, text, len, argc, argv);
    lint_lines_look(l, name);
    lint_values_look(l);
    lint_job_look(l, is_directory);
    lint_others_look(l);
    lint_sort(l);
}
