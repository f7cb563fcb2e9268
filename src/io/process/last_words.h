/* What a program says that ends by a fault of its own, or as it gets no memory: one line on
 * standard error; of a daemon, of its log, and of standard error as long as that is somebody's. */
#ifndef REMUDA_IO_PROCESS_LAST_WORDS_H
#define REMUDA_IO_PROCESS_LAST_WORDS_H

/* From here on SIGABRT, with the invariant that did not hold (CHECK), and what the processor sends
 * are said before they end the process as ever, core file included. `who` ("remudad controller") is
 * kept; log_path NULL: to standard error alone. Once a process; before its threads. */
void last_words_prepare(const char *who, const char *log_path);
/* The same of a command, whose errors begin with its name. Who gets no memory ends as by exit(1):
 * that is no fault of its, and what it has changed of the terminal is put back. */
void last_words_prepare_command(const char *name);

#endif
