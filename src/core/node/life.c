/* Which life a node is of: "BOOT DIRECTORY", two words that the kernel and the directory of its
 * daemon have drawn (node/daemon/site.c). A word that cannot be read now, as on a disk that fails
 * when the machine starts, is `-` and says nothing; the other counts none the less. */
#include "core/node/node.h"

#include <string.h>

#define UNREAD "-"

struct life_word {
    const char *v;
    size_t n;
};

struct life_words {
    struct life_word boot, dir;
};

static struct life_words words_of(const char *life)
{
    size_t boot = strcspn(life, " ");
    const char *dir = life[boot] ? life + boot + 1 : "";
    return (struct life_words){{life, boot}, {dir, strlen(dir)}};
}

static bool is_read(struct life_word w)
{
    return w.n > 0 && !(w.n == strlen(UNREAD) && memcmp(w.v, UNREAD, w.n) == 0);
}

static bool differ(struct life_word a, struct life_word b)
{
    return is_read(a) && is_read(b) && (a.n != b.n || memcmp(a.v, b.v, a.n) != 0);
}

bool life_is_another(const char *known, const char *told)
{
    if (!known || !told)
        return false;
    struct life_words a = words_of(known), b = words_of(told);
    return differ(a.boot, b.boot) || differ(a.dir, b.dir);
}

bool life_is_another_boot(const char *known, const char *told)
{
    return known && told && differ(words_of(known).boot, words_of(told).boot);
}

bool life_is_the_same(const char *known, const char *told)
{
    if (!known || !told)
        return false;
    struct life_words a = words_of(known), b = words_of(told);
    return is_read(a.boot) && is_read(b.boot) && is_read(a.dir) && is_read(b.dir) &&
           !life_is_another(known, told);
}

const char *life_after(const char *known, const char *told, struct arena *a)
{
    if (!known || !told)
        return told ? told : known;
    struct life_words was = words_of(known), is = words_of(told);
    struct life_word boot = is_read(is.boot) ? is.boot : was.boot;
    struct life_word dir = is_read(is.dir) ? is.dir : was.dir;
    return arena_printf(a, "%.*s %.*s", (int)boot.n, boot.v, (int)dir.n, dir.v);
}
