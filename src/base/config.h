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

/* The value of a constant in the harsh build, and in all others. */
#ifdef LEAT_HARSH
#define LT_OR(harsh, usual) (harsh)
#else
#define LT_OR(harsh, usual) (usual)
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
    /* Unstarted tasks that a worker holds; more go to the global queue. A power of two. */
    LT_LOCAL_QUEUE_SIZE = LT_OR(2, 2048),
    LT_STACK_MAGAZINE = LT_OR(1, 64),    /* warm stacks a worker keeps to itself */
    LT_STACK_TOGETHER = LT_OR(2, 16),    /* stacks it gives back to the pool at a time */
    LT_STACK_CHUNK = LT_OR(2, 64),       /* stacks given guards at a time */
    LT_STACK_REGION = LT_OR(2, 1024),    /* chunks mapped at a time, at most */
    LT_STACK_AHEAD = LT_OR(1, 32),       /* stacks taken from the pool at a time, at most */
    LT_CREDIT_BATCH = LT_OR(1, 64),      /* credits (rights to a stack) a worker gets at a time */
    LT_TASK_SLAB = LT_OR(2, 64),         /* task descriptors allocated at a time, at least, */
    LT_TASK_SLAB_MOST = LT_OR(4, 65536), /* and at most */
    LT_TASK_MAGAZINE = LT_OR(2, 256),    /* free descriptors a worker keeps to itself */
    /* Switches from task to task, or steps of blocks, before the worker looks at its inbox, nudges
     * and timers. */
    LT_DIRECT_SWITCHES = LT_OR(2, 16),
    LT_OP_BUDGET = LT_OR(3, 256), /* channel operations without a wait before a task yields */
    /* blocks that call each other on one stack: deeper ones are queued */
    LT_BLOCK_CALLS = LT_OR(1, 64),
    LT_TICK_SHIFT = LT_OR(13, 10), /* the timer wheel's tick: 2^10 ns, about a microsecond */
    LT_CHAIN_SCAN = LT_OR(1, 64),  /* timers read for the exact next deadline before a sleep */
    /* one look for an unstarted party in this many tries the global queue */
    LT_GLOBAL_TURN = LT_OR(2, 61),
    LT_BIAS_AFTER = LT_OR(2, 64), /* times in a row a worker takes a lock until it owns it */
    /* owned locks taken back, in all, before their share counts */
    LT_BIAS_TRIALS = LT_OR(1000000, 64),
    LT_SIM_ROOM = LT_OR(1, 64), /* parties a seeded world chooses among without more memory */
    /* numbers for tasks, scopes, channels a thread takes at a time */
    LT_NUMBER_BATCH = LT_OR(2, 32),
    LT_SPLIT_FROM = LT_OR(1, 64), /* capacity from which a split buffer pays: see chan/split.h */
    LT_SPLIT_ALONE = LT_OR(1, 0), /* 1: also with one processor */
    LT_SPLIT_FEW = LT_OR(2, 32),  /* items, at most, that count as few: see chan/split.h */
    LT_SLOW_NS = LT_OR(0, 500), /* ns per party from which a worker is slow: thieves take from it */
    /* and ns per operation. In the benchmark's rows without work it takes 14 to 60, and up to 110
     * where the host runs something else on the other half of the core; beside 1 us of work 280. */
    LT_SLOW_OP_NS = LT_OR(0, 120),
    /* ns of activity, at most, for which it did not pay to wake a worker; */
    LT_BRIEF_NS = LT_OR(1000000000, 10000 * LT_SLOWDOWN),
    /* and ns per operation of parties that talk to others elsewhere */
    LT_TALK_NS = LT_OR(1000000000, 300 * LT_SLOWDOWN),
    /* us from one look of a worker that has run dry to the next: whether another is slow; */
    LT_STEAL_AFTER_US = LT_OR(0, 5),
    LT_STEAL_PAUSES = LT_OR(1, 32), /* and the pauses between its looks for news */
    /* us in which a worker has done nothing: others look after it. But if they are slow themselves,
     * it is the time that this many of their parties take. */
    LT_LATE_US = LT_OR(1, 500),
    LT_LATE_PARTIES = LT_OR(1, 4),
    LT_LOOKS_APART = LT_OR(2, 64), /* parties until a worker reads the cheap clock, at most; */
    LT_TICKS_APART = LT_OR(2, 16), /* and times that it does until it reads the other clock */
    /* us in which it has done nothing, and so is not just off a processor */
    LT_BLOCKED_US = LT_OR(1, 4000),
    /* watches in a row that took nothing: the lookout watches from then on */
    LT_VAIN_WATCHES = LT_OR(1, 8),
    LT_FENCED_ENTRIES = LT_OR(2, 4096), /* after which an owner fences no more: base/owned.h */
    LT_IDLE_SPINS = LT_OR(0, 512),      /* pauses, 10 to 40 ns each, before a sleep, at most */
    LT_REACTOR_EVENTS = LT_OR(1, 128),  /* events fetched at a time */
    /* slots for descriptors at first; then twice as many each time */
    LT_REACTOR_SLOTS = LT_OR(1, 64),
    /* Powers of two: entries of a worker's ring that are submitted at a time; and its completions,
     * 16 bytes each. Operations under way are nearly half as many; more wait in epoll. */
    LT_URING_QUEUE = LT_OR(2, 256),
    LT_URING_COMPLETIONS = LT_OR(16, 16384),
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
