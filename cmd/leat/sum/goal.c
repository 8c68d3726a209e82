#include "goal.h"

void goal_add(struct goal *g, const struct stat *about)
{
    atomic_fetch_add_explicit(&g->files, 1, memory_order_relaxed);
    if (!about)
        return;
    if (S_ISREG(about->st_mode))
        atomic_fetch_add_explicit(&g->bytes, (uint64_t)about->st_size, memory_order_relaxed);
    else
        atomic_store_explicit(&g->unsized, true, memory_order_relaxed);
}

void goal_set(struct goal *g, uint64_t files)
{
    atomic_store_explicit(&g->all_files, files, memory_order_relaxed);
}

void goal_guess(struct goal *g, uint64_t done, uint64_t all)
{
    double files = (double)atomic_load_explicit(&g->files, memory_order_relaxed);
    /* A list may have grown. */
    double share = done < all ? (double)all / (double)done : 1;
    goal_set(g, (uint64_t)(files * share));
}

void goal_end(struct goal *g)
{
    goal_set(g, atomic_load_explicit(&g->files, memory_order_relaxed));
}

double goal_bytes(const struct goal *g)
{
    double files = (double)atomic_load_explicit(&g->files, memory_order_relaxed);
    double bytes = (double)atomic_load_explicit(&g->bytes, memory_order_relaxed);
    double all = (double)atomic_load_explicit(&g->all_files, memory_order_relaxed);
    if (files == 0 || all < files || atomic_load_explicit(&g->unsized, memory_order_relaxed))
        return 0;
    return bytes * all / files;
}
