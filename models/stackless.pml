/* stackless.pml: the three ways a wait ends, for a stackless party: a block or a callback.
 *
 * Models lt_machine_operate, lt_machine_end, wait_for_nothing, lt_machine_settle, set_alarm,
 * clear_alarm and alarm_rang of block/machine.c, lt_claim_open and lt_claim_recheck of
 * scope/wait.h, lt_claim of sched/party.h, lt_chan_claim_first of chan/now.h, end_stackless of
 * scope/cancel.c, and lt_scope_enlist_stackless and lt_scope_delist_stackless of scope/scope.c. A
 * machine waits WAITS times, in a channel's queue or in a select without cases, with an alarm or
 * without, and is then gone. Each stretch from a wake-up to the next wait is a process, so the next
 * one may begin, on another worker, before the last has returned from parking. The worker of an
 * alarm (`home`) does one thing at a time: it parks the machine, runs it, or lets the alarm ring. A
 * partner comes as often as the machine waits, or less. The scope is always cancelled, at any
 * time.
 *
 * Proves:
 *  - exactly one process claims a wait and makes the machine ready, once;
 *  - after the cancel the machine ends: no cancel is lost between its look and its parking;
 *  - the machine is not touched once it is gone, and its waiter is in no queue then;
 *  - the alarm is touched on its own worker only, and is not set when it is not wanted.
 *
 * Broken on purpose:
 *  NO_RECHECK            once claimable, the machine does not check again whether it is cancelled
 *  RECHECK_FIRST         it checks before it is claimable (what less than seq_cst would allow)
 *  MARKED_LATE           the canceller claims first and marks then
 *  ENQUEUE_UNLOCKED      the lock is released before the waiter is in the queue
 *  NO_CLAIM              a partner takes the waiter off the queue without winning the claim
 *  SETTLE_WITHOUT_LOCK   withdrawn and off the queue already, the machine does not take the lock
 *  NOTHING_UNLOCKED      to wait for nothing, the machine does not take the scope's lock
 *  GOES_ON_ANYWHERE      with an alarm set, the machine runs on any worker
 *  ALARM_LEFT            the alarm stays set */
#ifndef WAITS
#define WAITS 3
#endif

mtype = { UNDECIDED, OK, ETIMEDOUT, ECANCELED };

bool channel_locked, queued;
bool scope_locked, cancelled, listed;
bool home; /* the alarm's worker is at work */

/* The machine. */
bool unclaimed, withdrawn, on_channel, alarm; /* alarm: set, and the machine bound to that worker */
mtype status = OK;
byte waits;
bool gone;
bool parked, readied; /* for the assertions */

inline lock(l) { atomic { !l -> l = true } }
inline unlock(l) { l = false }

inline claim() /* its answer is `claimed` */
{
    atomic {
        assert(!gone);
        claimed = unclaimed;
        unclaimed = false
    }
}

inline ready()
{
    atomic {
        assert(!gone && parked && !readied && status != UNDECIDED);
        readied = true;
        run Machine()
    }
}

inline end_wait(reason) /* lt_machine_end */
{
    claim();
    if
    :: claimed -> atomic { assert(!gone); withdrawn = true; status = reason }
    :: else
    fi
}

inline set_alarm()
{
    if
    :: atomic { !home -> home = true; alarm = true; at_home = true }
    :: true
    fi
}

inline clear_alarm()
{
    if
    :: alarm ->
        assert(at_home);
#ifndef ALARM_LEFT
        alarm = false
#endif
    :: else
    fi
}

inline leave_worker()
{
    if
    :: at_home -> atomic { home = false; at_home = false }
    :: else
    fi
}

inline settle()
{
    clear_alarm();
    if
#ifdef SETTLE_WITHOUT_LOCK
    :: withdrawn && !queued -> withdrawn = false
    :: withdrawn && queued && on_channel ->
#else
    :: withdrawn && !on_channel -> withdrawn = false
    :: withdrawn && on_channel ->
#endif
        lock(channel_locked);
        queued = false;
        unlock(channel_locked);
        withdrawn = false
    :: else
    fi;
    leave_worker();
    assert(!queued)
}

inline enlist(is)
{
    lock(scope_locked);
    listed = is;
    unlock(scope_locked)
}

inline go_away()
{
    enlist(false);
    atomic { assert(!gone && !queued && !unclaimed && !alarm); gone = true }
}

inline recheck()
{
    if
    :: cancelled -> claim()
    :: else
    fi
}

inline wait_for_nothing()
{
#ifndef NOTHING_UNLOCKED
    lock(scope_locked);
#endif
    if
    :: cancelled ->
#ifndef NOTHING_UNLOCKED
        unlock(scope_locked);
#endif
        go_away()
    :: else ->
        atomic { status = UNDECIDED; readied = false; on_channel = false; waits++ }
        set_alarm();
        atomic { assert(!gone); unclaimed = true; parked = true }
#ifndef NOTHING_UNLOCKED
        unlock(scope_locked);
#endif
        leave_worker()
    fi;
    goto over
}

inline wait()
{
    if
    :: !listed -> enlist(true)
    :: else
    fi;
    if
    :: cancelled -> go_away(); goto over
    :: else
    fi;
    if
    :: wait_for_nothing()
    :: true
    fi;
    lock(channel_locked);
    atomic { status = UNDECIDED; readied = false; on_channel = true; waits++ }
    set_alarm();
#ifdef RECHECK_FIRST
    claimed = cancelled;
    atomic { unclaimed = !claimed; parked = true }
#else
    atomic { unclaimed = true; parked = true } /* lt_claim_open */
#endif
#if !defined(NO_RECHECK) && !defined(RECHECK_FIRST)
    recheck();
#endif
#ifdef ENQUEUE_UNLOCKED
    unlock(channel_locked);
#endif
    if
    :: !claimed -> atomic { assert(!gone); queued = true }
    :: else
    fi;
#ifndef ENQUEUE_UNLOCKED
    atomic { assert(!gone); unlock(channel_locked) }
#endif
    if
    :: claimed ->
        parked = false;
        clear_alarm();
        leave_worker();
        go_away()
    :: else -> leave_worker() /* LT_WAITING: the machine must not be touched any more */
    fi
}

proctype Machine()
{
    bool claimed, at_home;
    if
#ifdef GOES_ON_ANYWHERE
    :: true
#else
    :: atomic { alarm && !home -> home = true; at_home = true }
    :: !alarm
#endif
    fi;
    assert(!gone && !unclaimed);
    atomic { parked = false; assert(status != UNDECIDED) }
    settle();
    if
    :: status != ECANCELED && waits < WAITS -> wait()
    :: else -> go_away()
    fi;
over:
    skip
}

active proctype Alarm()
{
    bool claimed;
end:
    do
    :: atomic { alarm && !home -> home = true }
        if
        :: alarm -> end_wait(ETIMEDOUT)
        :: else
        fi;
        if
        :: claimed -> claimed = false; ready()
        :: else
        fi;
        home = false;
        if
        :: alarm -> !alarm /* it rings once */
        :: else
        fi
    od
}

active proctype Partner()
{
    byte n;
    bool claimed;
    do
    :: n < WAITS ->
        n++;
        lock(channel_locked);
        if
        :: queued ->
            atomic { assert(!gone); queued = false }
#ifdef NO_CLAIM
            claimed = true;
            unclaimed = false;
#else
            claim();
#endif
            if
            :: claimed -> atomic { assert(!gone); status = OK }
            :: else
            fi
        :: else
        fi;
        unlock(channel_locked);
        if
        :: claimed -> claimed = false; ready()
        :: else
        fi
    :: true -> break
    od
}


active proctype Canceller()
{
    bool claimed;
#ifndef MARKED_LATE
    lock(scope_locked);
    cancelled = true;
    unlock(scope_locked);
#endif
    lock(scope_locked);
    if
    :: listed -> end_wait(ECANCELED)
    :: else
    fi;
    unlock(scope_locked);
    if
    :: claimed -> ready()
    :: else
    fi;
#ifdef MARKED_LATE
    lock(scope_locked);
    cancelled = true;
    unlock(scope_locked);
#endif
    gone /* or spin reports that it never is */
}

init { run Machine() }
