/* The last lines that a job's script wrote, for somebody who was not there. */
#ifndef REMUDA_CLI_REPORTS_LAST_LINES_H
#define REMUDA_CLI_REPORTS_LAST_LINES_H

#include "base/str.h"
#include "io/client/client.h"
#include "model/job/job.h"

#define LAST_LINES      20
#define LAST_LINE_BYTES 200 /* of a line that are shown */

/* Of its output, and of its error output where that is another file: each with a line that names
 * it, all lines begin with "| ", nothing in them moves a cursor. What is not here is asked of the
 * node that ran the script (half a minute at most). Nothing is appended where it has no script, who
 * runs this is not its owner, the file is in neither place or is not his, is no plain file, or was
 * not written since the job began. */
void last_lines_add(struct client *c, const struct job *j, struct str *out);

/* What is left of bytes from a file's end: without colours and movements of the cursor, of a line
 * that was written over again and again the last. `begun`: the first line is whole. */
void last_lines_clean(const char *bytes, size_t len, bool begun, struct str *out);

#endif
