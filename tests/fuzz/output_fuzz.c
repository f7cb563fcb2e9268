/* The end of a job's output, on its way into a mail: whatever it is, lines that begin with a mark,
 * few and short, of letters. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "cli/reports/last_lines.h"

#include <string.h>

const char *const fuzz_words[] = {
    "line\n",   "\r\n",         " 50%\r",    "\033[31m", "\033]0;title\a",
    "\033",     "\033[",        "\t",        ".\n",      "\xff",
    "\xc3\xa4", "\xe2\x80\xae", "From: x\n", "| \n",     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str out = STR_INIT;
    size_t lines = 0;
    last_lines_clean((const char *)data, size, size % 2, &out);
    for (char *line = out.data, *end; out.len && *line; line = end + 1) {
        end = strchr(line, '\n');
        CHECK(end && strncmp(line, "| ", 2) == 0);
        CHECK(end - line <= 6 * LAST_LINE_BYTES);
        *end = '\0';
        CHECK(text_is_plain(line));
        lines++;
    }
    CHECK(lines <= LAST_LINES + 1);
    str_done(&out);
    return 0;
}
