#include "node/hardware/amd/answer.h"

#include <errno.h>
#include <stddef.h>

/* The driver answers EPERM, EBUSY or EAGAIN while it resets the device, and what its firmware
 * answered otherwise. */
static const struct {
    int error;
    enum amd_answer answer;
} file_answers[] = {
    {0, AMD_OK},
    {ENOENT, AMD_NOT_TOLD}, /* whether the device is still there is asked apart */
    {ENOTDIR, AMD_NOT_TOLD},
    {EACCES, AMD_NOT_TOLD},
    {EINVAL, AMD_NOT_TOLD},
    {EOPNOTSUPP, AMD_NOT_TOLD},
    {ENOSYS, AMD_NOT_TOLD},
    {ENODATA, AMD_NOT_TOLD},
    {EMFILE, AMD_LATER}, /* of this process, not of the device */
    {ENFILE, AMD_LATER},
    {ENOMEM, AMD_LATER},
    {EINTR, AMD_LATER},
    {EPERM, AMD_DOUBT},
    {EBUSY, AMD_DOUBT},
    {EAGAIN, AMD_DOUBT},
    {EIO, AMD_DOUBT},
    {ETIME, AMD_DOUBT},
    {ETIMEDOUT, AMD_DOUBT},
    {EREMOTEIO, AMD_DOUBT},
    {EBADMSG, AMD_NOT_TOLD}, /* there is no number in it */
    {ENODEV, AMD_ABSENT},
    {ENXIO, AMD_ABSENT},
};

/* A busy library is one whose mutex another process holds, which any user's may. */
static const struct {
    int code;
    enum amd_answer answer;
    const char *word;
} rsmi_answers[] = {
    {0, AMD_OK, "SUCCESS"},
    {1, AMD_NOT_TOLD, "INVALID_ARGS"},
    {2, AMD_NOT_TOLD, "NOT_SUPPORTED"},
    {3, AMD_DOUBT, "FILE_ERROR"},
    {4, AMD_NOT_TOLD, "PERMISSION"},
    {5, AMD_LATER, "OUT_OF_RESOURCES"},
    {6, AMD_DOUBT, "INTERNAL_EXCEPTION"},
    {7, AMD_NOT_TOLD, "INPUT_OUT_OF_BOUNDS"},
    {8, AMD_BLIND, "INIT_ERROR"},
    {9, AMD_NOT_TOLD, "NOT_YET_IMPLEMENTED"},
    {10, AMD_NOT_TOLD, "NOT_FOUND"},
    {11, AMD_NOT_TOLD, "INSUFFICIENT_SIZE"},
    {12, AMD_LATER, "INTERRUPT"},
    {13, AMD_DOUBT, "UNEXPECTED_SIZE"},
    {14, AMD_NOT_TOLD, "NO_DATA"},
    {15, AMD_DOUBT, "UNEXPECTED_DATA"},
    {16, AMD_LATER, "BUSY"},
    {17, AMD_LATER, "REFCOUNT_OVERFLOW"},
};

enum amd_answer amd_answer_of_errno(int error)
{
    for (size_t i = 0; i < sizeof file_answers / sizeof file_answers[0]; i++)
        if (file_answers[i].error == error)
            return file_answers[i].answer;
    return AMD_DOUBT;
}

enum amd_answer amd_answer_of_rsmi(int code, const char **ret_word)
{
    for (size_t i = 0; i < sizeof rsmi_answers / sizeof rsmi_answers[0]; i++)
        if (rsmi_answers[i].code == code) {
            if (ret_word)
                *ret_word = rsmi_answers[i].word;
            return rsmi_answers[i].answer;
        }
    if (ret_word)
        *ret_word = "UNKNOWN_ERROR";
    return AMD_DOUBT;
}
