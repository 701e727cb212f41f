// cuFFT: plans (one or many lines, boxes of up to three axes, with embedding, strides and distances) and their
// execution. Data of any precision is loaded into a box of doubles, transformed axis by axis and stored again.
#include "fft.h"

#include <algorithm>

#include "hooks.h"

namespace {

using sim::fft::Complex;

enum Result {
    SUCCESS = 0, INVALID_PLAN = 1, INVALID_TYPE = 3, INVALID_VALUE = 4, EXEC_FAILED = 6, INVALID_SIZE = 8,
};
enum class Precision { half, single, twofold };
enum class Shape { complex_to_complex, real_to_complex, complex_to_real };

size_t width(Precision precision) { return precision == Precision::half ? 2 : precision == Precision::single ? 4 : 8; }

double load(const void *base, Precision precision, long long index) {
    switch (precision) {
    case Precision::half: return sim::half_to_float(static_cast<const uint16_t *>(base)[index]);
    case Precision::single: return static_cast<const float *>(base)[index];
    default: return static_cast<const double *>(base)[index];
    }
}

void store(void *base, Precision precision, long long index, double value) {
    switch (precision) {
    case Precision::half: static_cast<uint16_t *>(base)[index] = sim::half_from_double(value); break;
    case Precision::single: static_cast<float *>(base)[index] = float(value); break;
    default: static_cast<double *>(base)[index] = value;
    }
}

// Where the elements of a box lie in memory, in units of elements.
struct Layout {
    bool basic = true;                // packed; for real data in place also padded to whole complex numbers
    std::vector<long long> embed;     // the enclosing box (its first extent doesn't matter)
    long long stride = 1, distance = 0;

    long long row(long long batch, size_t row, const std::vector<long long> &extent) const {
        long long offset = 0, scale = 1;
        for (size_t axis = extent.size() - 1; axis-- > 0;) {
            scale *= embed[axis + 1];
            offset += (long long)(row % extent[axis]) * scale;
            row /= extent[axis];
        }
        return batch * distance + offset * stride;
    }
};

struct Plan {
    Precision precision = Precision::single;
    Shape shape = Shape::complex_to_complex;
    bool made = false, automatic = true;
    std::vector<long long> extent;
    Layout in, out;
    long long batch = 0;
    std::vector<std::shared_ptr<const sim::fft::Line>> lines;
    void *stream = nullptr;
    std::vector<int> devices;

    size_t box() const {  // complex numbers that are kept of one transform
        size_t size = 1;
        for (size_t axis = 0; axis < extent.size(); ++axis)
            size *= axis + 1 == extent.size() ? last() : extent[axis];
        return size;
    }
    size_t last() const { return shape == Shape::complex_to_complex ? extent.back() : extent.back() / 2 + 1; }
    size_t rows() const { return box() / last(); }
};

// Transform along every axis but the last.
void transform_columns(const Plan &plan, std::vector<Complex> &box) {
    size_t inner = plan.last();
    std::vector<Complex> from, to;
    for (size_t axis = plan.extent.size() - 1; axis-- > 0;) {
        const size_t length = plan.extent[axis], outer = box.size() / (inner * length);
        if (length > 1) {
            from.resize(length);
            to.resize(length);
            for (size_t i = 0; i < outer * inner; ++i) {
                Complex *first = box.data() + i / inner * inner * length + i % inner;
                for (size_t k = 0; k < length; ++k)
                    from[k] = first[k * inner];
                plan.lines[axis]->forward(from.data(), to.data());
                for (size_t k = 0; k < length; ++k)
                    first[k * inner] = to[k];
            }
        }
        inner *= length;
    }
}

// The inverse transform is the forward one with real and imaginary parts exchanged before and after.
Complex load_complex(const Plan &plan, const void *data, long long index, bool inverse) {
    const double a = load(data, plan.precision, 2 * index), b = load(data, plan.precision, 2 * index + 1);
    return inverse ? Complex{b, a} : Complex{a, b};
}

void store_complex(const Plan &plan, void *data, long long index, Complex value, bool inverse) {
    store(data, plan.precision, 2 * index, inverse ? value.im : value.re);
    store(data, plan.precision, 2 * index + 1, inverse ? value.re : value.im);
}

// Real data in place, without a layout of its own, has rows padded to the space of the complex ones.
Layout padded(const Plan &plan, const Layout &layout, bool in_place) {
    Layout result = layout;
    if (in_place && layout.basic) {
        result.embed.back() = 2 * (plan.extent.back() / 2 + 1);
        result.distance = result.embed.back() * (long long)plan.rows();
    }
    return result;
}

void complex_to_complex(const Plan &plan, const void *in, void *out, bool inverse) {
    const size_t length = plan.last(), rows = plan.rows();
    std::vector<Complex> box(plan.box()), line(length);
    for (long long batch = 0; batch < plan.batch; ++batch) {
        for (size_t row = 0; row < rows; ++row) {
            const long long offset = plan.in.row(batch, row, plan.extent);
            for (size_t k = 0; k < length; ++k)
                line[k] = load_complex(plan, in, offset + k * plan.in.stride, inverse);
            plan.lines.back()->forward(line.data(), box.data() + row * length);
        }
        transform_columns(plan, box);
        for (size_t row = 0; row < rows; ++row) {
            const long long offset = plan.out.row(batch, row, plan.extent);
            for (size_t k = 0; k < length; ++k)
                store_complex(plan, out, offset + k * plan.out.stride, box[row * length + k], inverse);
        }
    }
}

void real_to_complex(const Plan &plan, const void *in, void *out) {
    const size_t length = plan.extent.back(), kept = plan.last(), rows = plan.rows();
    const Layout from = padded(plan, plan.in, in == out);
    std::vector<Complex> box(plan.box()), line(length), spectrum(length);
    for (long long batch = 0; batch < plan.batch; ++batch) {
        for (size_t row = 0; row < rows; ++row) {
            const long long offset = from.row(batch, row, plan.extent);
            for (size_t k = 0; k < length; ++k)
                line[k] = {load(in, plan.precision, offset + k * from.stride), 0};
            plan.lines.back()->forward(line.data(), spectrum.data());
            spectrum[0].im = 0;
            if (length % 2 == 0)
                spectrum[length / 2].im = 0;
            std::copy_n(spectrum.begin(), kept, box.begin() + row * kept);
        }
        transform_columns(plan, box);
        for (size_t row = 0; row < rows; ++row) {
            const long long offset = plan.out.row(batch, row, plan.extent);
            for (size_t k = 0; k < kept; ++k)
                store_complex(plan, out, offset + k * plan.out.stride, box[row * kept + k], false);
        }
    }
}

void complex_to_real(const Plan &plan, const void *in, void *out) {
    const size_t length = plan.extent.back(), kept = plan.last(), rows = plan.rows();
    const Layout to = padded(plan, plan.out, in == out);
    std::vector<Complex> box(plan.box()), line(length), result(length);
    for (long long batch = 0; batch < plan.batch; ++batch) {
        for (size_t row = 0; row < rows; ++row) {
            const long long offset = plan.in.row(batch, row, plan.extent);
            for (size_t k = 0; k < kept; ++k)
                box[row * kept + k] = load_complex(plan, in, offset + k * plan.in.stride, true);
        }
        transform_columns(plan, box);
        for (size_t row = 0; row < rows; ++row) {
            // Numbers are exchanged pairs here: the conjugate of the original negates the first member. What must be
            // real because of the symmetry is taken as real.
            for (size_t k = 0; k < kept; ++k) {
                const Complex value = box[row * kept + k];
                line[k] = value;
                if (k == 0 || 2 * k == length)
                    line[k].re = 0;
                else
                    line[length - k] = {-value.re, value.im};
            }
            plan.lines.back()->forward(line.data(), result.data());
            const long long offset = to.row(batch, row, plan.extent);
            for (size_t k = 0; k < length; ++k)
                store(out, plan.precision, offset + k * to.stride, result[k].im);
        }
    }
}

int run(const Plan &plan, const void *in, void *out, bool inverse) {
    if (plan.shape == Shape::complex_to_complex)
        complex_to_complex(plan, in, out, inverse);
    else if (plan.shape == Shape::real_to_complex)
        real_to_complex(plan, in, out);
    else
        complex_to_real(plan, in, out);
    return sim::OK;
}

// -- handles -----------------------------------------------------------------------------------------------------
// Work holds the plan itself, so that a plan may be destroyed or given another stream while its work is waiting.
std::map<int, std::shared_ptr<Plan>> &plans() {
    static auto *all = new std::map<int, std::shared_ptr<Plan>>;  // never destroyed: plans die at interpreter exit
    return *all;
}

std::shared_ptr<Plan> plan_of(int handle) {
    const auto found = plans().find(handle);
    return found == plans().end() ? nullptr : found->second;
}

template <typename Int>
Layout layout(int rank, const long long *extent, const Int *embed, long long stride, long long distance) {
    Layout result;
    result.basic = embed == nullptr;
    result.stride = embed ? stride : 1;
    result.distance = embed ? distance : 1;
    for (int axis = 0; axis < rank; ++axis) {
        result.embed.push_back(embed ? (long long)embed[axis] : extent[axis]);
        if (!embed)
            result.distance *= extent[axis];
    }
    return result;
}

template <typename Int>
int make(int handle, Precision precision, Shape shape, int rank, const Int *n, const Int *in_embed, long long in_stride,
         long long in_distance, const Int *out_embed, long long out_stride, long long out_distance, long long batch,
         size_t *work) {
    const auto plan = plan_of(handle);
    if (!plan || plan->made)
        return INVALID_PLAN;
    if (rank < 1 || rank > 3 || batch < 1 || !n)
        return INVALID_SIZE;
    for (int axis = 0; axis < rank; ++axis)
        if (n[axis] < 1)
            return INVALID_SIZE;
    plan->precision = precision;
    plan->shape = shape;
    plan->batch = batch;
    plan->extent.assign(n, n + rank);
    std::vector<long long> half(n, n + rank);
    half.back() = half.back() / 2 + 1;
    const long long *whole = plan->extent.data();
    plan->in = layout(rank, shape == Shape::complex_to_real ? half.data() : whole, in_embed, in_stride, in_distance);
    plan->out = layout(rank, shape == Shape::real_to_complex ? half.data() : whole, out_embed, out_stride,
                       out_distance);
    for (int axis = 0; axis < rank; ++axis)
        plan->lines.push_back(sim::fft::line(n[axis]));
    plan->made = true;
    // Nothing is needed, but a real plan has a work area of about this size and CuPy keeps account of it.
    const size_t share = plan->box() * batch * 2 * width(precision);
    const size_t devices = std::max<size_t>(1, plan->devices.size());
    for (size_t device = 0; work && device < devices; ++device)
        work[device] = (share + devices - 1) / devices;
    return SUCCESS;
}

bool described(int type, Precision &precision, Shape &shape) {
    precision = type & 0x40 ? Precision::twofold : Precision::single;
    switch (type) {
    case 0x29: case 0x69: shape = Shape::complex_to_complex; return true;
    case 0x2a: case 0x6a: shape = Shape::real_to_complex; return true;
    case 0x2c: case 0x6c: shape = Shape::complex_to_real; return true;
    default: return false;
    }
}

int execute(const char *name, int handle, const void *in, void *out, int direction) {
    const auto plan = plan_of(handle);
    if (!plan || !plan->made)
        return INVALID_PLAN;
    if (!in || !out || (plan->shape == Shape::complex_to_complex && direction != -1 && direction != 1))
        return INVALID_VALUE;
    if (!sim::find(in) || !sim::find(out)) {
        sim::fail(sim::INVALID_VALUE, "%s: the data is not in device memory", name);
        return INVALID_VALUE;
    }
    const bool inverse = direction == 1;
    const int code = sim::submit_counted(plan->stream, name,
                                         [plan, in, out, inverse] { return run(*plan, in, out, inverse); });
    return code == sim::OK ? SUCCESS : EXEC_FAILED;
}

// `type` is what the function called is for; a plan of another type is refused.
int execute_kind(const char *name, int handle, const void *in, void *out, int direction, int type) {
    const sim::Lock lock;
    const auto plan = plan_of(handle);
    Precision precision;
    Shape shape = Shape::complex_to_complex;
    described(type, precision, shape);
    if (plan && plan->made && (plan->precision != precision || plan->shape != shape))
        return INVALID_TYPE;
    return execute(name, handle, in, out, direction);
}

}  // namespace

namespace sim::fft {

int set_devices(int handle, const std::vector<int> &devices) {
    const auto plan = plan_of(handle);
    if (!plan || plan->made)
        return INVALID_PLAN;
    plan->devices = devices;
    return SUCCESS;
}

size_t bytes_of(int handle) {
    const auto plan = plan_of(handle);
    return plan && plan->made ? plan->box() * plan->batch * 2 * width(plan->precision) : 0;
}

int transform_packed(int handle, int type, int direction, void *data) {
    const auto plan = plan_of(handle);
    Precision precision;
    Shape shape = Shape::complex_to_complex;
    described(type, precision, shape);
    if (!plan || !plan->made)
        return INVALID_PLAN;
    if (plan->precision != precision || plan->shape != shape)
        return INVALID_TYPE;
    return run(*plan, data, data, direction == 1) == sim::OK ? SUCCESS : EXEC_FAILED;
}

}  // namespace sim::fft

SIM_API int cufftGetVersion(int *version) {
    *version = 11401;
    return SUCCESS;
}

SIM_API int cufftCreate(int *handle) {
    const sim::Lock lock;
    static int next = 0;
    *handle = ++next;
    plans()[*handle] = std::make_shared<Plan>();
    return SUCCESS;
}

SIM_API int cufftDestroy(int handle) {
    const sim::Lock lock;
    return plans().erase(handle) ? SUCCESS : INVALID_PLAN;
}

SIM_API int cufftSetAutoAllocation(int handle, int automatic) {
    const sim::Lock lock;
    const auto plan = plan_of(handle);
    if (plan)
        plan->automatic = automatic;
    return plan ? SUCCESS : INVALID_PLAN;
}

SIM_API int cufftSetWorkArea(int handle, void *) {
    const sim::Lock lock;
    return plan_of(handle) ? SUCCESS : INVALID_PLAN;
}

SIM_API int cufftXtSetWorkArea(int handle, void **) {
    const sim::Lock lock;
    return plan_of(handle) ? SUCCESS : INVALID_PLAN;
}

SIM_API int cufftSetStream(int handle, void *stream) {
    const sim::Lock lock;
    const auto plan = plan_of(handle);
    if (plan)
        plan->stream = stream;
    return plan ? SUCCESS : INVALID_PLAN;
}

SIM_API int cufftMakePlan1d(int handle, int n, int type, int batch, size_t *work) {
    const sim::Lock lock;
    Precision precision;
    Shape shape;
    if (!described(type, precision, shape))
        return INVALID_TYPE;
    return make<int>(handle, precision, shape, 1, &n, nullptr, 1, 0, nullptr, 1, 0, batch, work);
}

SIM_API int cufftMakePlanMany(int handle, int rank, int *n, int *in_embed, int in_stride, int in_distance,
                              int *out_embed, int out_stride, int out_distance, int type, int batch, size_t *work) {
    const sim::Lock lock;
    Precision precision;
    Shape shape;
    if (!described(type, precision, shape))
        return INVALID_TYPE;
    return make<int>(handle, precision, shape, rank, n, in_embed, in_stride, in_distance, out_embed, out_stride,
                     out_distance, batch, work);
}

SIM_API int cufftXtMakePlanMany(int handle, int rank, long long *n, long long *in_embed, long long in_stride,
                                long long in_distance, int in_type, long long *out_embed, long long out_stride,
                                long long out_distance, int out_type, long long batch, size_t *work, int type) {
    const sim::Lock lock;
    // Values of cudaDataType: real 0 (float), 1 (double), 2 (half); complex the same plus 4.
    if (type < 4 || type > 6 || (in_type & 3) != (type & 3) || (out_type & 3) != (type & 3) || in_type > 6 ||
        out_type > 6 || (in_type < 4 && out_type < 4))
        return INVALID_TYPE;
    const Precision precision = type == 4 ? Precision::single : type == 5 ? Precision::twofold : Precision::half;
    const Shape shape = in_type < 4 ? Shape::real_to_complex
                        : out_type < 4 ? Shape::complex_to_real
                                       : Shape::complex_to_complex;
    return make<long long>(handle, precision, shape, rank, n, in_embed, in_stride, in_distance, out_embed, out_stride,
                           out_distance, batch, work);
}

SIM_API int cufftExecC2C(int handle, void *in, void *out, int direction) {
    return execute_kind("cufftExecC2C", handle, in, out, direction, 0x29);
}
SIM_API int cufftExecR2C(int handle, void *in, void *out) {
    return execute_kind("cufftExecR2C", handle, in, out, -1, 0x2a);
}
SIM_API int cufftExecC2R(int handle, void *in, void *out) {
    return execute_kind("cufftExecC2R", handle, in, out, 1, 0x2c);
}
SIM_API int cufftExecZ2Z(int handle, void *in, void *out, int direction) {
    return execute_kind("cufftExecZ2Z", handle, in, out, direction, 0x69);
}
SIM_API int cufftExecD2Z(int handle, void *in, void *out) {
    return execute_kind("cufftExecD2Z", handle, in, out, -1, 0x6a);
}
SIM_API int cufftExecZ2D(int handle, void *in, void *out) {
    return execute_kind("cufftExecZ2D", handle, in, out, 1, 0x6c);
}
SIM_API int cufftXtExec(int handle, void *in, void *out, int direction) {
    const sim::Lock lock;
    return execute("cufftXtExec", handle, in, out, direction);
}
