/* qsub and #PBS: the options of PBS Pro and Torque, and what a job is that they describe. */
#ifndef REMUDA_SCRIPT_PBS_H
#define REMUDA_SCRIPT_PBS_H

#include "script/dialect.h"

enum pbs_place { PBS_FREE, PBS_PACK, PBS_SCATTER };

/* What -l asks for; of each resource the first that is given counts. */
struct pbs_resources {
    bool select, nodes_given, place_given;
    int32_t chunks, ncpus, mpiprocs, gpus, threads; /* select; of ncpus= alone one chunk */
    int64_t chunk_mib;
    int32_t nodes, ppn, procs;
    const char *host, *properties; /* of nodes= and select: a host, features "a&b" */
    const char *features;          /* of all parts: -l feature= */
    int32_t all_nodes;             /* of all parts of nodes= */
    enum pbs_place place;
    bool exclusive, together;
    int64_t mem_mib, pmem_mib, vmem_mib, tmp_mib;
    int64_t wall_s;
    const char *qos, *licences;
    const char *seen; /* names, each between ' ' */
};

/* "8:ncpus=4+1:ncpus=2:ngpus=1": parts that differ are components of a heterogeneous job. */
#define PBS_PARTS_MAX 32

struct pbs_request {
    const struct dialect_site *site;
    struct pbs_resources l;                   /* of select= and nodes= the first part */
    struct pbs_resources more[PBS_PARTS_MAX]; /* the others: only what a part has */
    size_t nmore;
    const char *name, *queue, *account, *project, *begin, *array, *shell, *variables, *depend;
    const char *out, *err_file, *mail_to, *mail_points, *reservation, *group, *dir, *args, *prefix;
    const char *origin; /* what PBS_O_WORKDIR is; NULL = where qsub was called */
    const char *umask;
    char join; /* 'o', 'e'; 0 = two files */
    bool drop_out, drop_err;
    bool hold, whole_environment, interactive, wait, quiet, help, version, lint;
    bool rerun_no;
    bool array_torque;   /* of -t */
    bool fault_tolerant; /* -f: of Torque alone */
    int32_t priority;
    /* By index of the row: the command line gave it, and so no line of the script does. */
    bool given[96];
    unsigned attributes_given; /* of -W, a bit each: options.c */
    bool in_script;
    bool keep_environment; /* of sbatch: the environment goes along where -v and -V say nothing */
    const char *no_effect;
};

extern const struct option_table qsub_options;

/* Options of the command line, up to the first word that is none; read before the script. */
bool pbs_read_words(struct pbs_request *r, int argc, char *const argv[],
                    const struct option_env *env, struct arena *a, int *ret_rest,
                    struct err *ret_err);
/* The lines that begin with the prefix (r->prefix, else "#PBS"), up to the first command. */
bool pbs_read_script(struct pbs_request *r, const char *text, size_t len,
                     const struct option_env *env, struct arena *a, struct str *warnings,
                     unsigned *ret_lines, struct err *ret_err);
/* What is read becomes options of sbatch. Files, the work directory and the environment are not
 * among them, as they depend on where the command was called. */
bool pbs_finish(const struct pbs_request *r, struct dialect_out *d, struct err *ret_err);
/* As pbs_finish refuses a job of several parts: how many components it has, and one of them, from
 * 0. What is of the job as a whole is of the first. */
size_t pbs_parts(const struct pbs_request *r);
/* One component of a request of unlike chunks; of the first also what is of the whole job.
 * ERR_VALUE where parts cannot do what was asked. */
bool pbs_part_finish(const struct pbs_request *r, size_t part, struct dialect_out *d,
                     struct err *ret_err);

/* Name, files and directory, which qsub has in another way than sbatch: as options of sbatch, for
 * who reads a script without submitting it. Paths are from the directory of the submission. */
bool pbs_files_finish(const struct pbs_request *r, bool by_sbatch, struct dialect_out *d,
                      struct err *ret_err);

/* Inside script/. */
bool pbs_resources_read(struct pbs_request *r, const char *text, struct arena *a,
                        struct err *ret_err);
/* Notes of -l what counts for nothing beside the rest of it. */
void pbs_resources_note(struct pbs_request *r, struct arena *a);
struct writing;
/* Each resource a line of its own: "#PBS -l walltime=01:00:00". */
void pbs_resources_write(struct writing *w, const struct option_row *row);
/* "afterok:12.server,afterany:13[]" as ours. */
const char *pbs_depend_read(const char *text, struct arena *a, struct err *ret_err);
/* And back, "afterok:12.head@head,on:1"; as it is where PBS has no words for it. */
const char *pbs_depend_of(const char *dependency, const char *server, struct arena *a);
/* What is asked for and has no effect here, once each. */
void pbs_note(struct pbs_request *r, struct arena *a, const char *what, const char *why);

#endif
