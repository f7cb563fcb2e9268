/* Streams: between a command (srun, sattach) and the shepherds of a step.
 * The shepherd connects and says STREAM_HELLO; the command answers STREAM_TASKS and each side then
 * sends what it has. Flow: a side stops reading tasks, terminals or files while its unsent bytes
 * are above a bound, so a slow reader slows the writer; towards tasks, no more bytes are under way
 * than STREAM_CREDIT allows. */
#ifndef REMUDA_MODEL_MESSAGE_STREAM_H
#define REMUDA_MODEL_MESSAGE_STREAM_H

#include "model/fields.h"

// clang-format off
#define MSG_STREAM_HELLO_FIELDS(X)                                                                         \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(TEXT, key, 0, "first half of the secret of create_step or attach_step")                              \
    X(TEXT, node, 0, "node of this shepherd")                                                              \
    X(I64, pid, 0, "its process id")
/* The command's answer: what to run, the same for all nodes; of a sattach the proof alone. */
#define MSG_STREAM_TASKS_FIELDS(X)                                                                         \
    X(TEXT, proof, 0, "second half of the secret: whoever took over the address of a dead command does not know it") \
    X(BLOB, args, 0, "program (searched in the task's PATH) and arguments, each ended by NUL")                                           \
    X(BLOB, multi_prog, 0, "--multi-prog: text of the file, instead of args")                              \
    X(BLOB, env, 0, "environment of the command: NAME=VALUE, each ended by NUL; what the node sets for the step and its tasks replaces it") \
    X(TEXT, work_dir, 0, "work directory")                                                                 \
    X(TEXT, std_in, 0, "file each task reads, pattern (opened on the node); NULL = the stream")            \
    X(TEXT, std_out, 0, "file for output, pattern; NULL = the stream")                                     \
    X(TEXT, std_err, 0, "file for errors, pattern; NULL = the stream, or with the output if that is a file") \
    X(BOOL, append, 0, "files: append instead of truncating")                                              \
    X(BOOL, errors_apart, 0, "errors: the stream, though output is a file")                                \
    X(BOOL, label, 0, "files: the task's number before each line")                                         \
    X(I32, stdin_task_plus1, &range_reader, "stream: the one task that reads it, plus 1; 0 = all; -1 = none (/dev/null)") \
    X(TEXT, task_prolog, 0, "program before each task")                                                    \
    X(TEXT, task_epilog, 0, "program after each task")                                                     \
    X(U32, umask_plus1, &range_umask, "umask, plus 1")                                                     \
    X(TEXT, rlimits, 0, "soft limits to propagate")                                                        \
    X(BOOL, wait_children, 0, "--wait-for-children: tasks end with the last process they leave behind")    \
    X(BOOL, preserve_env, 0, "SLURM_NNODES, SLURM_NTASKS … stay as the command has them")                  \
    X(I32, first_task, &range_tasks, "of several components: what is added to the step's task numbers")    \
    X(I32, first_node, &range_nodes, "and to its node numbers")                                            \
    X(I32, world, &range_tasks, "tasks of all components together; 0 = there is one")                      \
    X(BLOB, whole_env, 0, "NAME=VALUE of all components together, each ended by NUL, instead of the step's own") \
    X(TEXT, master_addr, 0, "rendezvous of all components; NULL = the step's own")                         \
    X(TEXT, master_port, 0, "and its port")                                                                \
    X(I32, rows, &range_window, "pty: window")                                                             \
    X(I32, columns, &range_window, "pty: window")                                                          \
    X(TEXT, term, 0, "pty: TERM of the command's terminal")                                                \
    X(TEXT, mpi, 0, "how the tasks of an MPI program find each other: pmi2, pmix; NULL = not by us")       \
    X(BOOL, mpi_default, 0, "nobody but the site asked for it: tasks start without where it is not to be had") \
    X(TEXT, mpi_name, 0, "then a name for all tasks together, no other program's")                         \
    X(TEXT, mpi_map, 0, "and where they are: \"NODE 0-3,8\", a line for each node; NULL = all are of this one")
// clang-format on
#define MSG_STREAM_STARTED_FIELDS(X)                                                               \
    X(TEXT, tasks, 0, "numbers of the tasks that run, folded")                                     \
    X(TEXT, pids, 0, "their process ids, comma-separated, in order")

enum stream_name { STREAM_IN, STREAM_OUT, STREAM_ERR };
extern const struct enum_names stream_names;
/* From shepherds: output of a task. To shepherds: input for a task, or for all that read the
 * stream. */
#define MSG_STREAM_DATA_FIELDS(X)                                                                  \
    X(ENUM, stream, &stream_names, "which of a task's streams")                                    \
    X(I32, task_plus1, &range_tasks,                                                               \
      "task number, plus 1; 0 = all tasks of the node that read it")                               \
    X(BLOB, data, 0, "bytes")                                                                      \
    X(BOOL, end, 0, "nothing follows on this stream")
#define MSG_STREAM_CREDIT_FIELDS(X)                                                                \
    X(I64, bytes, 0, "so many more bytes of STREAM_IN may be sent to this shepherd")
// clang-format off
#define MSG_STREAM_EXIT_FIELDS(X)                                                                          \
    X(TEXT, tasks, 0, "numbers of tasks that ended, folded")                                               \
    X(I32, exit_status, &range_any32, "their wait status")                                                 \
    X(BOOL, oom, 0, "a process was killed for memory")                                                     \
    X(TEXT, detail, 0, "why they could not start: \"execve(): foo: No such file or directory\"; NULL = they ran")
// clang-format on
#define MSG_STREAM_WINDOW_FIELDS(X)                                                                \
    X(I32, rows, &range_window, "lines of the terminal")                                           \
    X(I32, columns, &range_window, "columns")
#define MSG_STREAM_SIGNAL_FIELDS(X)                                                                \
    X(I32, signal, &range_signal, "for all tasks of the node; SIGKILL ends the step there")
/* Lines from the shepherd itself for the command's standard error. */
#define MSG_STREAM_NOTICE_FIELDS(X)                                                                \
    X(TEXT, text, 0, "\"slurmstepd: error: …\"")                                                   \
    X(BOOL, ends, 0, "it says that the step was told to end")
/* Tasks of an MPI program meet (srun --mpi). Each node that has some of the ranks of a meeting
 * sends MEET with what these bring; the command hands it to the others, and says MET to each when
 * all came. */
enum mpi_op { MPI_MEET, MPI_MET, MPI_ASK, MPI_ANSWER, MPI_ABORT };
extern const struct enum_names mpi_op_names;
// clang-format off
#define MSG_STREAM_MPI_FIELDS(X)                                                                           \
    X(ENUM, op, &mpi_op_names, "what is said")                                                             \
    X(TEXT, ranks, 0, "MEET, MET: who meets, folded; NULL = all tasks; ABORT: start = none runs, left = it is gone")  \
    X(I32, rank, &range_tasks, "ASK, ANSWER: whose; ABORT: who says so")                                   \
    X(I32, code, &range_any32, "ABORT: exit code that the step ends with; ANSWER: not 0 = there is none")  \
    X(TEXT, text, 0, "ABORT: why")                                                                         \
    X(BLOB, data, 0, "MEET, ANSWER: what is brought")
// clang-format on
/* All tasks of the node are gone and all their output was sent; the shepherd closes. */
#define MSG_STREAM_DONE_FIELDS(X)                                                                  \
    X(I32, exit_status, &range_any32, "the highest wait status of its tasks")

#endif
