/* How NVML behaves, in situations of which the first fakes knew nothing: one table for the fake
 * library (nvml.c, which plays them) and the tests (gpu_nvml_test.c, which puts each to every
 * question that the node's daemon has).
 *
 * X(name, lines for the fake, what a look at device 0 says, and at device 1, where it is known
 * from)
 *
 * Lines: as nvml.c explains them; "PID" is a process of a job that is over, "OTHER" one of the
 * system's; devices are 0 and 1 of the machine that the first line names. Signs are those of
 * agent/health.h. Sources: [header] the text of nvml.h, [gpu.md n.m] the project's spec/gpu.md,
 * [driver] the driver's documentation, [assumed] not checked against anything. */
#ifndef REMUDA_FAKE_NVML_BEHAVIOURS_H
#define REMUDA_FAKE_NVML_BEHAVIOURS_H

// clang-format off
#define NVML_BEHAVIOURS(X)                                                                                   \
    X(nothing_special, "machine a100x4\n", "clean", "clean", "[gpu.md 2.1]")                                 \
    X(a_lost_gpu_hides_the_others_by_name, "machine a100x4\nlost 0\n", "lost", "clean",                      \
      "[gpu.md 2] by_uuid starts each GPU in turn, and ends with the first that fails")                      \
    X(a_lost_gpu_beside_instances, "machine a100mig\nlost 1\n", "clean", "clean",                            \
      "[gpu.md 2.4] instances are found through their GPU alone")                                            \
    X(a_lost_gpu_with_instances, "machine a100mig\nlost 0\n", "lost", "lost", "[gpu.md 2.4]")                \
    X(reset_required, "machine a100x4\nanswer:memory 0 16\n", "reset", "clean", "[gpu.md 2] code 16")        \
    X(reset_required_by_the_handle, "machine a100x4\nanswer:uuid_of 0 16\nanswer:index 0 16\n", "reset", "clean", \
      "[gpu.md 2] code 16")                                                                                  \
    X(unknown_error, "machine a100x4\nanswer:memory 0 999\n", "doubt", "clean", "[gpu.md 2] code 999")       \
    X(kept_away_by_a_control_group, "machine a100x4\nanswer:memory 0 17\n", "blind", "clean",                \
      "[gpu.md 2] code 17")                                                                                  \
    X(no_driver, "machine a100x4\nanswer:init 0 9\n", "blind", "blind", "[gpu.md 2] code 9")                 \
    X(driver_of_another_version, "machine a100x4\nanswer:init 0 18\n", "blind", "blind", "[gpu.md 2] code 18") \
    X(driver_unloaded_meanwhile, "machine a100x4\nanswer:memory 0 9\nanswer:init 0 9\n", "blind", "blind",   \
      "[gpu.md 2] codes 1 and 9 are about the library")                                                      \
    X(instances_were_changed, "machine a100mig\ngone 100\n", "absent", "clean",                              \
      "[assumed] a handle of an instance that was destroyed answers 2")                                      \
    X(more_processes_than_fit, "machine a100x4\nmany 0 700\nprocess 0 PID 10\n", "held", "clean",            \
      "[gpu.md 2] code 7: the count is what is needed")                                                      \
    X(entries_of_32_bytes, "machine a100x4\nlong 0\nmany 0 1\nprocess 0 PID 10\n", "held", "clean",          \
      "[gpu.md 2.3] early R535")                                                                             \
    X(processes_cannot_be_listed, "machine a100x4\nanswer:compute 0 999\n", "doubt", "clean",                \
      "[gpu.md 2] code 999")                                                                                 \
    X(processes_are_not_told, "machine a100x4\nanswer:compute 0 3\n", "clean", "clean", "[gpu.md 2] code 3") \
    X(a_client_of_mps, "machine a100x4\nmps 0 PID 10\n", "held", "clean", "[gpu.md 2.3] MPSCompute…")        \
    X(a_process_in_both_lists, "machine a100x4\nprocess 0 OTHER 3000\ngraphics 0 OTHER 3000\nused 0 6000\n", "held", \
      "clean", "[gpu.md 2.3] each list has all of its memory")                                               \
    X(memory_of_the_system, "machine a100x4\nnuma 0 2\nused 0 30000\n", "clean", "clean",                    \
      "[header] nvmlDeviceGetMemoryInfo on coherent systems: pages may stay")                                \
    X(memory_is_not_told, "machine a100x4\nanswer:memory 0 3\n", "clean", "clean", "[header] integrated GPUs") \
    X(the_driver_wants_a_reset, "machine a100x4\naction 0 1\naction 1 0\n", "reset", "clean", "[gpu.md 2.2] field 230") \
    X(the_driver_wants_a_reboot, "machine a100x4\naction 0 2\n", "reset", "clean", "[gpu.md 2.2] field 230") \
    X(the_driver_wants_no_peers, "machine a100x4\naction 0 3\n", "reset", "clean", "[gpu.md 2.2] field 230") \
    X(the_driver_wants_what_is_new, "machine a100x4\naction 0 77\n", "reset", "clean", "[assumed]")          \
    X(a_remapping_waits, "machine a100x4\nrows 0 1 0\n", "clean", "clean", "[driver] it is done at the next reset") \
    X(a_remapping_failed, "machine a100x4\nrows 0 0 1\n", "broken", "clean", "[driver] exchange it")         \
    X(rows_need_a_reset, "machine a100x4\nanswer:rows 0 16\n", "reset", "clean", "[gpu.md 2] code 16")       \
    X(waiting_for_events_fails, "machine a100x4\nanswer:wait 0 999\n", "clean", "clean",                     \
      "[gpu.md 2.6]; one that is lost ends it with 15")
// clang-format on

#endif
