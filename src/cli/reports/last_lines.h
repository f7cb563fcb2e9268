/* The last lines that a job's script wrote, for somebody who was not there. */
#ifndef REMUDA_CLI_REPORTS_LAST_LINES_H
#define REMUDA_CLI_REPORTS_LAST_LINES_H

#include "base/str.h"
#include "model/job/job.h"

#define LAST_LINES       20
#define LAST_LINES_BYTES (32u << 10) /* of the file's end that are read */
#define LAST_LINE_BYTES  200         /* of a line that are shown */

/* Of its output, and of its error output where that is another file: each with a line that names
 * it, all lines begin with "| ", nothing in them moves a cursor. Nothing is appended where it has
 * no script, who runs this is not its owner, the file is not here or is not his, is no plain file,
 * or was not written since the job began. */
void last_lines_add(const struct job *j, struct str *out);

/* What is left of bytes from a file's end: without colours and movements of the cursor, of a line
 * that was written over again and again the last. `begun`: the first line is whole. */
void last_lines_clean(const char *bytes, size_t len, bool begun, struct str *out);

#endif
