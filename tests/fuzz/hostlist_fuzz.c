/* Any text: read or refused. What is read is found in the text, and folds to a text that reads to
 * the same names, in the same order; refusing leaves the list as it was. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/hostlist.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "gpu", "node",  "[1-3]",  "[01-12,20]", "[8-11]", "gpu[1-2]n[0-1]",
    ",",   "login", "rack1-", "007",        NULL};

#define FEW_HOSTS 500

static void fold_check(const struct hostlist *h)
{
    struct str folded = STR_INIT;
    struct hostlist again = HOSTLIST_INIT;
    hostlist_fold(h, &folded);
    CHECK(hostlist_parse(&again, str_text(&folded), NULL));
    CHECK(again.n == h->n);
    for (size_t i = 0; i < h->n; i++)
        CHECK(strcmp(again.name[i], h->name[i]) == 0);
    hostlist_done(&again);
    str_done(&folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    struct hostlist h = HOSTLIST_INIT;
    if (hostlist_count(text, FEW_HOSTS) > FEW_HOSTS && size % 16) {
        free(text);
        return -1; /* a hundred thousand names take as long as a thousand other inputs */
    }
    struct err e = {0};
    hostlist_add(&h, "first");
    size_t counted = hostlist_count(text, HOSTLIST_MAX);
    (void)hostlist_text_has(text, "gpu12");
    CHECK(counted <= HOSTLIST_MAX + 1);
    if (hostlist_parse(&h, text, &e)) {
        CHECK(h.n == counted + 1);
        for (size_t i = 1; i < h.n; i += 1 + h.n / 16)
            CHECK(hostlist_text_has(text, h.name[i]));
        fold_check(&h);
        hostlist_sort(&h);
        fold_check(&h);
        size_t before = h.n;
        hostlist_uniq(&h);
        CHECK(h.n <= before);
        fold_check(&h);
    } else {
        CHECK(h.n == 1 && e.code != ERR_NONE && e.text[0]);
    }
    hostlist_done(&h);
    free(text);
    return 0;
}
