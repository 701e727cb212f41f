// The runtime's functions for streams (capture is in graphs.cpp, waiting for events in events.cpp).
#include "runtime.h"

using namespace sim;

namespace {

const int least_priority = 0, greatest_priority = -5;

}  // namespace

SIM_API int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    Call call("cudaStreamCreate");
    if (!stream || flags > 1) return fail(INVALID_VALUE, "cudaStreamCreate: unknown flags %u", flags);
    if (settings().devices <= 0) return fail(100, "cudaStreamCreate: CUDASIM_DEVICES is 0");
    if (priority > least_priority) priority = least_priority;
    if (priority < greatest_priority) priority = greatest_priority;
    return new_stream(stream, flags, priority);
}

SIM_API int cudaStreamCreateWithFlags(void **stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

SIM_API int cudaStreamCreate(void **stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

SIM_API int cudaStreamDestroy(void *stream) {
    Call call("cudaStreamDestroy");
    return destroy_stream(stream);
}

SIM_API int cudaStreamGetFlags(void *handle, unsigned *flags) {
    Call call("cudaStreamGetFlags");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamGetFlags", handle);
    *flags = stream->flags;
    return OK;
}

SIM_API int cudaStreamGetPriority(void *handle, int *priority) {
    Call call("cudaStreamGetPriority");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamGetPriority", handle);
    *priority = stream->priority;
    return OK;
}

SIM_API int cudaStreamGetDevice(void *handle, int *device) {
    Call call("cudaStreamGetDevice");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamGetDevice", handle);
    *device = stream->device;
    return OK;
}

SIM_API int cudaStreamGetId(void *handle, unsigned long long *id) {
    Call call("cudaStreamGetId");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamGetId", handle);
    *id = uintptr_t(stream.get());
    return OK;
}

SIM_API int cudaStreamSynchronize(void *stream) {
    Call call("cudaStreamSynchronize");
    return synchronise(stream);
}

SIM_API int cudaStreamQuery(void *handle) {
    Call call("cudaStreamQuery");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamQuery", handle);
    if (stream->capture) return invalidate(*stream, CAPTURE_UNSUPPORTED, "cudaStreamQuery");
    if (int code = check_legacy_use(*stream, "cudaStreamQuery")) return code;
    auto done = [&] { return stream->legacy ? idle(stream) : stream->queue.empty(); };
    if (!done()) {
        if (++stream->queries < patience) return NOT_READY;
        if (int code = poke(stream, last_order())) return code;
        if (!done()) return NOT_READY;
    }
    stream->queries = 0;
    return take_deferred();
}

SIM_API int cudaStreamAddCallback(void *handle, void (*function)(void *, int, void *), void *data, unsigned flags) {
    Call call("cudaStreamAddCallback");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaStreamAddCallback", handle);
    if (!function || flags) return fail(INVALID_VALUE, "cudaStreamAddCallback: flags must be 0");
    if (stream->capture) return invalidate(*stream, CAPTURE_UNSUPPORTED, "cudaStreamAddCallback");
    Work work = [=] {
        function(handle, OK, data);
        return OK;
    };
    return enqueue(stream, {"cudaStreamAddCallback", std::move(work), {}, true});
}

SIM_API int cudaLaunchHostFunc(void *handle, void (*function)(void *), void *data) {
    Call call("cudaLaunchHostFunc");
    StreamRef stream = stream_of(handle);
    if (!stream) return bad_stream("cudaLaunchHostFunc", handle);
    if (!function) return fail(INVALID_VALUE, "cudaLaunchHostFunc: no function");
    Work work = [=] {
        function(data);
        return OK;
    };
    return enqueue(stream, {"cudaLaunchHostFunc", std::move(work), {}, true});
}

SIM_API int cudaStreamAttachMemAsync(void *stream, void *, size_t, unsigned) {
    return submit(stream, "cudaStreamAttachMemAsync", [] { return OK; });
}
