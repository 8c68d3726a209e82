/* reclaim.pml: what sleeping workers keep goes to a thread that finds memory short.
 *
 * Models sched/reclaim.c, lt_stack_credits_get and grow of arch/stack.c, the sleep in lt_idle of
 * sched/idle.c, take_new of sched/steal.c, and lt_worker_wake of sched/worker.c. There are
 * as many credits as WORKERS, no more, and at first the workers keep all. Each of the creators
 * wants one, and its task ends on a worker that is awake, which then keeps the credit. Workers fall
 * asleep when they like, and something else wakes them NEWS times. What is done under the pool's
 * lock is one step; memory is asked for without it. A creator tries as often as there are keepers,
 * as if its naps were long enough. The system never has more memory: were there some for another
 * thread, workers might keep again what they have.
 *
 * Proves:
 *  - when a creator fails, no worker sleeps that keeps a credit;
 *  - a creator that finds memory short has an answer in the end.
 *
 * Broken on purpose:
 *  ASKED_FIRST     a worker asks whether memory is short before it records what it keeps
 *  SHORT_LATE      a creator looks for keepers before it has said that memory is short
 *  RECORDED_LATE   a worker records what it keeps when it already seems asleep
 *  TRIED_ONCE      a creator wakes the keepers once, even if one has not been asleep by then
 *  LOOT_KEPT       a thief that finds nothing keeps the credit for it, and sleeps on */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CREATORS
#define CREATORS 2
#endif
#ifndef NEWS
#define NEWS 1
#endif

byte available, kept[WORKERS] = 1, recorded[WORKERS];
bool asleep[WORKERS];
bool is_short;
byte news = NEWS, tasks; /* tasks: those that have not ended */

inline give_back()
{
    atomic { available = available + kept[self]; kept[self] = 0 }
}

inline record() { recorded[self] = kept[self] }

inline settle()
{
#ifdef ASKED_FIRST
    found = is_short;
    record();
#else
    record();
    found = is_short;
#endif
    if
    :: found && kept[self] > 0 ->
        give_back();
        recorded[self] = 0
    :: else
    fi;
    found = false
}

proctype Worker(byte self)
{
    bool found;
awake:
    do
    :: atomic { tasks > 0 -> tasks--; kept[self]++ }
    :: true -> break
    od;
dry:
#ifdef RECORDED_LATE
    asleep[self] = true;
    settle();
#else
    settle();
    asleep[self] = true;
#endif
end:
    if
    :: !asleep[self] -> goto dry
    :: atomic { news > 0 -> news-- }
#ifdef LOOT_KEPT
    :: atomic { available > 0 -> available--; kept[self]++ } goto end
#endif
    fi;
    asleep[self] = false;
    recorded[self] = 0;
    goto awake
}

/* lt_stack_credits_get(1) */
inline get()
{
    if
    :: atomic { available > 0 -> available--; got = true }
    :: available == 0 ->
        atomic {
#ifndef SHORT_LATE
            is_short = true;
#endif
            if
            :: available > 0 -> available--; got = true
            :: else
            fi
        }
    fi
}

inline wake_keepers()
{
    any = false;
    w = 0;
    do
    :: w < WORKERS && recorded[w] > 0 -> any = true; asleep[w] = false; w++
    :: w < WORKERS && recorded[w] == 0 -> w++
    :: w == WORKERS -> w = 0; break
    od
}

/* lt_reclaim_get_one */
inline get_from_keepers()
{
    do
    :: true ->
        wake_keepers();
        get();
        if
        :: got || !any -> break
        :: else
        fi
#ifdef TRIED_ONCE
        ;
        break
#endif
    od
#ifdef SHORT_LATE
    ;
    is_short = true
#endif
}

inline fail()
{
    atomic {
        w = 0;
        do
        :: w < WORKERS -> assert(!asleep[w] || kept[w] == 0); w++
        :: w == WORKERS -> w = 0; break
        od
    }
}

proctype Creator()
{
    byte w;
    bool got, any;
    get();
    if
    :: !got -> get_from_keepers()
    :: else
    fi;
    if
    :: got -> tasks++
    :: else -> fail()
    fi
}

init
{
    byte p;
    atomic {
        do
        :: p < WORKERS -> run Worker(p); p++
        :: else -> break
        od;
        p = 0;
        do
        :: p < CREATORS -> run Creator(); p++
        :: else -> break
        od
    }
}
