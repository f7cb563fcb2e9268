/* What PBS tells of a thing, be it a job, a queue, a node: names and values, and the forms they are
 * printed in. */
#ifndef REMUDA_CLI_PBS_ATTRIBUTES_H
#define REMUDA_CLI_PBS_ATTRIBUTES_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define PBS_VERSION_TEXT "20.0.0"

/* Attributes of one group follow each other: "resources_used.cput". */
struct pbs_attribute {
    const char *group, *name, *value;
    bool list;   /* of words parted by commas: of JSON an array */
    bool joined; /* all of its group are one value but in JSON: "PBS_O_HOST=h,PBS_O_QUEUE=q" */
};

struct pbs_attributes {
    struct arena *a; /* of values that are made here, and of what forms need */
    VEC(struct pbs_attribute) v;
};

/* Nothing is added for an empty value. */
void pbs_attribute_add(struct pbs_attributes *t, const char *group, const char *name,
                       const char *value);
/* The same of a number, which is never empty. */
void pbs_attribute_number(struct pbs_attributes *t, const char *group, const char *name, int64_t n);
/* Words parted by commas: an array in JSON. */
void pbs_attribute_list(struct pbs_attributes *t, const char *group, const char *name,
                        const char *value);
/* One of a group that is one value but in JSON. */
void pbs_attribute_joined(struct pbs_attributes *t, const char *group, const char *name,
                          const char *value);
void pbs_attributes_done(struct pbs_attributes *t); /* the list; texts are the arena's */

/* "Mon Nov 23 15:30:01 2026"; NULL = none. */
const char *pbs_date(int64_t us, struct arena *a);
/* "01:02:03"; NULL below 0. */
const char *pbs_clock(int64_t us, struct arena *a);

/* ---- forms ---- */

enum pbs_form { PBS_TEXT, PBS_JSON, PBS_DSV, PBS_XML };

struct pbs_report {
    enum pbs_form form;    /* how it is written */
    const char *title;     /* of text: "Job Id: "; "" for nodes */
    const char *indent;    /* of text */
    const char *kind;      /* of JSON: "Jobs", "nodes", "Queue", "Server" */
    const char *element;   /* of XML: "Job", "Node" */
    const char *delimiter; /* of dsv */
    bool unbroken;         /* lines of text are not broken */
    size_t n;              /* things so far */
    struct arena *a;
    struct str *out; /* appended to */
};
/* "json", "dsv"; false: neither. */
bool pbs_form_parse(const char *text, enum pbs_form *ret);
/* Before the first and after the last of them, whatever the form; now_us is told in JSON alone. */
void pbs_report_begin(struct pbs_report *r, const char *server, int64_t now_us);
/* One thing. */
void pbs_report_add(struct pbs_report *r, const char *id, const struct pbs_attributes *t);
/* Closes the document of XML or JSON; text needs nothing. */
void pbs_report_end(struct pbs_report *r);
/* Quoted and escaped as JSON wants it; bytes from 128 on as they are. */
void pbs_json_text(struct str *out, const char *text);

#endif
