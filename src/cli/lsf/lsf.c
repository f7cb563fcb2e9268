#include "cli/lsf/lsf.h"

#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "model/job/array.h"
#include "model/refusal.h"

#include <stdio.h>
#include <string.h>

struct client *lsf_connect(const char *name, const char *state_dir)
{
    struct err e = {0};
    struct client *c = cluster_reach(state_dir, &e);
    if (!c)
        fprintf(stderr, "%s: %s\n", name, e.text);
    return c;
}

uint64_t lsf_job_number(const struct job *j)
{
    return j->array_job_id ? j->array_job_id : j->id;
}

const char *lsf_job_id(const struct job *j, struct arena *a)
{
    unsigned long long number = lsf_job_number(j);
    return j->array_job_id && j->array_task_id != NO_TASK
               ? arena_printf(a, "%llu[%u]", number, j->array_task_id)
               : arena_printf(a, "%llu", number);
}

const char *lsf_job_ref(const char *text, struct arena *a)
{
    struct job_ref parsed;
    size_t digits = strspn(text, "0123456789");
    if (!digits || (text[digits] && text[digits] != '['))
        return NULL;
    const char *ref = text;
    if (text[digits]) {
        struct str with = STR_INIT;
        str_addn(&with, text, digits);
        str_addf(&with, "_%s", text + digits);
        ref = arena_strdup(a, str_text(&with));
        str_done(&with);
    }
    if (!job_ref_parse(ref, &parsed, NULL))
        return NULL;
    job_ref_done(&parsed);
    return ref;
}

int lsf_line_failed(const char *name, const struct err *e)
{
    fprintf(stderr, "%s: %s\n", name, e->text);
    if (e->code == ERR_USAGE)
        fprintf(stderr, "%s -h lists the options.\n", name);
    return LSF_EXIT;
}

bool lsf_line_read(const char *name, const struct option_table *t, void *to, struct arena *a,
                   int argc, char *const argv[], int *ret_status)
{
    struct option_line line = {.table = t, .to = to, .a = a};
    struct str text = STR_INIT;
    struct err e = {0};
    *ret_status = 0;
    if (!option_line_read(&line, argc, argv, &e)) {
        *ret_status = lsf_line_failed(name, &e);
        return false;
    }
    bool help = option_line_has(&line, "h"), version = option_line_has(&line, "V");
    if (help)
        option_table_write_help(t, &text);
    else if (version)
        str_add(&text, LSF_VERSION_TEXT "\n");
    fputs(str_text(&text), stdout);
    str_done(&text);
    return !help && !version;
}
