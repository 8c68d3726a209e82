/* arguments.h: the arguments of leat look. */
#pragma once

#include "look/address.h"
#include "look/fetch.h"
#include "look/view.h"

enum { EXIT_TROUBLE = 2 };

struct arguments {
    struct address address;
    int64_t delay; /* nanoseconds between two looks */
    bool once;
    struct wanted raw; /* printed as it comes; if its target is NULL, nothing */
    char trace[64];    /* that target for a trace */
    struct view view;
};

/* Returns -1, or the exit status when there is nothing to do. */
int arguments_read(struct arguments *o, int argc, char **argv);
