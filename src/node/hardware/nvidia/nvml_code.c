/* NVML's return codes, as its header names them. */
#include "node/hardware/gpu_code.h"

#include "node/hardware/nvidia/nvml.h"

#define OF_LIBRARY true
#define OF_DEVICE  false

// clang-format off
static const struct gpu_code codes[] = {
    {NVML_OK, "NVML_SUCCESS", DEVICE_WELL, OF_DEVICE, "it answers"},
    {NVML_UNINITIALISED, "NVML_ERROR_UNINITIALIZED", DEVICE_BLIND, OF_LIBRARY, "the library has to be started anew; it is"},
    {2, "NVML_ERROR_INVALID_ARGUMENT", SIGN_WRONG, OF_DEVICE, "this library does not know the question"},
    {NVML_NOT_SUPPORTED, "NVML_ERROR_NOT_SUPPORTED", SIGN_NONE, OF_DEVICE, "this device or driver does not tell"},
    {4, "NVML_ERROR_NO_PERMISSION", DEVICE_BLIND, OF_DEVICE, "the node's daemon may not ask: start it as root, or give its user the files /dev/nvidia*"},
    {5, "NVML_ERROR_ALREADY_INITIALIZED", SIGN_NONE, OF_DEVICE, "the library was started before"},
    {NVML_NOT_FOUND, "NVML_ERROR_NOT_FOUND", DEVICE_ABSENT, OF_DEVICE, "the driver does not know it: it was taken out, bound to another driver, or its instances were changed; scontrol reconfigure has the daemon find what is there"},
    {NVML_TOO_SMALL, "NVML_ERROR_INSUFFICIENT_SIZE", DEVICE_DOUBT, OF_DEVICE, "its list grows faster than it can be read"},
    {8, "NVML_ERROR_INSUFFICIENT_POWER", DEVICE_BROKEN, OF_DEVICE, "its power cables are not attached as they must be"},
    {9, "NVML_ERROR_DRIVER_NOT_LOADED", DEVICE_BLIND, OF_LIBRARY, "the NVIDIA driver is not loaded: modprobe nvidia, and look at dmesg if that fails"},
    {NVML_TIMEOUT, "NVML_ERROR_TIMEOUT", DEVICE_DOUBT, OF_DEVICE, "it did not answer in time"},
    {11, "NVML_ERROR_IRQ_ISSUE", DEVICE_DOUBT, OF_DEVICE, "the kernel has trouble with its interrupts: look at dmesg"},
    {12, "NVML_ERROR_LIBRARY_NOT_FOUND", DEVICE_BLIND, OF_LIBRARY, "a library that NVML needs is not there: install the driver's packages of one version"},
    {13, "NVML_ERROR_FUNCTION_NOT_FOUND", SIGN_WRONG, OF_DEVICE, "this library does not have the function"},
    {14, "NVML_ERROR_CORRUPTED_INFOROM", SIGN_NONE, OF_DEVICE, "its infoROM is damaged: what stands there cannot be read"},
    {NVML_LOST, "NVML_ERROR_GPU_IS_LOST", DEVICE_LOST, OF_DEVICE, "it has fallen off the bus, or cannot be reached otherwise: reboot the node, and look at dmesg for the XID"},
    {16, "NVML_ERROR_RESET_REQUIRED", DEVICE_RESET, OF_DEVICE, "it has to be reset. On the node: remuda gpus release; nvidia-smi -r -i GPU; remuda gpus resume"},
    {17, "NVML_ERROR_OPERATING_SYSTEM", DEVICE_BLIND, OF_DEVICE, "the operating system keeps the node's daemon from it: look at the device rules of its control group or container"},
    {18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", DEVICE_BLIND, OF_LIBRARY, "the driver in the kernel and the library are of different versions: the driver was updated; load the new one, or reboot"},
    {19, "NVML_ERROR_IN_USE", DEVICE_DOUBT, OF_DEVICE, "it is in use"},
    {20, "NVML_ERROR_MEMORY", DEVICE_DOUBT, OF_DEVICE, "the node has too little memory for the answer"},
    {21, "NVML_ERROR_NO_DATA", SIGN_NONE, OF_DEVICE, "there is nothing to tell"},
    {22, "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED", SIGN_NONE, OF_DEVICE, "a virtual GPU does not tell"},
    {23, "NVML_ERROR_INSUFFICIENT_RESOURCES", DEVICE_DOUBT, OF_DEVICE, "the driver has too little of something for the answer"},
    {24, "NVML_ERROR_FREQ_NOT_SUPPORTED", SIGN_NONE, OF_DEVICE, "this device does not tell"},
    {25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", SIGN_WRONG, OF_DEVICE, "this library knows the question in another version"},
    {26, "NVML_ERROR_DEPRECATED", SIGN_WRONG, OF_DEVICE, "this library does not answer that any more"},
    {27, "NVML_ERROR_NOT_READY", DEVICE_DOUBT, OF_DEVICE, "it is not ready yet"},
    {28, "NVML_ERROR_GPU_NOT_FOUND", DEVICE_ABSENT, OF_DEVICE, "there is no such GPU: it was taken out, or bound to another driver"},
    {29, "NVML_ERROR_INVALID_STATE", DEVICE_DOUBT, OF_DEVICE, "it is in a state in which this cannot be asked"},
    {999, "NVML_ERROR_UNKNOWN", DEVICE_DOUBT, OF_DEVICE, "the driver failed inside: look at dmesg"},
};
// clang-format on

const struct gpu_code *nvml_code_row(size_t i)
{
    return i < sizeof codes / sizeof codes[0] ? &codes[i] : NULL;
}

const struct gpu_code *nvml_code(int code)
{
    static const struct gpu_code other = {-1, "an NVML error", DEVICE_DOUBT, OF_DEVICE,
                                          "this release does not know what it means"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return &codes[i];
    return &other;
}

void gpu_code_say(const struct gpu_code *c, int code, struct str *out)
{
    str_addf(out, "%s (%d): %s", c->name, code, c->text);
}
