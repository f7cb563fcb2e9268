/* The report that LSF writes at the end of a job's output (model/env/lsf_report.h). */
#ifndef REMUDA_NODE_SHEPHERD_REPORT_H
#define REMUDA_NODE_SHEPHERD_REPORT_H

#include "node/shepherd/step.h"

/* Before the end is told: who waits for the job finds the report. s->note has the usage. */
void shepherd_report_write(struct shepherd *s);

#endif
