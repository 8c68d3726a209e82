/* wait.pml: the three ways a wait of a task or a thread ends: a partner, the deadline, the scope.
 *
 * Models scope/wait.h and wait.c, lt_fast_wait of chan/operate.h, withdraw of chan/operate.c, the
 * withdraw of time/sleep.c, which always succeeds, lt_ready of sched/current.h and party.c,
 * lt_scope_enlist and lt_scope_delist of scope/scope.c, lt_scope_task_ended of scope/go.c, and
 * nudge_tasks, lt_scope_look and nudge_threads of scope/cancel.c; with THREAD also join_scope and
 * leave_scope of scope/blocking.c. One party waits WAITS times, each time in a channel's queue or
 * in a sleep, with a deadline or without, and then ends. A partner comes as often, at any time, or
 * never. The party's scope is always cancelled, at any time.
 *
 *  - The party is a task: it and its home worker run in turns. A partner's wake-up comes to the
 *    home's inbox, the canceller's nudge to its list of nudges (inbox.pml models both), the
 *    deadline is its timer.
 *  - With THREAD it is a thread of leat_go_blocking: it sleeps on its word.
 *
 * Proves:
 *  - exactly one of the three ends a wait: the party is made ready once, while it waits, or it
 *    withdrew;
 *  - after the cancel the party ends: no cancel and no wake-up is lost;
 *  - a wait and its waiter are not touched after the operation has returned, nor is the party after
 *    its end.
 *
 * Broken on purpose, for a task:
 *  NO_RECHECK         after it has enlisted for its first wait, it does not check again whether it
 *                     is cancelled
 *  MARKED_LATE        the task is nudged before the scope is marked
 *  LOOK_ANYWHERE      the canceller ends the wait itself, instead of leaving that to the home
 *  NO_OVER            a wait that was withdrawn is withdrawn again (a sleep always can be)
 *  TIMER_LEFT         the timer stays armed after the wait
 *  NUDGE_LEFT         the task ends though it may be in the list of nudges
 * for a thread:
 *  LOOK_THEN_CLEAR    the nudge is cleared after the check for what it is about
 *  NO_EXCHANGE        the last wait's WOKEN is left in the word
 *  EXCHANGE_LATE      it is cleared when the waiter is in its queue already
 *  NO_VALUE_CHECK     a futex that sleeps whatever the word is
 *  ASLEEP_LATE        it sleeps before it has said so
 *  NO_PINNED          the thread leaves its scope without waiting for the canceller
 * for both:
 *  WITHDRAW_UNASKED   the home ends the wait though the waiter is off its queue
 *  READY_THEN_UNLINK  the partner makes the party ready first, and unlinks it then */
#ifndef WAITS
#define WAITS 3
#endif

mtype = { OK, ETIMEDOUT, ECANCELED };

/* The channel, and the scope. */
bool channel_locked, queued;
bool scope_locked, cancelled, listed;

/* The wait; `alive`: its memory is valid. */
bool alive, sleeping, has_deadline, over;
mtype result, status;

/* The party. */
bool gone;
bool waits, readied; /* for the assertions */

inline lock(l) { atomic { !l -> l = true } }
inline unlock(l) { l = false }

#ifdef THREAD
bool woken, nudged, asleep; /* the word */
bool in_futex, pinned;
#else
byte inbox, ready_queue; /* how often the task is in each */
bool nudged;             /* the task is in the home's list of nudges */
bool enlisted, task_runs = true, wait_known, timer;
#endif

inline may_be_ready()
{
    assert(waits && !readied && !gone);
    readied = true
}

/* From another thread. */
inline ready()
{
#ifdef THREAD
    bool wakes;
    atomic { may_be_ready(); woken = true; wakes = asleep }
    if
    :: wakes -> in_futex = false /* the call takes only an address: the thread may be gone */
    :: else
    fi
#else
    atomic { may_be_ready(); inbox++ }
#endif
}

/* ---- ending a wait at home ---- */

inline withdraw()
{
    assert(alive);
    if
    :: sleeping -> ended = true
    :: else ->
        lock(channel_locked);
        ended = queued;
        queued = false;
        unlock(channel_locked);
#ifdef WITHDRAW_UNASKED
        ended = true
#endif
    fi
}

inline wait_end(error) /* lt_wait_end; its answer is `ended` */
{
    assert(alive);
    if
#ifndef NO_OVER
    :: over -> ended = false
#endif
    :: else ->
        withdraw();
        if
        :: ended -> atomic { over = true; result = error }
        :: else
        fi
    fi
}

/* ---- the party ---- */

inline begin()
{
    atomic {
        alive = true; waits = true; readied = false;
        over = false; result = OK; status = 0;
        if
        :: sleeping = true
        :: sleeping = false
        fi;
        if
        :: has_deadline = true
        :: has_deadline = false
        fi
    }
}

inline enqueue()
{
    if
    :: sleeping
    :: else ->
        lock(channel_locked);
        queued = true;
        unlock(channel_locked)
    fi
}

/* The operation returns. */
inline end()
{
    atomic {
        assert(!queued);
        assert(readied || over);
        if
        :: result == OK -> assert(!sleeping && status == OK)
        :: else -> assert(sleeping || status == 0)
        fi;
        alive = false; waits = false; readied = false;
        done = (result == ECANCELED);
        result = 0; status = 0; over = false; sleeping = false; has_deadline = false
    }
}

#ifdef THREAD

inline clear_word() { atomic { woken = false; nudged = false; asleep = false } }

inline park()
{
    do
    ::
#ifdef LOOK_THEN_CLEAR
        error = OK;
        if
        :: cancelled -> error = ECANCELED
        :: else
        fi;
#endif
        atomic { was_woken = woken; nudged = false; asleep = false }
        if
        :: was_woken -> break
        :: else
        fi;
#ifndef LOOK_THEN_CLEAR
        error = OK;
        if
        :: over
        :: !over && cancelled -> error = ECANCELED
        :: !over && !cancelled
        fi;
#endif
        if
        :: error == OK && !over && has_deadline -> error = ETIMEDOUT /* the clock, or not yet */
        :: true
        fi;
        if
        :: error != OK && !over ->
            wait_end(error);
            if
            :: ended -> break
            :: else -> over = true /* here: it waits for its partner's wake-up alone */
            fi
        :: else
        fi;
#ifdef ASLEEP_LATE
        atomic {
            if
            :: !woken && !nudged -> in_futex = true
            :: else
            fi
        }
        if
        :: in_futex -> asleep = true
        :: else
        fi;
#else
        atomic {
            if
            :: !woken && !nudged -> asleep = true
            :: else
            fi
        }
        atomic {
            if
#ifdef NO_VALUE_CHECK
            :: asleep -> in_futex = true
#else
            :: asleep && !woken && !nudged -> in_futex = true
#endif
            :: else
            fi
        }
#endif
        if
        :: !in_futex
        :: in_futex && has_deadline && !over -> in_futex = false
        fi
    od;
    atomic { was_woken = false; ended = false; error = 0 }
}

active proctype Thread()
{
    byte n;
    bool done, was_woken, ended;
    mtype error;
    lock(scope_locked);
    listed = true;
    unlock(scope_locked);
    do
    :: n < WAITS && !done ->
        n++;
        if
        :: cancelled -> break
        :: else
        fi;
#if !defined(NO_EXCHANGE) && !defined(EXCHANGE_LATE)
        clear_word();
#endif
        begin();
        enqueue();
#ifdef EXCHANGE_LATE
        clear_word();
#endif
        park();
        end()
    :: else -> break
    od;
    lock(scope_locked);
    listed = false;
    unlock(scope_locked);
#ifndef NO_PINNED
    !pinned;
#endif
    gone = true
}

#else

inline park()
{
    atomic { timer = has_deadline; wait_known = true }
    task_runs = false;
    task_runs;
    wait_known = false;
#ifndef TIMER_LEFT
    timer = false
#endif
}

inline enlist(is)
{
    lock(scope_locked);
    listed = is;
    unlock(scope_locked)
}


active proctype Task()
{
    byte n;
    bool done;
    do
    :: n < WAITS && !done ->
        n++;
again:
        if
        :: cancelled -> break
        :: else
        fi;
        if
        :: !enlisted ->
            enlist(true);
            enlisted = true;
#ifndef NO_RECHECK
            goto again
#endif
        :: else
        fi;
        begin();
        enqueue();
        park();
        end()
    :: else -> break
    od;
    enlist(false);
#ifndef NUDGE_LEFT
    nudged = false; /* move.pml has what becomes of this nudge */
#endif
    atomic { gone = true; n = 0; done = false; task_runs = false }
}

inline ready_at_home()
{
    atomic { may_be_ready(); ready_queue++ }
}

inline look() /* lt_scope_look */
{
    assert(!gone);
    if
    :: wait_known && cancelled -> wait_end(ECANCELED)
    :: else
    fi;
    if
    :: ended -> ready_at_home(); ended = false
    :: else
    fi
}

/* The worker's scheduler: it runs while its task does not. */
active proctype Home()
{
    bool ended, claimed, partner_here = true;
end_home:
    do
    :: !task_runs && inbox > 0 -> atomic { inbox--; ready_queue++ }
    :: !task_runs && nudged -> nudged = false; look()
    :: !task_runs && timer ->
        timer = false;
        wait_end(ETIMEDOUT);
        if
        :: ended -> ready_at_home(); ended = false
        :: else
        fi
    :: !task_runs && ready_queue > 0 -> atomic { ready_queue--; assert(!gone); task_runs = true }
    :: !task_runs && partner_here -> /* another task of this worker is a partner, too */
        partner_here = false;
        lock(channel_locked);
        claimed = queued;
        if
        :: claimed -> queued = false; assert(alive); status = OK
        :: else
        fi;
        unlock(channel_locked);
        if
        :: claimed -> claimed = false; ready_at_home()
        :: else
        fi
    od
}

#endif

/* ---- the partner and the canceller ---- */

active proctype Partner()
{
    byte n;
    bool claimed;
    do
    :: n < WAITS ->
        n++;
        lock(channel_locked);
        claimed = queued;
        if
        :: claimed ->
#ifdef READY_THEN_UNLINK
            ready();
#endif
            queued = false;
            assert(alive);
            status = OK;
            unlock(channel_locked);
#ifndef READY_THEN_UNLINK
            ready();
#endif
            claimed = false
        :: else -> unlock(channel_locked)
        fi
    :: true -> break
    od
}

active proctype Canceller()
{
    bool ended, here;
#ifndef MARKED_LATE
    lock(scope_locked);
    cancelled = true;
    unlock(scope_locked);
#endif
    lock(scope_locked);
#ifdef THREAD
    here = listed;
    pinned = listed;
    unlock(scope_locked);
    if
    :: here ->
        atomic { assert(!gone); nudged = true; ended = asleep }
        if
        :: ended -> in_futex = false
        :: else
        fi;
        atomic { assert(!gone); pinned = false }
    :: else
    fi
#else
#ifdef LOOK_ANYWHERE
    here = listed;
    unlock(scope_locked);
    if
    :: here -> look()
    :: else
    fi
#else
    if
    :: listed -> nudged = true
    :: else
    fi;
    unlock(scope_locked)
#endif
#endif
#ifdef MARKED_LATE
    ;
    lock(scope_locked);
    cancelled = true;
    unlock(scope_locked)
#endif
}
