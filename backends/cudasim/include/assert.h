// A failed assertion in device code ends the launch, not the process. May be included again, as in C.
#ifndef CUDASIM_ASSERT_H
#define CUDASIM_ASSERT_H
static inline __attribute__((noinline, cold)) void __cudasim_assert_failed(const char *what, const char *file,
                                                                           int line) {
    char text[512];
    __builtin_snprintf(text, sizeof text, "%s:%d: assertion `%s` failed", file, line, what);
    __cudasim_host->stop(710, text);
}
#endif
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : __cudasim_assert_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
#if !defined(static_assert) && !defined(__cplusplus)
#define static_assert _Static_assert
#endif
