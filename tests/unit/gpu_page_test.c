/* docs/gpus.md has a row for each sentence that says why GPUs are not found or not used, word by
 * word as the program prints it, and no others. */
#include "unit.h"

#include "base/str.h"
#include "node/hardware/gpu_sentences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *sentence, *help;
};
#define ROW(sentence, help) {sentence, help},
static const struct row nvidia[] = {NVIDIA_SENTENCES(ROW)}, amd[] = {AMD_SENTENCES(ROW)},
                        all[] = {ALL_SENTENCES(ROW)};
#undef ROW
#define ROWS(table) (table), sizeof(table) / sizeof(table)[0]

static char *page;

/* What the program fills in is "…". */
static void sentence_say(const char *format, struct str *out)
{
    for (const char *at = format; *at; at++) {
        if (*at != '%') {
            str_addc(out, *at);
            continue;
        }
        str_add(out, "…");
        at += 1;
    }
}

/* The table below that heading, as it must be; the row between bars of the head is that of all
 * tables. */
static void table_is(const char *heading, const struct row *row, size_t n)
{
    struct str text = STR_INIT;
    const char *at = strstr(page, heading);
    if (!at)
        fail_msg("the page has no heading \"%s\"", heading);
    str_add(&text, "| it says | then |\n|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        str_add(&text, "| ");
        sentence_say(row[i].sentence, &text);
        str_addf(&text, " | %s |\n", row[i].help);
    }
    str_add(&text, "\n");
    const char *table = strstr(at, "| it says |");
    if (!table || strncmp(table, str_text(&text), text.len) != 0)
        fail_msg("below \"%s\" must stand:\n%s", heading, str_text(&text));
    str_done(&text);
}

static void test_the_page_has_what_is_said(void **state)
{
    (void)state;
    table_is("### My NVIDIA GPUs do not show up\n", ROWS(nvidia));
    table_is("### My AMD GPUs do not show up\n", ROWS(amd));
    table_is("## My GPUs do not show up\n", ROWS(all));
}

static int page_read(void **state)
{
    const char *path = getenv("GPUS_PAGE");
    FILE *f = fopen(path ? path : "", "r");
    (void)state;
    if (!f)
        return -1;
    page = calloc(1, 1 << 20);
    size_t n = fread(page, 1, (1 << 20) - 1, f);
    fclose(f);
    return n > 0 ? 0 : -1;
}

static int page_free(void **state)
{
    (void)state;
    free(page);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_page_has_what_is_said)};
    return cmocka_run_group_tests(tests, page_read, page_free);
}
