/* plan.h: the options and arguments of `leat map`. */
#pragma once

#include "shared/queue.h"
#include "shared/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit statuses of `leat map`, besides those for signals. */
enum { EXIT_FAILED = 1, EXIT_TROUBLE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* The items of the command line after one `:::`. */
struct item_list {
    char **at;
    size_t count;
};

/* The condition that ends the run early. */
struct halt {
    enum { HALT_NEVER, HALT_SOON, HALT_NOW } when;
    enum { HALT_FAIL, HALT_SUCCESS, HALT_DONE } what;
    uint64_t count; /* jobs, or per cent of the ended jobs */
    bool percent;
};

/* A machine that runs commands, or a queue for many. */
struct machine {
    char *name;         /* as ssh takes it; ":" for this machine; or the address of a queue */
    struct queue queue; /* no engine: it is a machine */
    unsigned places;    /* commands at a time; 0: --jobs, or its cores */
};

enum { JOBS_MOST = 4096 }; /* commands at a time, on all machines */

struct plan {
    char **command; /* the arguments with their placeholders */
    size_t arguments;
    struct item_list *lists;
    size_t list_count;
    const char *items; /* a file; NULL: standard input, if there are no lists */
    bool null, script, unordered, lines, tag, dry_run, verbose, progress;
    char separator; /* of columns; 0: an item is not split */
    bool csv;
    unsigned jobs;
    bool jobs_given;
    unsigned places;          /* for jobs on all machines, as far as they are known */
    struct machine *machines; /* from --on; none: this one */
    size_t machine_count;
    const char *folder; /* where commands run; NULL: here, or where a worker begins */
    size_t per_command; /* items; SIZE_MAX: as many as fit */
    size_t block;       /* bytes of a block on a job's standard input; 0: items are arguments */
    const char *output; /* a template of file names, or NULL */
    size_t window;      /* jobs that have begun and are not delivered */
    int64_t spill;      /* bytes that may wait in a file */
    struct halt halt;
    unsigned retries;
    int64_t backoff, grace;
    int64_t timeout;      /* nanoseconds; 0: none */
    double timeout_times; /* of the median; 0: none */
    const char *log;
    bool resume, resume_ended;
};

/* Reads the arguments. Returns -1 if the command must run; else the exit status, after all
 * messages. */
int plan_read(struct plan *p, int argc, char **argv);
void plan_free(struct plan *p);

/* In machines.c: adds the machines of a list `NAME[*N],...` (--on), in which `@FILE` stands for the
 * lines of a file. Returns 0, or the exit status after a message. */
int machines_add(struct plan *p, const char *list);
void machines_free(struct plan *p);

/* The text of --help, in help.c. */
extern const char help_map[];

/* Prints the error and how to get help. Returns EXIT_TROUBLE. */
#define plan_refuse(...) usage_refuse("leat map", EXIT_TROUBLE, __VA_ARGS__)
