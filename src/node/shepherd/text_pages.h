/* The program's text on huge pages. A process that was forked maps text anew, a fault for each
 * 64 KiB that it touches, and takes all that down again when it executes its own program: of a
 * short step's fork that is a third. A huge page is copied with its table's one entry. */
#ifndef REMUDA_NODE_SHEPHERD_TEXT_PAGES_H
#define REMUDA_NODE_SHEPHERD_TEXT_PAGES_H

#include <stdbool.h>

/* Once, before any thread and any fork. False: all is as it was, as the kernel has no huge pages to
 * give, the site forbids them or such text, or the program is small. */
bool text_pages_huge(void);

#endif
