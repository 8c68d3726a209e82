/* sanitizers.h: defines LT_ASAN and LT_TSAN if that sanitizer watches the program. */
#pragma once

#ifdef __SANITIZE_ADDRESS__
#define LT_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define LT_TSAN 1
#endif
#ifdef __has_feature /* clang, which defines neither */
#if __has_feature(address_sanitizer)
#define LT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define LT_TSAN 1
#endif
#endif
