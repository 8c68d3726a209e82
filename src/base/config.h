/* config.h: every constant of the runtime that is a choice.
 *
 * The harsh build (LEAT_HARSH) shrinks them so that the rare paths, full queues, empty pools, forced
 * yields, become the common ones, and can fail any single allocation (base/fault.h). */
#ifndef LT_BASE_CONFIG_H
#define LT_BASE_CONFIG_H

/* Whether freed memory is kept for the next that wants the like. */
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
    LT_FAULT_STACK = 64 * 1024, /* AVX-512 and AMX state alone fills more than SIGSTKSZ */
    /* Stacks end at as many different places in their pages, a cache line apart: else the same frames of
     * all tasks would fight for a few lines of the cache, and loads would wait for other tasks' stores. And
     * neighbours, which often run one after the other, some lines further apart. */
    LT_STACK_COLOURS = 24,
    LT_STACK_COLOUR_STEP = 7,
    /* Below a stack: a function with up to as many bytes of variables, which it does not touch from the top down, ends in
     * there. With a stack of 64 KiB that makes an odd number of small pages, so that neighbours' frames do not fight for
     * the same lines of the cache, as they would at a power of two. */
    LT_STACK_GUARD = 60 * 1024,
    /* Where guards are PROT_NONE pages each splits a mapping, and the kernel allows a process 65,530
     * of those: this many stacks get such a guard, further ones have none. */
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
    LT_TICK_SHIFT = 13,
    LT_CHAIN_SCAN = 1,
    LT_IDLE_SPINS = 0,
    LT_SPILL_TURN = 2,
    LT_SIM_ROOM = 1,
    LT_BIAS_AFTER = 2,
    LT_BIAS_TRIALS = 1000000,
    LT_NUMBER_BATCH = 2,
    LT_SPLIT_FROM = 1,
    LT_SPLIT_ALONE = 1,
    LT_ENDS_FEW = 2,
    LT_WAIT_LISTS_AFTER = 1,
    LT_FENCED_ENTRIES = 2,
    LT_SLOW_NS = 0,
    LT_LATE_US = 1,
    LT_STEAL_AFTER_US = 0,
    LT_STEAL_PAUSES = 1,
    LT_LOOKS_APART = 2,
#else
    LT_LOCAL_QUEUE_SIZE =
        2048,               /* unstarted tasks a worker holds before they overflow; power of two */
    LT_STACK_MAGAZINE = 64, /* warm stacks a worker keeps to itself */
    LT_STACK_TOGETHER = 16, /* others that it gives back at a time */
    LT_STACK_CHUNK = 64,    /* stacks given guards at a time, */
    LT_STACK_REGION = 1024, /* as many of these mapped at a time, at the most, */
    LT_STACK_AHEAD = 32,    /* and stacks taken from the pool at a time, when many are wanted */
    LT_CREDIT_BATCH = 64,   /* rights to a stack that a worker fetches at a time */
    LT_TASK_SLAB = 64,      /* task descriptors allocated at a time, */
    LT_TASK_SLAB_MOST = 65536, /* and where there are many already */
    LT_TASK_MAGAZINE = 256,    /* free descriptors a worker keeps to itself */
    LT_DIRECT_SWITCHES =
        16, /* from task to task, or runs of blocks, before the worker looks at mail, nudges and timers */
    LT_OP_BUDGET = 256, /* channel operations that found a partner, before a forced yield */
    LT_TICK_SHIFT = 10, /* the timer wheel's tick: 2^10 ns, about a microsecond */
    LT_CHAIN_SCAN = 64, /* timers looked at for the exact next deadline before a sleep */
    LT_SPILL_TURN =
        61, /* starts between two that look at the put into the global queue tasks first */
    LT_BIAS_AFTER = 64,   /* times in a row that somebody takes a lock before it is biased */
    LT_BIAS_TRIALS = 64,  /* locks, all told, whose bias is taken back before that counts */
    LT_SIM_ROOM = 64,     /* parties among which a seeded world can choose without more memory */
    LT_NUMBER_BATCH = 32, /* numbers for tasks, scopes and channels a thread takes at a time */
    LT_SPLIT_FROM = 64,   /* items a channel holds for which two ends pay: see chan/split.h */
    LT_SPLIT_ALONE = 0,   /* also with one processor */
    LT_ENDS_FEW = 32,     /* items at most that are not worth going for, if more are coming */
    LT_WAIT_LISTS_AFTER =
        16,            /* times that another worker's come to a scope: see scope/wait_list.h */
    LT_SLOW_NS = 1000, /* a turn that takes so long makes others worth taking from behind it */
    LT_STEAL_AFTER_US =
        10, /* how long a worker that runs dry waits to see whether another is slow, */
    LT_STEAL_PAUSES = 32, /* and the pauses between its looks for news */
    LT_LATE_US = 500,    /* a worker with work looks after one that has done nothing for so long, */
    LT_LOOKS_APART = 64, /* once in so many visits of its scheduler */
    LT_FENCED_ENTRIES =
        4096,            /* of an owner, without a visit, until it fences no more: base/owned.h */
    LT_IDLE_SPINS = 512, /* pauses, 10 to 40 ns each, before who has to wait sleeps */
#endif
    LT_OFFER_US = 50,        /* an only processor that was offered and was away longer than this */
    LT_OFFER_RESTS = 32,     /* is not offered for so many times as long, */
    LT_OFFER_REST_S = 10,    /* but at the most for this */
    LT_WATCH_FIRST_US = 50,  /* how long a task has waited before another worker may take it, */
    LT_WATCH_LAST_US = 1000, /* and the longest it waits when stealing has not paid lately */
    LT_TOLD_AT_ONCE =
        8, /* times that the watcher may be told of work in a row, beside one each such time */
    /* From one waking for a timer to the next; the kernel's own usual slack. */
    LT_NAP_LEAST_US = 50,
    LT_NAP_THICK = 16,        /* timers in that time, on one worker, from which on */
    LT_NAP_MOST_US = 400,     /* it wakes this seldom */
    LT_STOP_PATIENCE_MS = 20, /* leat_main waits so long for functions that are about to return */
    LT_POOL_IDLE_S = 10,      /* a pool thread without work ends after this long */
};

#endif
