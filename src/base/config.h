/* config.h: every constant of the runtime that is a choice.
 *
 * The harsh build (LEAT_HARSH) makes them small, so that full queues, empty pools, forced yields
 * and other rare cases become common. It can also make any single allocation fail
 * (base/fault.h). */
#pragma once

#include "base/sanitizers.h"

/* About how many times as long as usual code takes. */
#ifdef LT_TSAN
#define LT_SLOWDOWN 10
#else
#define LT_SLOWDOWN 1
#endif

/* Whether freed memory is kept for later use. */
#if defined(LEAT_HARSH) || defined(__SANITIZE_ADDRESS__)
#define LT_KEEP_SPARES 0
#else
#define LT_KEEP_SPARES 1
#endif

enum {
    LT_MAX_WORKERS = 256,
    LT_STACK_MIN = 16 * 1024,
    LT_STACK_DEFAULT = 64 * 1024,
    LT_STACK_MAX = 1 << 30,
    LT_FAULT_STACK = 64 * 1024, /* bytes; the state of AVX-512 and AMX alone exceeds SIGSTKSZ */
    /* Stacks end at this many different places in their pages, a cache line apart. Otherwise the
     * same frames of all tasks would compete for a few cache lines, and loads would wait for other
     * tasks' stores. Neighbours, which often run in turn, end some lines further apart. */
    LT_STACK_COLOURS = 24,
    LT_STACK_COLOUR_STEP = 7,
    /* Bytes below a stack. A function whose variables take no more than this hits the guard when
     * the stack overflows, wherever it touches them first. With a stack of 64 KiB this makes an odd
     * number of small pages: at a power of two, neighbours' frames would compete for the same cache
     * lines. */
    LT_STACK_GUARD = 60 * 1024,
    /* Stacks with a PROT_NONE guard. Each splits a mapping, and the kernel allows a process 65,530
     * mappings: further stacks have no guard. */
    LT_GUARD_LIMIT = 16384,
#ifdef LEAT_HARSH
    LT_LOCAL_QUEUE_SIZE = 2,
    LT_STACK_MAGAZINE = 1,
    LT_STACK_TOGETHER = 2,
    LT_STACK_CHUNK = 2,
    LT_STACK_REGION = 2,
    LT_STACK_AHEAD = 1,
    LT_CREDIT_BATCH = 1,
    LT_TASK_SLAB = 2,
    LT_TASK_SLAB_MOST = 4,
    LT_TASK_MAGAZINE = 2,
    LT_DIRECT_SWITCHES = 2,
    LT_OP_BUDGET = 3,
    LT_BLOCK_CALLS = 1,
    LT_TICK_SHIFT = 13,
    LT_CHAIN_SCAN = 1,
    LT_IDLE_SPINS = 0,
    LT_GLOBAL_TURN = 2,
    LT_SIM_ROOM = 1,
    LT_BIAS_AFTER = 2,
    LT_BIAS_TRIALS = 1000000,
    LT_NUMBER_BATCH = 2,
    LT_SPLIT_FROM = 1,
    LT_SPLIT_ALONE = 1,
    LT_SPLIT_FEW = 2,
    LT_FENCED_ENTRIES = 2,
    LT_SLOW_NS = 0,
    LT_SLOW_OP_NS = 0,
    LT_BRIEF_NS = 1000000000,
    LT_TALK_NS = 1000000000,
    LT_LATE_US = 1,
    LT_LATE_PARTIES = 1,
    LT_BLOCKED_US = 1,
    LT_STEAL_AFTER_US = 0,
    LT_STEAL_PAUSES = 1,
    LT_LOOKS_APART = 2,
    LT_TICKS_APART = 2,
    LT_VAIN_WATCHES = 1,
    LT_REACTOR_EVENTS = 1,
    LT_REACTOR_SLOTS = 1,
    LT_URING_QUEUE = 2,
    LT_URING_COMPLETIONS = 16,
#else
    /* Unstarted tasks that a worker holds; more go to the global queue. A power of two. */
    LT_LOCAL_QUEUE_SIZE = 2048,
    LT_STACK_MAGAZINE = 64,    /* warm stacks a worker keeps to itself */
    LT_STACK_TOGETHER = 16,    /* stacks it gives back to the pool at a time */
    LT_STACK_CHUNK = 64,       /* stacks given guards at a time */
    LT_STACK_REGION = 1024,    /* chunks mapped at a time, at most */
    LT_STACK_AHEAD = 32,       /* stacks taken from the pool at a time, at most */
    LT_CREDIT_BATCH = 64,      /* credits (rights to a stack) a worker gets at a time */
    LT_TASK_SLAB = 64,         /* task descriptors allocated at a time, at least, */
    LT_TASK_SLAB_MOST = 65536, /* and at most */
    LT_TASK_MAGAZINE = 256,    /* free descriptors a worker keeps to itself */
    /* Switches from task to task, or steps of blocks, before the worker looks at its inbox, nudges
     * and timers. */
    LT_DIRECT_SWITCHES = 16,
    LT_OP_BUDGET = 256,   /* channel operations without a wait before a task yields */
    LT_BLOCK_CALLS = 64,  /* blocks that call each other on one stack: deeper ones are queued */
    LT_TICK_SHIFT = 10,   /* the timer wheel's tick: 2^10 ns, about a microsecond */
    LT_CHAIN_SCAN = 64,   /* timers read for the exact next deadline before a sleep */
    LT_GLOBAL_TURN = 61,  /* one look for an unstarted party in this many tries the global queue */
    LT_BIAS_AFTER = 64,   /* times in a row a worker takes a lock until it owns it */
    LT_BIAS_TRIALS = 64,  /* owned locks taken back, in all, before their share counts */
    LT_SIM_ROOM = 64,     /* parties a seeded world chooses among without more memory */
    LT_NUMBER_BATCH = 32, /* numbers for tasks, scopes, channels a thread takes at a time */
    LT_SPLIT_FROM = 64,   /* capacity from which a split buffer pays: see chan/split.h */
    LT_SPLIT_ALONE = 0,   /* 1: also with one processor */
    LT_SPLIT_FEW = 32,    /* items, at most, that count as few: see chan/split.h */
    LT_SLOW_NS = 500,     /* ns per party from which a worker is slow: thieves take from it */
    /* and ns per operation. In the benchmark's rows without work it takes 14 to 60, and up to 110
     * where the host runs something else on the other half of the core; beside 1 us of work 280. */
    LT_SLOW_OP_NS = 120,
    /* ns of activity, at most, for which it did not pay to wake a worker; */
    LT_BRIEF_NS = 10000 * LT_SLOWDOWN,
    /* and ns per operation of parties that talk to others elsewhere */
    LT_TALK_NS = 300 * LT_SLOWDOWN,
    /* us from one look of a worker that has run dry to the next: whether another is slow; */
    LT_STEAL_AFTER_US = 5,
    LT_STEAL_PAUSES = 32, /* and the pauses between its looks for news */
    /* us in which a worker has done nothing: others look after it. But if they are slow themselves,
     * it is the time that this many of their parties take. */
    LT_LATE_US = 500,
    LT_LATE_PARTIES = 4,
    LT_LOOKS_APART = 64,  /* parties until a worker reads the cheap clock, at most; */
    LT_TICKS_APART = 16,  /* and times that it does until it reads the other clock */
    LT_BLOCKED_US = 4000, /* us in which it has done nothing, and so is not just off a processor */
    LT_VAIN_WATCHES = 8,  /* watches in a row that took nothing: the lookout watches from then on */
    LT_FENCED_ENTRIES = 4096, /* after which an owner fences no more: base/owned.h */
    LT_IDLE_SPINS = 512,      /* pauses, 10 to 40 ns each, before a sleep, at most */
    LT_REACTOR_EVENTS = 128,  /* events fetched at a time */
    LT_REACTOR_SLOTS = 64,    /* slots for descriptors at first; then twice as many each time */
    /* Powers of two: entries of a worker's ring that are submitted at a time; and its completions,
     * 16 bytes each. Operations under way are nearly half as many; more wait in epoll. */
    LT_URING_QUEUE = 256,
    LT_URING_COMPLETIONS = 16384,
#endif
    LT_URING_PAUSES = 1000,  /* pauses until a processor that was interrupted has completed */
    LT_REACTOR_LOOK_US = 50, /* us between a busy worker's looks for events */
    /* us from one visit of its scheduler to the next, if parties are slow. Less would make a server
     * of 50 connections ask its epoll more often for fewer events: 1.1 of the CPU with 50. */
    LT_VISIT_US = 100,
    LT_OFFER_US = 50,     /* us after which an offer of the only processor took long; then */
    LT_OFFER_RESTS = 32,  /* there is none for this many times as long, */
    LT_OFFER_REST_S = 10, /* but for these seconds at most */
    /* us between two looks of the watcher, at first, */
    LT_WATCH_FIRST_US = 50,
    LT_WATCH_LAST_US = 1000, /* and at most, when stealing has not paid lately */
    LT_LOOKOUT_US = 1000,    /* us from one look of the lookout to the next */
    /* Notifications that the watcher answers at once in a row, apart from one in each
     * LT_WATCH_LAST_US. */
    LT_NOTICES_AT_ONCE = 8,
    /* us from one wake-up for a timer to the next, at least; the kernel's usual slack. */
    LT_NAP_LEAST_US = 50,
    LT_NAP_THICK = 16,        /* if at least this many timers come in that time, */
    LT_NAP_MOST_US = 400,     /* it is this long */
    LT_STOP_PATIENCE_MS = 20, /* ms leat_main waits for functions that are about to return */
    LT_POOL_IDLE_S = 10,      /* s without work after which a pool thread ends */
};
