/* sbcast: a file to all nodes of a job (bcast.c). */
#include "base/hostlist.h"
#include "cli/program/command_signals.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/step/bcast.h"
#include "cli/step/job_step.h"
#include "model/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sbcast_ask {
    const char *job, *from, *to, *nodes;
    bool force, preserve;
    int verbose;
    int words;
};

static bool compression_known(const char *value)
{
    return text_is(value, "lz4") || text_is(value, "none") || text_is(value, "zlib");
}

/* Slurm passes over what is none. */
static bool size_valid(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    if (digits > 0 && strlen(value + digits) <= 1 && strchr("kKmMgG", value[digits]))
        return true;
    fprintf(stderr, "size specification is invalid, ignored\n");
    return false;
}

/* Options without effect are still read: a slip of the pen is said. */
static SETTER(check_compression)
{
    if (value && !compression_known(value))
        return err_set(ret_err, ERR_INVALID,
                       "Compression type '%s' unknown: lz4 and none are allowed", value);
    return true;
}

static SETTER(check_size)
{
    if (!size_valid(value))
        return err_set(ret_err, ERR_INVALID,
                       "--size=%s: a number is allowed, with k, m or g behind it", value);
    return true;
}

static SETTER(check_number)
{
    int64_t n;
    if (!text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "\"%s\": a whole number is allowed", value);
    return true;
}

static SETTER(check_libraries)
{
    if (!text_is_nocase(value, "no") && !text_is_nocase(value, "n"))
        program_error("sbcast",
                      "--send-libs has no effect: the nodes' own shared libraries are used");
    return true;
}

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sbcast_ask *q = to;
    if (q->words++ < 2)
        *(q->from ? &q->to : &q->from) = word;
    return true;
}

#define IDLE(name_, letter_, arg_, set_, doc_)                                                     \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .support = SUPPORT_NO_EFFECT, .set = set_,  \
        .doc = "kept for compatibility: " doc_                                                     \
    }
#define AT(member) offsetof(struct sbcast_ask, member)
static const struct option_row rows[] = {
    OPT_VALUE("jobid", 'j', "job", "the job; default: the one this runs in", set_any_text, AT(job),
              .env = {"SLURM_JOB_ID"}),
    OPT_FLAG("force", 'f', "replace a file that is there", AT(force)),
    OPT_FLAG("preserve", 'p', "keep the time of change", AT(preserve)),
    OPT_VALUE("nodelist", 'w', "nodes", "only to these nodes of the job", set_any_text, AT(nodes)),
    IDLE("compress", 'C', ARG_OPTIONAL, check_compression, "the file is copied as it is"),
    IDLE("fanout", 'F', ARG_REQUIRED, check_number, "each node is served directly"),
    IDLE("size", 's', ARG_REQUIRED, check_size, "blocks have the size that suits the stream"),
    IDLE("timeout", 't', ARG_REQUIRED, check_number, "a node that is lost ends the copy by itself"),
    IDLE("send-libs", 0, ARG_OPTIONAL, check_libraries, "libraries are not copied"),
    IDLE("exclude", 0, ARG_REQUIRED, set_nothing, "libraries are not copied"),
    OPT_REFUSED("no-allocation", 0, ARG_NONE, "to nodes of no job",
                "not supported: files go to the nodes of a job, as its owner; salloc makes one"),
    IDLE("treewidth", 0, ARG_REQUIRED, check_number, "each node is served directly"),
    {.name = "verbose", .letter = 'v', .doc = "say more", .set = set_count, .at = AT(verbose)},
    OPT_ACCEPTED("help", 'h', ARG_NONE, "show this help"),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines"),
    OPT_ACCEPTED("version", 'V', ARG_NONE, "show the version"),
};
OPTION_TABLE(sbcast_options, rows, .usage = "sbcast [OPTIONS] SOURCE DEST", .words = WORDS_MIXED,
             .word = word_take, .letters_equals = true, .variables_as_are = true);

/* Variables that are none are told and passed over, as Slurm does. */
static void variables_take(struct sbcast_ask *q)
{
    const char *compress = getenv("SBCAST_COMPRESS"), *libs = getenv("SBCAST_SEND_LIBS"),
               *size = getenv("SBCAST_SIZE");
    q->force |= getenv("SBCAST_FORCE") != NULL;
    q->preserve |= getenv("SBCAST_PRESERVE") != NULL;
    if (!text_empty(compress) && !compression_known(compress))
        program_error("sbcast", "Compression type '%s' unknown, disabling compression support.",
                      compress);
    if (!text_empty(libs) && !text_is_nocase(libs, "yes") && !text_is_nocase(libs, "no") &&
        !text_is_nocase(libs, "y") && !text_is_nocase(libs, "n"))
        program_error("sbcast", "Ignoring unrecognized SBCAST_SEND_LIBS value '%s'", libs);
    if (!text_empty(size))
        (void)size_valid(size);
}

#define EXIT_SOURCE 255 /* Slurm's, where nothing was copied because file or job is not there */

/* ---- which nodes ---- */

static int lookup_error(const char *job)
{
    program_error("sbcast", "Slurm job %s lookup error: Invalid job id specified", job);
    return EXIT_SOURCE;
}

struct sbcast_found {
    struct arena *a;
    const char *step; /* "42.0": that one alone */
    const char *nodes;
};

static void step_take(void *ctx, const void *record)
{
    struct sbcast_found *f = ctx;
    const struct step *s = record;
    struct str label = STR_INIT;
    step_label(s->step_id, &label);
    if (text_is(strrchr(f->step, '.') + 1, str_text(&label)) && s->nodes)
        f->nodes = arena_strdup(f->a, s->nodes);
    str_done(&label);
}

/* -j 42.0: the nodes of that step. NULL: all of the job. */
static const char *nodes_of_step(const struct sbcast_ask *q, struct job_step *s, struct arena *a)
{
    struct msg_query query = {.what = QUERY_STEPS, .ids = q->job};
    struct sbcast_found f = {.a = a, .step = q->job};
    struct msg_done done = {0};
    if (!strchr(q->job, '.'))
        return NULL;
    client_query(s->al.client, &query, &step_fields, a, step_take, &f, &done, NULL);
    return f.nodes;
}

static int copy(const struct sbcast_ask *q, const char *job, struct arena *a)
{
    struct job_step s;
    struct err e = {0};
    struct bcast_ask ask = {.from = q->from,
                            .to = q->to,
                            .force = q->force,
                            .preserve = q->preserve,
                            .quiet = !q->verbose,
                            .refused_as = arena_printf(a, "Slurm job %s lookup error", q->job),
                            .refused_status = EXIT_SOURCE};
    if (access(q->from, R_OK) != 0) {
        program_error("sbcast", "Can't open `%s`: %s", q->from, strerror(errno));
        return EXIT_SOURCE;
    }
    if (!job_step_open(&s, "sbcast", job, "sbcast", a))
        return EXIT_SOURCE;
    const char *names = q->nodes ? q->nodes : nodes_of_step(q, &s, a);
    if (strchr(q->job, '.') && !names)
        return lookup_error(q->job);
    struct hostlist named = HOSTLIST_INIT;
    if (names && !hostlist_parse(&named, names, &e)) {
        program_error("sbcast", "%s", e.text);
        return 1;
    }
    int32_t nodes = names ? (int32_t)named.n : s.al.job[0].alloc_nodes;
    hostlist_done(&named);
    s.spec.req.nodelist = names;
    s.spec.req.min_nodes = s.spec.req.max_nodes = s.spec.req.ntasks = nodes > 0 ? nodes : 1;
    s.spec.req.ntasks_per_node = 1;
    s.al.signal_fd = command_signals_open();
    int status = bcast_run(&s.al, &s.step, &ask);
    allocation_finish(&s.al, 0);
    return status;
}

static int sbcast(const struct sbcast_ask *q, struct arena *a)
{
    if (q->words != 2) {
        fprintf(stderr,
                "Need two file names, have %d names\nTry \"sbcast --help\" for more information\n",
                q->words);
        return 1;
    }
    if (!q->job) {
        program_error("sbcast",
                      "Need a job id to run this command.  Run from within a Slurm job or use "
                      "the --jobid option.");
        return 1;
    }
    if (q->to[0] && q->to[strlen(q->to) - 1] == '/') {
        program_error("sbcast", "Target filename cannot be a directory.");
        return 1;
    }
    const char *job = arena_strndup(a, q->job, strcspn(q->job, "."));
    if (job_step_names_job(job))
        return copy(q, job, a);
    program_error("sbcast", "Slurm job 0 lookup error: Invalid job id specified");
    program_error("sbcast", "\"%s\" is no job: a number is, as squeue shows it", q->job);
    return EXIT_SOURCE;
}

int cmd_sbcast(int argc, char **argv)
{
    struct sbcast_ask q = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &sbcast_options, .to = &q, .a = a};
    struct err e = {0};
    int status = 0;
    if (!option_line_read(&line, argc, argv, &e)) {
        program_usage_error("sbcast", &e);
        status = 1;
    } else if (!program_information(&line)) {
        option_line_read_variables(&line, getenv, NULL);
        variables_take(&q);
        status = sbcast(&q, a);
    }
    arena_free(a);
    return status;
}
