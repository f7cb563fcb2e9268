/* The end of what a job wrote: a short life of this program, beside that of a shepherd. */
#ifndef REMUDA_NODE_SHEPHERD_OUTPUT_END_H
#define REMUDA_NODE_SHEPHERD_OUTPUT_END_H

/* Of the command line that node/step/output_end.h says, as the job's owner: prints the head and
 * the last bytes of each file. One that is not plain, not of whoever runs this, or older has none.
 * Returns the exit status. */
int output_end_print(int argc, char **argv);

#endif
