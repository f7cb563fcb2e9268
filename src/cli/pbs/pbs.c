#include "cli/pbs/pbs.h"

#include "cli/program/cluster_dir.h"
#include "cli/submit/site.h"

#include <stdio.h>
#include <string.h>

struct client *pbs_connect(const char *name, const char *state_dir)
{
    struct err e = {0};
    struct client *c = cluster_reach(state_dir, &e);
    if (!c)
        fprintf(stderr, "Connection refused\n%s: cannot connect to server: %s\n", name, e.text);
    return c;
}

struct dialect_site pbs_site(const char *state_dir, struct arena *a)
{
    return submit_site(state_dir, a);
}

const char *pbs_server(const struct dialect_site *site)
{
    return site->pbs_server ? site->pbs_server : "server";
}

const char *pbs_job_id(const struct job *j, bool array, const struct dialect_site *site,
                       struct arena *a)
{
    unsigned long long number = lsf_job_number(j);
    if (array)
        return arena_printf(a, "%llu[].%s", number, pbs_server(site));
    if (j->array_job_id && j->array_task_id != NO_TASK)
        return arena_printf(a, "%llu[%u].%s", number, j->array_task_id, pbs_server(site));
    return arena_printf(a, "%llu.%s", number, pbs_server(site));
}

const char *pbs_operand(const char *text, struct arena *a)
{
    size_t digits = strspn(text, "0123456789"), end = digits;
    const char *close = text[digits] == '[' ? strchr(text + digits, ']') : NULL;
    if (close)
        end = (size_t)(close - text) + 1;
    if (!digits || (text[digits] == '[' && !close) || (text[end] && !strchr(".@", text[end])))
        return NULL;
    bool whole = close == text + digits + 1;
    const char *operand = arena_strndup(a, text, whole ? digits : end);
    return lsf_job_ref(operand, a) ? operand : NULL;
}

const char *pbs_job_state(const struct job *j)
{
    if (lsf_job_is_over(j))
        return "F";
    if (!lsf_job_is_pending(j))
        return strstr(lsf_job_state(j), "SUSP") ? "S" : j->state == JOB_COMPLETING ? "E" : "R";
    if (text_is(lsf_job_state(j), "PSUSP") || j->reason == REASON_DEPENDENCY ||
        j->reason == REASON_DEPENDENCY_NEVER)
        return "H";
    return j->reason == REASON_BEGIN_TIME ? "W" : "Q";
}

int pbs_exit_status(const struct job *j, const struct dialect_site *site)
{
    if (j->state == JOB_TIMEOUT)
        return site->torque ? -11 : -29;
    if (j->state == JOB_OUT_OF_MEMORY)
        return site->torque ? -10 : -27;
    int signo = status_signal(j->exit_status);
    if (j->state == JOB_CANCELLED && !signo)
        return 256 + 15;
    return signo ? 256 + signo : status_code(j->exit_status);
}

bool pbs_line_read(const char *name, const struct option_table *t, void *to, struct arena *a,
                   int argc, char *const argv[], int *ret_status)
{
    struct option_line line = {.table = t, .to = to, .a = a};
    struct str text = STR_INIT;
    struct err e = {0};
    *ret_status = 0;
    if (!option_line_read(&line, argc, argv, &e)) {
        fprintf(stderr, "%s: %s\n", name, e.text);
        *ret_status = PBS_USAGE;
        return false;
    }
    bool help = option_line_has(&line, "help"), version = option_line_has(&line, "version");
    if (help)
        option_table_write_help(t, &text);
    else if (version)
        str_add(&text, "pbs_version = 20.0.0 (commands of Remuda)\n");
    fputs(str_text(&text), stdout);
    str_done(&text);
    return !help && !version;
}
