#include "node/step/login_shell.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX      16
#define LINE_MAX_BYTES 1000u

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool takes_a_word(const char *option)
{
    return strcmp(option, "--rcfile") == 0 || strcmp(option, "--init-file") == 0 ||
           (option[1] != '-' && option[strlen(option) - 1] == 'o');
}

/* Of "-lc" and "--login"; the first word that is no option ends them. */
static bool login_option(const char *const *word)
{
    for (; *word && ((*word)[0] == '-' || (*word)[0] == '+') && (*word)[1]; word++) {
        bool letters = (*word)[0] == '-' && (*word)[1] != '-';
        if (strcmp(*word, "--login") == 0 || (letters && strchr(*word, 'l')))
            return true;
        if (strcmp(*word, "--") == 0)
            return false;
        if (takes_a_word(*word) && word[1])
            word++;
    }
    return false;
}

bool login_shell_words(const char *const *words)
{
    if (*words && strcmp(base_name(*words), "env") == 0) {
        do
            words++;
        while (*words && (**words == '-' || strchr(*words, '=')));
    }
    return *words && strcmp(base_name(*words), "bash") == 0 && login_option(words + 1);
}

bool login_shell_script(const char *script, size_t len)
{
    const char *end = memchr(script, '\n', len);
    size_t n = 0, length = end ? (size_t)(end - script) : len;
    const char *words[WORDS_MAX + 1] = {NULL};
    if (length < 3 || length > LINE_MAX_BYTES || memcmp(script, "#!", 2) != 0)
        return false;
    char *line = xstrndup(script + 2, length - 2), *rest = line, *word;
    while (n < WORDS_MAX && (word = strsep(&rest, " \t\r")))
        if (*word)
            words[n++] = word;
    bool found = login_shell_words(words);
    free(line);
    return found;
}

void login_path_text(const char *bin_dir, struct str *out)
{
    ASSERT(bin_dir);
    str_add(out, "# For jobs whose script is a login shell (#!/bin/bash -l): the commands of this "
                 "cluster.\ncase \":$PATH:\" in\n*:");
    str_add_shell_word(out, bin_dir);
    str_add(out, ":*) ;;\n*) PATH=");
    str_add_shell_word(out, bin_dir);
    str_add(out, "${PATH:+:$PATH}\n   export PATH ;;\nesac\nunset BASH_ENV\n");
}
