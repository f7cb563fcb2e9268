/* What the mail at a job's end says of it: remuda report --mail. */
#ifndef REMUDA_CLI_REPORTS_REPORT_MAIL_H
#define REMUDA_CLI_REPORTS_REPORT_MAIL_H

#include "io/client/client.h"

/* "UID:GID": root's process becomes this user's (io/process/become.h), and what follows is his.
 * false with ret_err: ERR_USAGE, or who asks is not root. */
bool report_mail_become(const char *owner, struct err *ret_err);
/* On standard output: a chart of letters, what the job did and what to do about it, the last lines
 * of its output; of a whole array, by its number, a digest. `png`: after a form feed the picture in
 * base64, where it can be drawn. false with ret_err. */
bool report_mail(struct client *c, const char *job, uint32_t attempt, bool png,
                 struct err *ret_err);

#endif
