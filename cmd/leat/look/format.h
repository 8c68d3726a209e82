/* format.h: formats numbers with a few digits and a unit. NAN is a number that is not known. */
#pragma once

enum { FORMATTED = 24 };

/* 312ms, 2.69s, 12:34, 1:02:03, 12d; unknown: - */
const char *format_seconds(char to[FORMATTED], double seconds);

/* 0, 99999, 123k, 4.56M; unknown: - */
const char *format_count(char to[FORMATTED], double count);

/* Of bytes, in units of 1024: 512, 4K, 1.5M; unknown: - */
const char *format_bytes(char to[FORMATTED], double bytes);
