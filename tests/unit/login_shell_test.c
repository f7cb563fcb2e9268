/* Which programs are login shells of bash's, and the file they read. */
#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/step/login_shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void first_lines(void **state)
{
    static const struct {
        const char *script;
        bool login;
    } cases[] = {
        {"#!/bin/bash -l\necho\n", true},
        {"#!/bin/bash -l", true},
        {"#! /usr/bin/bash --login\n", true},
        {"#!/bin/bash -el\n", true},
        {"#!/bin/bash -l\r\n", true},
        {"#!/usr/bin/env -S bash -l\n", true},
        {"#!/usr/bin/env -S A=b bash --login\n", true},
        {"#!/bin/bash\n# -l\n", false},
        {"#!/bin/bash -e\n", false},
        {"#!/bin/sh -l\n", false},
        {"#!/bin/zsh -l\n", false},
        {"#!/usr/bin/env python3\n", false},
        {"#!/usr/bin/env\n", false},
        {"#!/usr/bin/env -S\n", false},
        {"#!\n", false},
        {"#!", false},
        {"", false},
        {"echo bash -l\n", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (login_shell_script(cases[i].script, strlen(cases[i].script)) != cases[i].login)
            fail_msg("%s", cases[i].script);
    char *long_line = xcalloc(1, 5000);
    memset(long_line, ' ', 4990);
    memcpy(long_line, "#!/bin/bash", 11);
    memcpy(long_line + 4985, " -l\n", 4);
    assert_false(login_shell_script(long_line, 4989)); /* the kernel reads no such line either */
    free(long_line);
}

static void commands(void **state)
{
    static const struct {
        const char *words[6];
        bool login;
    } cases[] = {
        {{"bash", "-lc", "x"}, true},
        {{"/bin/bash", "-l", "x"}, true},
        {{"bash", "-e", "--login", "-c", "x"}, true},
        {{"bash", "-o", "pipefail", "-lc", "x"}, true},
        {{"bash", "--rcfile", "f", "-l"}, true},
        {{"bash", "-eo", "pipefail", "x", "-l"}, false},
        {{"bash", "-c", "x", "-l"}, false},
        {{"bash", "x", "-l"}, false},
        {{"bash", "--", "-l"}, false},
        {{"bash", "-", "-l"}, false},
        {{"bash"}, false},
        {{"python3", "-l"}, false},
        {{NULL}, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (login_shell_words(cases[i].words) != cases[i].login)
            fail_msg("case %zu", i);
}

/* What a bash has of it: its PATH, and whether BASH_ENV is left; "" = nothing was printed. */
static void bash_has(const char *bin_dir, const char *path, const char *expected)
{
    char file[] = "/tmp/login_shell_XXXXXX", line[4096] = "";
    struct str text = STR_INIT, command = STR_INIT;
    login_path_text(bin_dir, &text);
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.data, text.len), text.len);
    close(fd);
    str_addf(&command,
             "env -i PATH='%s' BASH_ENV=%s /bin/bash -c 'echo \"$PATH|${BASH_ENV-gone}\"'", path,
             file);
    FILE *f = popen(str_text(&command), "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(pclose(f), 0);
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(line, expected);
    unlink(file);
    str_done(&text);
    str_done(&command);
}

static void the_file_puts_the_commands_back_once(void **state)
{
    (void)state;
    bash_has("/opt/r/bin", "/usr/bin:/bin", "/opt/r/bin:/usr/bin:/bin|gone");
    bash_has("/opt/r/bin", "/usr/bin:/opt/r/bin", "/usr/bin:/opt/r/bin|gone");
    bash_has("/opt/r/bin", "/usr/bin:/opt/r/bin2", "/opt/r/bin:/usr/bin:/opt/r/bin2|gone");
    bash_has("/a b/it's $(x)*/bin", "/bin", "/a b/it's $(x)*/bin:/bin|gone");
    bash_has("/a*/bin", "/abc/bin", "/a*/bin:/abc/bin|gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_lines),
        cmocka_unit_test(commands),
        cmocka_unit_test(the_file_puts_the_commands_back_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
