/* Which build a program is. Programs are linked with a stamp of it (build_stamp.c.in), which is all
 * that changes with every commit; libraries and tests are not. */
#ifndef REMUDA_IO_BUILD_H
#define REMUDA_IO_BUILD_H

/* "0.1.0+612.g7d72b87c12 (2026-11-23)"; of a release, or without the stamp, its version alone. */
const char *build_name(void);

/* The stamp. */
extern const char build_stamp[] __attribute__((weak));

#endif
