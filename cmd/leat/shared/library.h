/* library.h: shared libraries that are loaded when they are used: many relocations take more than a
 * millisecond at the start of a program, which other commands need not pay. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The library's version as a text, if the version is a macro. */
#define LIBRARY_TEXT(version) #version
#define LIBRARY_FILE(name, version) name ".so." LIBRARY_TEXT(version)

/* Loads a library, once, and writes the addresses of its `count` functions to the pointers at `to`,
 * which are NULL before. Only one thread at a time may call it. False: the system does not have
 * it. */
bool library_load(const char *file, const char *const *functions, size_t count, void *to);
