/* log.h: the log: a line for each job that is over and delivered, in the format of GNU parallel;
 * and the jobs in the log of an earlier run. */
#pragma once

#include "map/plan.h"

struct job;
struct log_entry;

struct log {
    int fd;                    /* -1: there is no log */
    struct log_entry *entries; /* a table of the jobs of an earlier run */
    size_t count, size;        /* entries of the table: a power of two */
};

/* Opens the log. 0, or the exit status after a message. */
int log_open(struct log *l, const struct plan *p);
void log_close(struct log *l);

/* Whether the job is done; each line of the log counts once. */
bool log_has(struct log *l, const char *command);

/* 0 or a negative errno value. If a write fails, the log is closed: another line might follow a
 * part of this one. */
int log_write(struct log *l, const struct job *job);
