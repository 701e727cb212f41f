/* Vectors as long as registers are, which GCC does not choose by itself: most functions of the C library take little
 * longer for 16 floats than for 8, or 8 doubles than for 4. Included before anything else. */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512")
#endif
