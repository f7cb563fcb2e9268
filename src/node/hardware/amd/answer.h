/* What AMD's driver and library answer, and what that means for the device that was asked. */
#ifndef REMUDA_NODE_HARDWARE_AMD_ANSWER_H
#define REMUDA_NODE_HARDWARE_AMD_ANSWER_H

/* X(name, meaning) */
// clang-format off
#define AMD_ANSWERS(X)                                                                                       \
    X(OK, "an answer")                                                                                       \
    X(NOT_TOLD, "this one thing is not told of this device, here or to this user; it says nothing about it") \
    X(LATER, "somebody else is at it; it says nothing about the device")                                     \
    X(DOUBT, "it should have answered and did not; that may pass")                                           \
    X(BLIND, "it cannot be asked: a call does not come back")                                                \
    X(ABSENT, "the driver does not have it (any more)")                                                      \
    X(LOST, "it is gone from its bus")
// clang-format on

enum amd_answer {
#define X(name, meaning) AMD_##name,
    AMD_ANSWERS(X)
#undef X
};

/* Of reading one of the driver's files: 0 or errno. */
enum amd_answer amd_answer_of_errno(int error);
/* Of a call of ROCm SMI; *ret_word (may be NULL) is what its header calls the code. One that is not
 * known here is AMD_DOUBT. */
enum amd_answer amd_answer_of_rsmi(int code, const char **ret_word);

#endif
