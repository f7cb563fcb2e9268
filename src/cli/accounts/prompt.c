/* sacctmgr at a terminal: questions before changes, and commands one a line. */
#include "base/alloc.h"
#include "cli/accounts/accounts.h"
#include "cli/program/program.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 30000

/* A line of the answer, without waiting for ever. False: nobody answered. */
static bool answer_read(char *line, size_t size)
{
    size_t n = 0;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    while (n + 1 < size) {
        char c;
        if (poll(&p, 1, ASK_MS) <= 0 || read(STDIN_FILENO, &c, 1) != 1)
            break;
        line[n++] = c;
        if (c == '\n')
            break;
    }
    line[n] = '\0';
    return n > 0;
}

bool sacctmgr_ask(struct sacctmgr *s, const char *what)
{
    char line[64];
    if (s->immediate)
        return true;
    printf("%s (You have 30 seconds to decide)\n", what);
    for (;;) {
        fputs("(N/y): ", stdout);
        fflush(stdout);
        if (!answer_read(line, sizeof line)) {
            putchar('\n');
            return false;
        }
        if (!isatty(STDIN_FILENO))
            putchar('\n');
        if (line[0] == '\n' || line[0] == 'n' || line[0] == 'N')
            return false;
        if (line[0] == 'y' || line[0] == 'Y')
            return true;
        puts("Y or N please");
    }
}

/* A line, a byte at a time: what stands behind it is the answer to a question. */
static bool line_read(struct str *line)
{
    char c;
    str_clear(line);
    while (read(STDIN_FILENO, &c, 1) == 1) {
        if (c == '\n')
            return true;
        str_addc(line, c);
    }
    return line->len > 0;
}

void sacctmgr_prompt(struct sacctmgr *s, void (*run)(struct sacctmgr *s, int n, char **word))
{
    struct str line = STR_INIT;
    char *word[256];
    const char *last = "";
    s->interactive = true;
    while (!s->leave) {
        fputs("sacctmgr: ", stdout);
        fflush(stdout);
        if (!line_read(&line)) {
            putchar('\n');
            break;
        }
        const char *text = str_text(&line);
        if (!text_starts(text + strspn(text, " \t"), "!!"))
            last = arena_strdup(s->a, text);
        int n = words_split(s->a, last, word, (int)ARRAY_LEN(word));
        s->rc = 0;
        if (n)
            run(s, n, word);
        fflush(stdout);
    }
    str_done(&line);
}
