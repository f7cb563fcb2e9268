/* What the program is in memory, its text and its constants, is copied to huge pages of our own,
 * which then take the place of what is mapped from the file: by one system call, so that the code
 * which makes it is there before and after. Pages that are not huge would be copied entry by entry
 * in each fork, which is dearer than what was: whether they are huge is asked first. */
#include "node/shepherd/text_pages.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define HUGE_BYTES ((uintptr_t)2 << 20)

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* by the linker */

struct text_range {
    uintptr_t from, to;
};

/* From the program's begin to its first byte that is written; whole huge pages only. */
static struct text_range text_range(void)
{
    const ElfW(Ehdr) *e = &__ehdr_start;
    const ElfW(Phdr) *p = (const void *)getauxval(AT_PHDR);
    const unsigned long n = getauxval(AT_PHNUM);
    uintptr_t base = e->e_type == ET_DYN ? (uintptr_t)e : 0, to = 0;
    for (unsigned long i = 0; p && i < n; i++)
        if (p[i].p_type == PT_LOAD && !(p[i].p_flags & PF_W) &&
            base + p[i].p_vaddr + p[i].p_memsz > to)
            to = base + p[i].p_vaddr + p[i].p_memsz;
    return (struct text_range){((uintptr_t)e + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES,
                               to / HUGE_BYTES * HUGE_BYTES};
}

/* All of it, as the kernel counts. */
static bool is_huge(const char *at, size_t len)
{
    char line[512], head[32];
    unsigned long kib = 0;
    bool here = false, found = false;
    FILE *f = fopen("/proc/self/smaps", "re");
    snprintf(head, sizeof head, "%lx-", (unsigned long)at);
    while (f && !found && fgets(line, sizeof line, f)) {
        here |= strncmp(line, head, strlen(head)) == 0;
        found = here && sscanf(line, "AnonHugePages: %lu", &kib) == 1;
    }
    if (f)
        fclose(f);
    return kib * 1024 >= len;
}

static bool copy_fill(char *copy, struct text_range text)
{
    size_t len = text.to - text.from;
    if (madvise(copy, len, MADV_HUGEPAGE) != 0)
        return false;
    memcpy(copy, (const void *)text.from, len);
    return is_huge(copy, len) && mprotect(copy, len, PROT_READ | PROT_EXEC) == 0;
}

/* Reports of sanitizers find their lines by what is mapped from the file. */
static bool file_is_needed(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return false;
#endif
}

bool text_pages_huge(void)
{
    struct text_range text = text_range();
    if (file_is_needed() || text.from >= text.to)
        return false;
    size_t len = text.to - text.from, room = len + HUGE_BYTES;
    char *all = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return false;
    char *copy = all + (HUGE_BYTES - (uintptr_t)all % HUGE_BYTES) % HUGE_BYTES;
    munmap(copy + len, room - len - (size_t)(copy - all));
    if (copy > all)
        munmap(all, (size_t)(copy - all));
    if (copy_fill(copy, text) && mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
                                        (void *)text.from) == (void *)text.from)
        return true;
    munmap(copy, len);
    return false;
}
