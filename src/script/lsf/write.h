/* Inside script/: what each row of bsub says of a job, when one is written in LSF's words. */
#ifndef REMUDA_SCRIPT_LSF_WRITE_H
#define REMUDA_SCRIPT_LSF_WRITE_H

#include "script/writing.h"

// clang-format off
#define LSF_WRITERS(X)                                                                             \
    X(account)                                                                                     \
    X(array)                                                                                       \
    X(begin)                                                                                       \
    X(begin_mail) X(chdir) X(comment) X(depend) X(end_mail) X(environment) X(error) X(error_anew)  \
        X(exclusive) X(fail_mail) X(gpus) X(hold) X(hosts) X(input) X(login) X(mail_user)          \
            X(end) X(group) \
            X(no_rerun) X(notify) X(orphan) X(output) X(output_anew) X(project) X(queues) X(rerun) \
                X(reservation) X(run_limit) X(slots) X(wait) X(warn_signal) X(warn_time)
// clang-format on
#define X(name) void lsf_write_##name(struct writing *w, const struct option_row *row);
LSF_WRITERS(X)
#undef X

/* Of -R: what stands between the brackets; nothing = the section is left out. */
void lsf_write_select(struct writing *w, struct str *out);
void lsf_write_rusage(struct writing *w, struct str *out);   /* memory and licences */
void lsf_write_span(struct writing *w, struct str *out);     /* hosts, ptile, stripe, block */
void lsf_write_cu(struct writing *w, struct str *out);       /* maxcus, of --switches */
void lsf_write_affinity(struct writing *w, struct str *out); /* CPUs of a task, as cores */

#endif
