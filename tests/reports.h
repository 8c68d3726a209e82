/* reports.h: what the seeded world reports, as text. */
#pragma once

#include "support.h"

#include <stdio.h>

/* The text of a report. */
struct report {
    FILE *file;
    char *text;
    size_t size;
};

static inline FILE *report_open(struct report *report)
{
    report->text = NULL;
    CHECK(report->file = open_memstream(&report->text, &report->size));
    return report->file;
}

/* Returns the text; the caller frees it. */
static inline char *report_close(struct report *report)
{
    fclose(report->file);
    return report->text;
}
