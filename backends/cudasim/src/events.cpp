// Events: marks in a stream that other streams and the host wait for.
#include "runtime.h"

using namespace sim;

namespace {

const unsigned no_timing = 2, all_flags = 7;  // blocking sync 1, no timing 2, interprocess 4

std::map<void *, std::shared_ptr<EventState>> &events() {
    static auto &all = *new std::map<void *, std::shared_ptr<EventState>>;
    return all;
}

std::shared_ptr<EventState> event_of(void *handle) {
    auto found = events().find(handle);
    return found == events().end() ? nullptr : found->second;
}

int bad_event(const char *function, void *handle) {
    return fail(INVALID_RESOURCE, "%s: %p is not an event", function, handle);
}

int captured(EventState &event, const char *function) {
    if (event.capture) spoil(*event.capture);
    return fail(CAPTURED_EVENT, "%s: the event was last recorded in a stream that is being captured", function);
}

}  // namespace

SIM_API int cudaEventCreateWithFlags(void **event, unsigned flags) {
    Call call("cudaEventCreateWithFlags");
    if (!event || (flags & ~all_flags)) return fail(INVALID_VALUE, "cudaEventCreateWithFlags: unknown flags %u", flags);
    if ((flags & 4) && !(flags & no_timing))
        return fail(INVALID_VALUE, "cudaEventCreateWithFlags: an interprocess event can't measure time");
    auto state = std::make_shared<EventState>();
    state->flags = flags;
    state->device = current_device();
    *event = state.get();
    events()[*event] = state;
    return OK;
}

SIM_API int cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }

SIM_API int cudaEventDestroy(void *event) {
    Call call("cudaEventDestroy");
    return events().erase(event) ? OK : bad_event("cudaEventDestroy", event);
}

SIM_API int cudaEventRecordWithFlags(void *handle, void *stream_handle, unsigned flags) {
    Call call("cudaEventRecord");
    auto event = event_of(handle);
    if (!event) return bad_event("cudaEventRecord", handle);
    StreamRef stream = stream_of(stream_handle);
    if (!stream) return bad_stream("cudaEventRecord", stream_handle);
    if (flags > 1) return fail(INVALID_VALUE, "cudaEventRecordWithFlags: unknown flags %u", flags);
    if (event->device != stream->device)
        return fail(INVALID_RESOURCE, "cudaEventRecord: the event belongs to device %d, the stream to device %d",
                    event->device, stream->device);
    if (stream->capture) return capture_event(*stream, *event);
    if (int code = check_legacy_use(*stream, "cudaEventRecord")) return code;
    auto recording = std::make_shared<Recording>();
    event->capture = nullptr;
    event->last = recording;
    auto mark = [recording] {
        recording->done = true;
        recording->time = now();
        return OK;
    };
    recording->stream = stream;
    if (idle(stream)) return mark();  // nothing to wait for: it need not be deferred
    recording->order = last_order() + 1;
    return enqueue(stream, {"cudaEventRecord", mark, {}, false});
}

SIM_API int cudaEventRecord(void *event, void *stream) { return cudaEventRecordWithFlags(event, stream, 0); }

SIM_API int cudaEventQuery(void *handle) {
    Call call("cudaEventQuery");
    auto event = event_of(handle);
    if (!event) return bad_event("cudaEventQuery", handle);
    if (event->capture) return captured(*event, "cudaEventQuery");
    if (!event->last || event->last->done) return take_deferred();
    if (++event->last->queries < patience) return NOT_READY;
    auto recording = event->last;
    int code = poke(recording->stream, recording->order);
    return code ? code : recording->done ? OK : NOT_READY;
}

SIM_API int cudaEventSynchronize(void *handle) {
    Call call("cudaEventSynchronize");
    auto event = event_of(handle);
    if (!event) return bad_event("cudaEventSynchronize", handle);
    if (event->capture) return captured(*event, "cudaEventSynchronize");
    counters().synchronisations++;
    if (!event->last || event->last->done) return take_deferred();
    auto recording = event->last;
    return drain(recording->stream, recording->order);
}

SIM_API int cudaEventElapsedTime(float *milliseconds, void *start, void *end) {
    Call call("cudaEventElapsedTime");
    auto first = event_of(start), second = event_of(end);
    if (!first || !second) return bad_event("cudaEventElapsedTime", first ? end : start);
    if (first->capture) return captured(*first, "cudaEventElapsedTime");
    if (second->capture) return captured(*second, "cudaEventElapsedTime");
    if ((first->flags | second->flags) & no_timing)
        return fail(INVALID_RESOURCE, "cudaEventElapsedTime: an event was created without timing");
    if (!first->last || !second->last)
        return fail(INVALID_RESOURCE, "cudaEventElapsedTime: an event was never recorded");
    if (!first->last->done || !second->last->done)
        return fail(NOT_READY, "cudaEventElapsedTime: an event has not happened yet");
    *milliseconds = float(double(second->last->time - first->last->time) * 1e-6);
    return OK;
}

SIM_API int cudaEventElapsedTime_v2(float *milliseconds, void *start, void *end) {
    return cudaEventElapsedTime(milliseconds, start, end);
}

SIM_API int cudaStreamWaitEvent(void *stream_handle, void *handle, unsigned flags) {
    Call call("cudaStreamWaitEvent");
    StreamRef stream = stream_of(stream_handle);
    if (!stream) return bad_stream("cudaStreamWaitEvent", stream_handle);
    auto event = event_of(handle);
    if (!event) return bad_event("cudaStreamWaitEvent", handle);
    if (flags > 1) return fail(INVALID_VALUE, "cudaStreamWaitEvent: unknown flags %u", flags);
    counters().waits++;
    if (stream->capture || event->capture) return capture_wait(stream, *event);
    if (int code = check_legacy_use(*stream, "cudaStreamWaitEvent")) return code;
    if (!event->last || event->last->done) return OK;
    return enqueue(stream, {"cudaStreamWaitEvent", {}, {}, false}, event->last);
}

SIM_API int cudaIpcGetEventHandle(void *out, void *handle) {
    Call call("cudaIpcGetEventHandle");
    auto event = event_of(handle);
    if (!event) return bad_event("cudaIpcGetEventHandle", handle);
    if (!(event->flags & 4))
        return fail(INVALID_VALUE, "cudaIpcGetEventHandle: the event was not created as interprocess");
    return fill_ipc_handle(out, handle);
}
