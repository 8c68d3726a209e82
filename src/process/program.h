/* program.h: starts a program: fork and execve in one step.
 *
 * The child shares the parent's memory until execve (CLONE_VM), and the parent's thread stands
 * still until then (CLONE_VFORK). So a start takes no longer in a large program than in a small
 * one. The child has its own stack. It makes system calls and changes only its stack and its
 * lt_program. All signals are blocked in it until no handler of the program is left.
 *
 * Sanitizers and emulators need a plain fork instead. Then the memory is not shared, and an error
 * comes back through a pipe that execve closes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct lt_program {
    const char *const *argv, *const *environment;
    const char *folder; /* or NULL */
    char *files;        /* the paths to try, in one text; an empty one ends them */
    int given[3];       /* the descriptors for 0, 1, 2; -1: unchanged */
    bool err_to_out, group, inherit;
    /* The results. */
    pid_t pid;
    int pidfd;
    /* Between parent and child. */
    int report;  /* the pipe's write end; -1: memory is known to be shared */
    bool shared; /* the child has written this: memory is shared */
    int error;   /* of the child, 0 or a negative errno value */
};

/* The paths to try for a name, by PATH in the environment; the caller frees them. NULL when memory
 * has run out. */
char *lt_program_files(const char *name, const char *const *environment);

/* Calls `fn` with the number of each entry of a folder in /proc; 0 if its name is no number. Only
 * makes system calls. Returns 0 or a negative errno value. */
int lt_each_number(const char *path, void (*fn)(int number, void *arg), void *arg);

/* Starts the program, a struct lt_program, and returns when it runs: 0 with `pid` and `pidfd` set;
 * or a negative errno value, without a process. Blocks the thread. */
int lt_program_start(void *program);
