/* stop.pml: leat_stop, against timers of no scope.
 *
 * Models stop_life, lt_runtime_hold and lt_runtime_release of sched/runtime.c, the counting in
 * sched/shared_timer.c (lt_shared_timer_set, lt_shared_timer_stop, fire_due,
 * lt_shared_timers_hold), and set_alone of time/timer.c. What is done under the lock of a worker's
 * shared timers is one step. Of a worker's timers, only the number that are set and the number that
 * hold the runtime are modelled; a timer may fire at any time. A timer's function may set a timer,
 * while only the first timer's count holds the runtime, or start an operation of no scope, which
 * holds it itself. Threads set timers with any worker, hold and release the runtime, and start
 * something that runs on a worker until it releases the runtime: an operation of no scope, or a
 * scope's task (whose scope's opener releases the runtime when it has ended). That may set a timer,
 * too. `Stops` stops timers. leat_stop is called at any moment, and once more when no other process
 * has anything to do.
 *
 * Proves:
 *  - when leat_stop has succeeded, no timer is set, no timer's function runs, nothing else runs on
 *    a worker, and no worker is notified of anything;
 *  - it succeeds when nothing holds the runtime any more, so every count returns to 0.
 *
 * Broken on purpose:
 *  NO_HELD         `life` does not record that the runtime was held meanwhile
 *  TIMERS_FIRST    the timers are looked at before `life` is read
 *  NO_COMPARE      `life` is set to 0, and not compared with what was read
 *  ONE_WORKER      the second worker's timers are not looked at
 *  COUNTED_OUT     a timer is counted out when it fires, not when its function has returned
 *  SET_ELSEWHERE   a timer's function sets a timer with the other worker
 *  SET_UNHELD      a thread sets a timer without holding the runtime
 *  TOLD_UNHELD     it releases the runtime before it has notified the worker
 *  STOP_UNCOUNTED  a timer that is stopped is not counted out */
#ifndef CALLS
#define CALLS 1 /* of each thread */
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef AGAIN
#define AGAIN 2 /* timers set on workers */
#endif
#define WORKERS 2

#define RUNNING 1
#define HOLD 2
#define HELD 32
#define HOLDS (HELD - HOLD)

short life = RUNNING;
byte set[WORKERS], holding[WORKERS]; /* timers */
byte ringing, work[WORKERS];
byte again = AGAIN, operations = 1;
bool stopped;

#define touch() assert(!stopped)

/* ---- holding ---- */

inline hold()
{
    atomic {
        held = life & RUNNING;
        if
#ifdef NO_HELD
        :: held -> life = life + HOLD
#else
        :: held -> life = life + HOLD + HELD
#endif
        :: else
        fi
    }
}

inline release() { atomic { touch(); life = life - HOLD } }

/* ---- timers ---- */

inline set_at(w) { atomic { touch(); set[w]++; holding[w]++ } }

/* By a function that runs on a worker. */
inline set_one()
{
    if
    :: true
#ifdef SET_ELSEWHERE
    :: atomic { again > 0 -> again-- } set_at(1 - self)
#else
    :: atomic { again > 0 -> again-- } set_at(self)
#endif
    fi
}

/* By a thread or a function that holds the runtime, which the worker releases afterwards. */
inline start(w) { atomic { touch(); work[w]++ } }

proctype Worker(byte self)
{
    bool held;
end:
    do
    :: atomic {
            set[self] > 0 -> touch(); set[self]--; ringing++
#ifdef COUNTED_OUT
            ; holding[self]--
#endif
        }
        /* the function */
        if
        :: set_one()
        :: atomic { operations > 0 -> operations-- }
            hold();
            assert(held);
            if
            :: start(0)
            :: start(1)
            fi
        fi;
        atomic { touch(); ringing-- }
#ifndef COUNTED_OUT
        holding[self]--
#endif
    :: atomic { work[self] > 0 -> work[self]-- }
        set_one();
        release()
    od
}

/* ---- threads ---- */

inline tell() { touch() }

inline set_from_outside(w)
{
#ifdef SET_UNHELD
    release();
#endif
    set_at(w);
#ifdef TOLD_UNHELD
    release();
#endif
    tell();
#if !defined(SET_UNHELD) && !defined(TOLD_UNHELD)
    release()
#endif
}

proctype Thread()
{
    bool held;
    byte calls = CALLS;
    do
    :: calls > 0 ->
        calls--;
        hold();
        if
        :: !held -> break
        :: held -> set_from_outside(0)
        :: held -> set_from_outside(1)
        :: held -> start(0)
        :: held -> start(1)
        :: held -> release()
        fi
    :: break
    od
}

/* leat_timer_stop, which needs nothing but the lock of the shared timers. */
inline take(w)
{
    atomic {
        set[w] > 0 -> set[w]--
#ifndef STOP_UNCOUNTED
        ; holding[w]--
#endif
    }
}

proctype Stops()
{
    do
    :: take(0)
    :: take(1)
    :: break
    od
}

/* ---- leat_stop ---- */

inline look_at_timers()
{
    any = holding[0] > 0;
#ifndef ONE_WORKER
    if
    :: !any -> any = holding[1] > 0
    :: else
    fi
#endif
}

inline exchange()
{
    atomic {
        if
#ifdef NO_COMPARE
        :: true ->
#else
        :: life == seen ->
#endif
            life = 0;
            stopped = true;
            assert(!set[0] && !set[1] && !ringing && !work[0] && !work[1])
        :: else
        fi
    }
}

inline stop_life()
{
    do
    ::
#ifdef TIMERS_FIRST
        look_at_timers();
#endif
        seen = life;
        if
        :: seen & HOLDS -> break
        :: else
        fi;
#ifndef TIMERS_FIRST
        look_at_timers();
#endif
        if
        :: any -> break
        :: else
        fi;
        exchange();
        if
        :: stopped -> break
        :: else
        fi
    od;
    seen = 0; any = false
}

active proctype Stop()
{
    short seen;
    bool any;
    if
    :: true
    :: stop_life()
    fi;
    if
    :: stopped
    :: else -> timeout -> stop_life(); assert(stopped)
    fi
}

init {
    atomic {
        byte i;
        run Worker(0); run Worker(1); run Stops();
        for (i : 1 .. THREADS) { run Thread() }
    }
}
