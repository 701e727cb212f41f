// Names and texts of the errors, and the functions that are known and not emulated.
#include "runtime.h"

using namespace sim;

namespace {

struct Text {
    int code;
    const char *name, *text;
};

const Text texts[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {18, "cudaErrorInvalidTexture", "invalid texture reference"},
    {20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {46, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {215, "cudaErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {300, "cudaErrorInvalidSource", "device kernel image is invalid"},
    {301, "cudaErrorFileNotFound", "file not found"},
    {302, "cudaErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    {303, "cudaErrorSharedObjectInitFailed", "shared object initialization failed"},
    {304, "cudaErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {401, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {708, "cudaErrorSetOnActiveProcess", "cannot set while device is active in this process"},
    {709, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {711, "cudaErrorTooManyPeers", "peer mapping resources exhausted"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {714, "cudaErrorHardwareStackError", "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "operation not supported on global/shared address space"},
    {718, "cudaErrorInvalidPc", "invalid program counter"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {800, "cudaErrorNotPermitted", "operation not permitted"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {802, "cudaErrorSystemNotReady", "system not yet initialized"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {902, "cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {903, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {905, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {906, "cudaErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking "
                                            "stream"},
    {907, "cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "cudaErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another "
                                               "thread"},
    {909, "cudaErrorTimeout", "wait operation timed out"},
    {910, "cudaErrorGraphExecUpdateFailure", "the graph update was not performed"},
    {999, "cudaErrorUnknown", "unknown error"},
};

const Text *find_text(int code) {
    for (const Text &text : texts)
        if (text.code == code) return &text;
    return nullptr;
}

}  // namespace

SIM_API const char *cudaGetErrorName(int code) {
    const Text *text = find_text(code);
    return text ? text->name : "unrecognized error code";
}

SIM_API const char *cudaGetErrorString(int code) {
    const Text *text = find_text(code);
    static thread_local std::string whole;  // CuPy puts this in its exception: say what was wrong
    whole = text ? text->text : "unrecognized error code";
    std::string detail = code ? take_detail(code) : "";
    if (!detail.empty()) whole += " (" + detail + ")";
    return whole.c_str();
}

SIM_API int cudaGetLastError() { return get_last_error(true); }

SIM_API int cudaPeekAtLastError() { return get_last_error(false); }

// Kernels inside of CuPy's own modules are GPU code: what they do is replaced at a higher level or not at all.
#define NOT_EMULATED(name) \
    SIM_API int name() { return unsupported(#name); }

NOT_EMULATED(cudaLaunchKernel)
NOT_EMULATED(cudaLaunchKernelExC)
NOT_EMULATED(cudaLaunchCooperativeKernel)
NOT_EMULATED(cudaFuncGetAttributes)
NOT_EMULATED(cudaFuncSetAttribute)
NOT_EMULATED(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
NOT_EMULATED(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
NOT_EMULATED(cudaMallocArray)
NOT_EMULATED(cudaMalloc3DArray)
NOT_EMULATED(cudaFreeArray)
NOT_EMULATED(cudaGetChannelDesc)
NOT_EMULATED(cudaMemcpy2DFromArray)
NOT_EMULATED(cudaMemcpy2DFromArrayAsync)
NOT_EMULATED(cudaMemcpy2DToArray)
NOT_EMULATED(cudaMemcpy2DToArrayAsync)
NOT_EMULATED(cudaCreateTextureObject)
NOT_EMULATED(cudaDestroyTextureObject)
NOT_EMULATED(cudaGetTextureObjectResourceDesc)
NOT_EMULATED(cudaGetTextureObjectTextureDesc)
NOT_EMULATED(cudaCreateSurfaceObject)
NOT_EMULATED(cudaDestroySurfaceObject)
NOT_EMULATED(cudaGraphExecUpdate)
