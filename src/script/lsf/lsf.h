/* bsub and #BSUB: the options of LSF, and what a job is that they describe. */
#ifndef REMUDA_SCRIPT_LSF_H
#define REMUDA_SCRIPT_LSF_H

#include "script/dialect.h"
#include "script/lsf/depend.h"

enum lsf_interactive { LSF_BATCH, LSF_INTERACTIVE, LSF_TERMINAL };
enum lsf_mem_per { LSF_MEM_OF_SITE, LSF_MEM_HOST, LSF_MEM_SLOT, LSF_MEM_JOB };

#define LSF_PARTS_MAX 32

struct lsf_request {
    const struct dialect_site *site;
    /* Size */
    int32_t slots, slots_max, whole_hosts, ptile, cores, plane; /* plane: span[block=N] */
    bool one_host, cyclic, exclusive;
    int64_t mem_kib, limit_kib, tmp_mib; /* rusage[mem], -M */
    enum lsf_mem_per mem_per;            /* whose the memory is */
    int32_t min_cpus, max_switches;
    const char *licences; /* as ours: "matlab:2" */
    /* GPUs: "2", "V100:2" */
    int32_t gpus, gpus_per_socket;
    bool gpus_per_task;
    const char *gpu_type;
    int64_t gpu_mem_mib;
    /* mig=G/C: slices of an instance, and of it those for computing; 0 = whole devices. Which types
     * are such only hosts can tell. */
    int32_t mig_slices, mig_compute;
    /* Where */
    const char *queues, *features, *candidates, *excluded, *reservation;
    const char *host_select; /* what of select[] only hosts can answer (select.h) */
    bool same_model;         /* same[model]: so can they that they are of one model */
    /* -R "2*{…}+4*{…}": parts that differ, in their order; of the last, slots may be 0: what -n
     * leaves. */
    struct lsf_part {
        int32_t slots;
        const char *text; /* of -R, which was read once and is right */
    } part[LSF_PARTS_MAX];
    size_t nparts;   /* 0 = the job has none */
    bool goes_along; /* a component behind the first: what is of the whole job is not its */
    /* When, how */
    const char *run_limit, *warn_signal;
    int64_t warn_before_s, begin_us, end_by_us; /* -b, -t; 0 = not given */
    const char *depend_text;
    struct lsf_depend depend;
    bool hold, wait, orphan_ends;
    enum tristate rerun;
    enum lsf_interactive interactive;
    /* What */
    const char *name, *array; /* of -J "name[1-10]%3": "name", "1-10%3" */
    const char *project, *group, *description, *job_group;
    const char *out, *err_file, *in, *work_dir, *out_dir;
    bool out_anew, err_anew; /* -oo, -eo */
    const char *mail_to, *export_env, *login_shell;
    const char *env_without; /* names, with commas, that do not go with it */
    /* Soft limits, -C -S -D -F: RLIMIT_*, bytes; INT64_MAX = none. */
    struct lsf_ulimit {
        int resource;
        int64_t bytes;
    } ulimit[4];
    size_t nulimit; /* of `ulimit` */
    bool mail_begin, mail_end, mail_fail;
    bool keep_output; /* of sbatch: output files that are not named are Slurm's */
    bool help, version, lint;
    const char *no_effect; /* "-We: …; order: …" */
};

extern const struct option_table bsub_options;

/* Options of a line, up to the first word that is none. `r` keeps what it had: later ones win, of
 * -R all count. */
bool lsf_read_words(struct lsf_request *r, int argc, char *const argv[],
                    const struct option_env *env, struct arena *a, int *ret_rest,
                    struct err *ret_err);
/* The #BSUB lines of a script, wherever they stand. Lines that look like directives of other
 * systems are named in `warnings`. *ret_lines: how many were read. ERR: names the line. */
bool lsf_read_script(struct lsf_request *r, const char *text, size_t len,
                     const struct option_env *env, struct arena *a, struct str *warnings,
                     unsigned *ret_lines, struct err *ret_err);
/* What is read becomes options of sbatch. Not among them, as only a cluster can tell:
 * r->candidates, names in r->depend; and r->interactive, r->wait. */
bool lsf_finish(const struct lsf_request *r, struct dialect_out *d, struct err *ret_err);
/* As lsf_finish refuses a job of several parts: how many components it has, and the request of one
 * of them, for lsf_finish; NULL: the parts are not right. */
size_t lsf_parts(const struct lsf_request *r);
/* What that part asks for by itself, in the arena; NULL with ret_err where parts cannot stand
 * beside what the job asks for. */
const struct lsf_request *lsf_part(const struct lsf_request *r, size_t part, struct arena *a,
                                   struct err *ret_err);

/* Inside script/: parts of it. */
bool lsf_resources_read(struct lsf_request *r, const char *text, struct arena *a,
                        struct err *ret_err);
/* "-R {2*{…} + {…}}": fills r->part. ERR_VALUE: what stands where, and what may. */
bool lsf_compound_read(struct lsf_request *r, const char *text, struct arena *a,
                       struct err *ret_err);
struct writing;
/* The sections that have something to say, in LSF's order, as one -R; nothing without any. */
void lsf_resources_write(struct writing *w, const struct option_row *row);
/* "num=2:mode=shared", or "-" for the default; false names what is not understood. */
bool lsf_gpu_read(struct lsf_request *r, const char *text, struct arena *a, struct err *ret_err);
/* "4000", "4GB", in KiB; `kib` is the unit of a bare number. */
bool lsf_size_read(struct span text, int64_t kib, int64_t *ret_kib);
/* A number from 1 to max, blanks around it; false for all else. */
bool lsf_count_read(struct span text, int64_t max, int32_t *ret);
/* Adds to r->no_effect, once a word, that `what` is taken and does nothing here. */
void lsf_note(struct lsf_request *r, struct arena *a, const char *what, const char *why);
/* moment.c: "[[[year:]month:]day:]hour:minute": the next that is so, as far as it is given. False:
 * it is none. */
bool lsf_moment_read(const char *value, const struct option_env *env, struct arena *a,
                     int64_t *ret);

#endif
