/* Scripts and command lines of LSF and PBS. Each dialect has a table of its own options
 * (script/options/option.h), whose setters fill a request in its own units; when all is read, the
 * request becomes options of sbatch by option_set. So there is one meaning of each thing a job can
 * ask for, and its cross-checks hold for all. */
#ifndef REMUDA_SCRIPT_DIALECT_H
#define REMUDA_SCRIPT_DIALECT_H

#include "base/vec.h"
#include "model/settings/settings.h"
#include "script/options/options.h"

/* What differs from site to site. */
struct dialect_site {
    int64_t lsf_limit_kib;    /* KiB of a number without unit: bsub -M */
    int64_t lsf_resource_kib; /* of rusage[mem=…] */
    bool lsf_mem_per_slot;    /* rusage[mem=…] is of each slot; else of each host */
    bool lsf_mem_of_job;      /* -M is of the job; else of each process */
    bool lsf_parse_script;    /* #BSUB lines of bsub FILE count */
    bool torque;              /* else PBS Pro */
    const char *cluster;      /* its name; NULL = not known */
    const char *pbs_server;   /* what follows the number in ids of PBS; NULL = not known */
    const char *user;         /* who submits; NULL = not known */
};
struct dialect_site dialect_site_of(const struct settings *s); /* Borrows texts of the settings. */
struct dialect_site dialect_site_standard(void);               /* of the defaults */

/* While one request becomes options of sbatch. */
struct dialect_out {
    struct submit_options *o;  /* what is filled in */
    enum option_source source; /* of the options at hand */
    const struct option_env *env;
    struct arena *a;
    struct str *warnings; /* a line each */
};

/* Sets the option of sbatch; value NULL = nothing is set. `from` (as the user wrote it, "-W") names
 * it in an error; ERR_VALUE. */
bool dialect_give(struct dialect_out *d, const char *from, const char *option, const char *value,
                  struct err *ret_err);
/* 0 is not given: nothing happens. */
bool dialect_give_number(struct dialect_out *d, const char *from, const char *option, int64_t value,
                         struct err *ret_err);
/* A flag, if it is to be set. */
bool dialect_give_flag(struct dialect_out *d, const char *from, const char *option, bool set,
                       struct err *ret_err);

/* "-x: what does not work; the nearest thing that does", ERR_UNSUPPORTED; returns false. */
bool dialect_refuse(struct err *e, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of a value that is none, ERR_VALUE. */
bool dialect_blame(struct err *e, const char *option, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same of a row of a table. */
bool dialect_blame_row(struct err *e, const struct option_row *row, const char *value,
                       const char *allowed);

/* Features of hosts, as --constraint has them, of which both texts hold: "a|b" and "c" are
 * "(a|b)&c", as & binds closer than |. `had` NULL: `more` alone. The arena's. */
const char *dialect_features_join(const char *had, const char *more, struct arena *a);

typedef VEC(char *) dialect_words;

#endif
