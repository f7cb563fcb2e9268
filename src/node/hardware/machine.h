/* What this machine has. */
#ifndef REMUDA_NODE_HARDWARE_MACHINE_H
#define REMUDA_NODE_HARDWARE_MACHINE_H

#include "base/arena.h"
#include "base/str.h"
#include "model/grammar/gres.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One row a fact, so that a child process can find them out and hand them over as text. X(type,
 * member, doc) with types I64 and TEXT. */
// clang-format off
#define MACHINE(X)                                                                                           \
    X(TEXT, hostname, "short host name")                                                                     \
    X(TEXT, arch, "architecture")                                                                            \
    X(TEXT, os, "operating system and release")                                                              \
    X(I64, boot_us, "booted")                                                                                \
    X(I64, cpus, "threads this process may use")                                                             \
    X(I64, sockets, "packages")                                                                              \
    X(I64, cores_per_socket, "cores of a package")                                                           \
    X(I64, threads_per_core, "threads of a core")                                                            \
    X(TEXT, cpu_numbers, "the system's number of each CPU, core by core: \"0,2,1,3\"")                       \
    X(I64, memory_mib, "memory")                                                                             \
    X(I64, tmp_disk_mib, "size of the file system of /tmp")                                                  \
    X(TEXT, devices, "devices, as model/grammar/gres.h writes them")                                                 \
    X(TEXT, gres, "the same as counts: gpu:v100:2")                                                          \
    X(TEXT, device_files, "device numbers of GPUs' files: \"0=195:0,1=195:1+241:7\"; NULL = not known")         \
    X(TEXT, closed_files, "device numbers of the files of GPUs that gres.conf does not name, which nobody may open: \"195:0 195:4\"") \
    X(TEXT, names_all, "GPUs that their numbers do not name where all are seen: \"0=GPU-a,1=GPU-b\"") \
    X(TEXT, names_alone, "likewise where a job sees its own only, and counts these") \
    X(TEXT, device_trouble, "why devices that are there cannot be used, sentences separated by \"; \"")     \
    X(TEXT, device_search, "if no GPU was found: what was looked for, sentences separated by \"; \"")         \
    X(TEXT, error, "gres.conf cannot be used: file, line and why")                                           \
    X(TEXT, remarks, "what could not be found out, sentences separated by \"; \"")
// clang-format on

#define MACHINE_C_I64  int64_t
#define MACHINE_C_TEXT const char *
struct machine {
#define X(type, member, doc) MACHINE_C_##type member;
    MACHINE(X)
#undef X
};

/* Finds out, in a child process: vendors' libraries are large, start threads and sometimes crash.
 * What a child that crashed did not tell is 0 or NULL, and `remarks` says so. Texts live in the
 * arena. */
struct machine_ask {
    const char *gres_conf;   /* the file, which need not be there; NULL = none */
    const char *node;        /* whose lines of it count */
    const char *known;       /* devices that have numbers already, which they keep; NULL = none */
    const char *known_files; /* and device_files of these; NULL = not known */
};
/* The rows as lines of text, and read again: lines that are none are passed over, texts live in the
 * arena. */
void machine_write(const struct machine *m, FILE *to);
/* What discovery wrote, in lines; what is no line of it is skipped, what is not said stays 0 or
 * NULL. Texts are in the arena. */
void machine_parse(const char *text, struct machine *ret, struct arena *a);
/* Devices as counts of each type, in the order they come: "gpu:v100:2"; NULL = none. */
const char *machine_gres_of(const struct device_list *devices, struct arena *a);
/* Asks in a child, which may hang or die in a driver's library: what it had said until then is
 * taken. Blocks. */
void machine_discover(struct machine *ret, const struct machine_ask *ask, struct arena *a);
/* "NodeName=… CPUs=… …", as slurmd -C prints it, appended. */
void machine_config_line(const struct machine *m, struct str *out);

/* ---- the parts, each in a file of its own; called in the child ------------------------------ */

/* Sockets, cores and threads as hwloc sees them; without it the number of CPUs alone. remarks: what
 * a person should know. */
void discover_topology(struct machine *m, struct arena *a, struct str *remarks);
#endif
