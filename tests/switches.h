/* switches.h: how often threads have given up their processor by themselves. */
#pragma once

#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* -1: the system does not say. */
static inline long switches_of(int thread)
{
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    long switches = -1;
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
    if (file)
        fclose(file);
    return switches;
}

/* Of all threads but the calling one. -1: the system does not say. */
static inline long switches_of_others(void)
{
    long sum = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && sum >= 0 && (entry = readdir(threads));) {
        int thread = atoi(entry->d_name);
        if (thread == 0 || thread == gettid())
            continue;
        long switches = switches_of(thread);
        sum = switches < 0 ? -1 : sum + switches;
    }
    return threads && closedir(threads) == 0 ? sum : -1;
}
