/* move.pml: a ready task moves to another worker.
 *
 * Models sched/steal.c (visit, stand_in, take_ready, move), sched/takeover.c, sched/host.c
 * (park, lt_host_resume, run, leave_for_good), lt_worker_look_at_nudges, lt_worker_drain and
 * lt_worker_post of sched/worker.c, lt_ready of sched/current.h and party.c, is_free,
 * lt_scope_task_ended and lt_scope_task_moves of scope/go.c, lt_wait_park_until of scope/wait.c,
 * and nudge_tasks and lt_scope_look of scope/cancel.c. A task whose home is worker 0 waits WAITS
 * times, each time in a channel's queue, with a deadline or without, and then ends. A partner comes
 * at any time, also before the task has left its stack, or not at all. The task's scope is always
 * cancelled, at any time; before that there may be a nudge without a cause. The partner may be a
 * function that a worker runs, and may then take the task over. Each of the two workers runs other
 * functions, OTHERS times, and visits the other worker, VISITS times. The lock of a worker's inside
 * is an ordinary one here, and a visitor only tries it: owned.pml models the real one.
 *
 * With SCOPE_TIMER the task has opened the scope itself, with a deadline that cancels it.
 *
 * Proves:
 *  - a task never runs on two workers at once, nor before it has left its stack, and only at home;
 *  - it is in at most one queue, and its nudge in at most one list;
 *  - no other process touches a task's wait while the task runs, after the wait, or after the
 *    task's end; a timer is taken out of the wheel that it is in, by a process inside that worker;
 *  - each wait is ended once;
 *  - no wake-up and no cancel is lost: in the end the task has ended;
 *  - the descriptor is given back once, when it is in no list, and is not touched afterwards.
 *
 * Broken on purpose:
 *  TAKES_RUNNING       a thief takes any task that is ready, also the running one
 *  TAKES_OVER_RUNNING  a waker takes over a task that has not left its stack
 *  VISITS_ANYWAY       a thief goes inside though the worker is inside
 *  SWITCH_OUTSIDE      a worker goes outside before the parking task has left its stack
 *  TIMER_LEFT          the timer of a wait that is over stays in the old wheel
 *  SCOPE_TIMER_LEFT    (SCOPE_TIMER) so does the timer of a scope that the task has opened
 *  HOME_LATE           the home changes after the thief has left the other worker
 *  HOME_LEFT           the home does not change
 *  HOME_FIRST          a partner reads the home before it has claimed the wait
 *  NUDGE_DROPPED       the nudge of a task that has moved away is dropped
 *  LOOKED_AT_AWAY      a nudged task is looked at though it has moved away
 *  LOOKED_AT_RUNNING   a thief looks at a nudged task that runs
 *  FREED_NUDGED        a task that ends gives its descriptor back though it may be nudged
 *  LEFT_NUDGED         the process that finds the nudge of an ended task does not give it back
 *  ENDED_UNSEEN        the process that finds it looks at the task as at any other
 *  FREE_THEN_DELIST    a task that ends looks for a nudge while cancellers can still find it */
#ifndef WAITS
#define WAITS 2
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
#ifndef VISITS
#define VISITS 1
#endif
#define NONE 2

mtype = { OK, ETIMEDOUT, ECANCELED };
mtype = { NOT_NUDGED, IS_NUDGED, ENDED_NUDGED };

/* Each worker's. */
bool begun;
bool own[2];     /* the owner or a visitor is inside */
bool running[2]; /* its `running` is the task */
bool inbox[2], ready[2], nudges[2]; /* the task is in there */

/* The task's. */
byte home = 0;
byte on = 0;               /* the worker whose thread is on its stack */
mtype nudged = NOT_NUDGED; /* of the descriptor */
bool listed, listed_lock, cancelled;
byte timer = NONE, scope_timer = NONE; /* the workers whose wheels they are in */
bool gone, freed;

/* Its wait; `alive`: the wait's memory is valid. */
bool alive, queued, known, over, has_deadline;
mtype result, status;
bool readied; /* for the assertions */

inline lock(l) { atomic { !l -> l = true } }
inline unlock(l) { l = false }

inline in_no_queue() { assert(!inbox[0] && !inbox[1] && !ready[0] && !ready[1]) }

/* ---- making it ready ---- */

inline may_be_ready() { assert(alive && !readied && !gone); readied = true }

inline post(to)
{
    atomic { in_no_queue(); inbox[to] = true }
}

inline append(to)
{
    atomic { assert(own[to]); in_no_queue(); ready[to] = true }
}

/* By a worker, inside `at`. */
inline make_ready(at)
{
    atomic {
        may_be_ready();
        if
        :: home == self -> append(self)
        :: home != self -> post(home)
        fi
    }
}

/* ---- ending its wait, inside `at` ---- */

inline wait_end(at, error)
{
    assert(own[at] && on == NONE && alive && !gone);
    if
    :: over
    :: else ->
        atomic { /* under the channel's lock */
            claimed = queued;
            queued = false;
            if
            :: claimed -> over = true; result = error
            :: else
            fi
        }
        if
        :: claimed -> claimed = false; make_ready(at)
        :: else
        fi
    fi
}

/* ---- nudges ---- */

inline push_nudge(to)
{
    atomic { assert(!freed && !nudges[0] && !nudges[1]); nudges[to] = true }
}

inline give_back()
{
    atomic {
        assert(!freed && gone && !nudges[0] && !nudges[1] && !listed);
        in_no_queue();
        freed = true
    }
}

inline look_at_nudges(at)
{
    atomic { nudges[at] -> nudges[at] = false }
    assert(!freed);
    if
#ifndef LOOKED_AT_RUNNING
    :: running[at] -> push_nudge(at) /* left for later */
#endif
#ifndef LOOKED_AT_AWAY
#ifdef NUDGE_DROPPED
    :: !running[at] && home != at
#else
    :: !running[at] && home != at -> push_nudge(home)
#endif
#endif
    :: else ->
        atomic { was = nudged; nudged = NOT_NUDGED }
        if
#ifndef ENDED_UNSEEN
        :: was == ENDED_NUDGED ->
#ifndef LEFT_NUDGED
            give_back()
#else
            skip
#endif
#endif
        :: else ->
#ifndef LOOKED_AT_RUNNING
            assert(on == NONE);
#endif
            assert(!gone);
            if
            :: known && cancelled -> wait_end(at, ECANCELED)
            :: else
            fi
        fi;
        was = 0
    fi
}

/* By a canceller, or where a timer fires. The scope cannot be closed meanwhile. */
inline nudge()
{
    lock(listed_lock);
    if
    :: listed ->
        assert(!freed);
        atomic { was = nudged; nudged = IS_NUDGED }
        if
        :: was == NOT_NUDGED -> to = home; push_nudge(to); to = 0
        :: else
        fi;
        was = 0
    :: else
    fi;
    unlock(listed_lock)
}

inline mark() { cancelled = true }

/* ---- the task ---- */

inline go_in() { lock(own[home]) }
inline go_out() { unlock(own[home]) }

inline park()
{
    if
    :: ready[home] -> ready[home] = false /* its turn has come already */
    :: true ->
#ifdef SWITCH_OUTSIDE
        atomic { running[home] = false; unlock(own[home]) }
        at = home;
        own[at] = true;
        on = NONE;
#else
        atomic { running[home] = false; on = NONE } /* it has left its stack */
#endif
        on != NONE
    fi
}

inline begin()
{
    atomic {
        alive = true; over = false; readied = false; result = OK; status = 0;
        if
        :: has_deadline = true
        :: has_deadline = false
        fi;
        queued = true /* under the channel's lock */
    }
}

inline wait()
{
    begin();
    if
    :: has_deadline -> go_in(); atomic { timer = home; known = true }
    :: else -> known = true; go_in()
    fi;
    park();
    assert(own[home] && running[home] && on == home);
    if
    :: has_deadline ->
        atomic { known = false; assert(timer == NONE || timer == home); timer = NONE }
        go_out()
    :: else -> go_out(); known = false
    fi;
    atomic {
        assert(!queued && readied && (over || status == OK));
        done = (result == ECANCELED);
        alive = false; over = false; readied = false; has_deadline = false; result = 0; status = 0
    }
}

inline list(is) { atomic { !listed_lock -> listed = is } }

inline ask_whether_free()
{
#ifdef FREED_NUDGED
    free = true
#else
    free = (nudged == NOT_NUDGED);
    if
    :: !free -> atomic { free = (nudged == NOT_NUDGED); nudged = ENDED_NUDGED }
    :: else
    fi
#endif
}

active proctype Task()
{
    byte n, at;
    bool done, free;
    list(true);
#ifdef SCOPE_TIMER
    go_in();
    scope_timer = home;
    go_out();
#endif
    do
    :: n < WAITS && !done && !cancelled -> n++; wait()
    :: else -> break
    od;
#ifdef SCOPE_TIMER
    go_in();
    atomic { assert(scope_timer == NONE || scope_timer == home); scope_timer = NONE }
    go_out();
#endif
#ifdef FREE_THEN_DELIST
    ask_whether_free();
    list(false);
#else
    list(false);
    ask_whether_free();
#endif
    gone = true;
    if
    :: free -> give_back()
    :: else
    fi;
    at = home; /* of the thread, not the task: that may be gone */
    lock(own[at]);
    atomic { n = 0; done = false; free = false; running[at] = false; on = NONE; at = 0 }
}

/* ---- workers: inside, except while they run a function ---- */

inline fire_timers(at)
{
    if
    :: timer == at -> timer = NONE; wait_end(at, ETIMEDOUT)
#ifdef SCOPE_TIMER
    :: scope_timer == at -> scope_timer = NONE; mark(); nudge()
#endif
    fi
}

inline drain(at)
{
    atomic { inbox[at] -> assert(own[at]); inbox[at] = false; ready[at] = true }
}

inline take_ready(from)
{
    ready[from] = false;
    assert(on != self);
#ifndef TAKES_RUNNING
    assert(on == NONE && !gone);
#endif
    assert(timer == NONE || timer == from);
#ifndef TIMER_LEFT
    timer = NONE;
#endif
#ifdef SCOPE_TIMER
    atomic {
        assert(scope_timer == NONE || scope_timer == from);
#ifndef SCOPE_TIMER_LEFT
        if
        :: scope_timer == from -> scope_timer = self
        :: else
        fi
#endif
    }
#endif
#ifndef HOME_LATE
#ifndef HOME_LEFT
    home = self;
#endif
#endif
    append(self)
}

/* By a thief, which does all of this or some. */
inline visit(other)
{
    atomic {
        visits = !own[other];
#ifdef VISITS_ANYWAY
        was_in = !visits;
        visits = true;
#endif
        own[other] = true
    }
    if
    :: visits ->
        do
        :: nudges[other] && !running[other] -> look_at_nudges(other)
        :: nudges[other] && running[other] -> look_at_nudges(other); break
        :: timer == other || scope_timer == other -> fire_timers(other)
        :: inbox[other] -> drain(other)
#ifdef TAKES_RUNNING
        :: ready[other] -> take_ready(other); moved = true
#else
        :: ready[other] && !running[other] -> take_ready(other); moved = true
#endif
        :: true -> break
        od;
#ifdef VISITS_ANYWAY
        if
        :: was_in
        :: else -> unlock(own[other])
        fi;
        was_in = false;
#else
        unlock(own[other]);
#endif
#ifdef HOME_LATE
        if
        :: moved -> home = self
        :: else
        fi;
#endif
        visits = false; moved = false
    :: else
    fi
}

proctype Worker(byte self)
{
    byte others = OTHERS, thefts = VISITS, to;
    mtype was;
    bool claimed, visits, moved;
#ifdef VISITS_ANYWAY
    bool was_in;
#endif
    do
    :: on != self && inbox[self] -> drain(self)
    :: on != self && nudges[self] -> look_at_nudges(self)
    :: on != self && (timer == self || scope_timer == self) -> fire_timers(self)
    :: on != self && ready[self] ->
        atomic {
            ready[self] = false;
            assert(on == NONE && !gone && home == self && own[self]);
            running[self] = true;
            on = self
        }
    :: on != self && others > 0 -> others--; unlock(own[self]); lock(own[self])
    :: on != self && thefts > 0 -> thefts--; visit(1 - self)
    :: timeout -> break
    od;
    assert(gone && freed && !nudges[self] && !inbox[self] && !ready[self]);
    assert(timer == NONE && own[self])
}

/* ---- the partner and the canceller ---- */

/* lt_takeover: the partner is a function that worker w runs. */
inline take_over(w)
{
    if
    :: to == w -> append(w); moved = true
    :: else ->
        atomic { visits = !own[to]; own[to] = true }
        if
        :: visits ->
            if
#ifdef TAKES_OVER_RUNNING
            :: true ->
#else
            :: !running[to] ->
#endif
                in_no_queue();
                assert(home == to);
#ifndef TAKES_OVER_RUNNING
                assert(on == NONE && !gone);
#endif
                assert(timer == NONE || timer == to);
                timer = NONE;
#ifdef SCOPE_TIMER
                if
                :: scope_timer == to -> scope_timer = w
                :: else
                fi;
#endif
                home = w;
                moved = true
#ifndef TAKES_OVER_RUNNING
            :: running[to]
#endif
            fi;
            unlock(own[to]);
            if
            :: moved -> append(w)
            :: else
            fi
        :: else
        fi;
        visits = false
    fi;
    unlock(own[w])
}

active proctype Partner()
{
    byte n, to;
    bool claimed, visits, moved;
    begun;
    do
    :: n < WAITS ->
        n++;
#ifdef HOME_FIRST
        to = home;
#endif
        atomic { /* under the channel's lock */
            claimed = queued;
            if
            :: claimed -> queued = false; assert(alive); status = OK
            :: else
            fi
        }
        if
        :: claimed ->
            atomic { claimed = false; may_be_ready() }
#ifndef HOME_FIRST
            to = home;
#endif
            if
            :: atomic { !own[1] -> own[1] = true } take_over(1)
            :: atomic { !own[0] -> own[0] = true } take_over(0)
            :: true
            fi;
            if
            :: !moved -> post(to)
            :: else
            fi;
            moved = false;
            to = 0
        :: else
        fi
    :: true -> break
    od;
    n = 0
}

#ifndef SCOPE_TIMER
active proctype Canceller()
{
    byte to;
    mtype was;
    if
    :: nudge()
    :: true
    fi;
    mark();
    nudge()
}
#endif

init {
    atomic {
        running[0] = true; /* and is outside */
        own[1] = true;
        run Worker(0);
        run Worker(1);
        begun = true
    }
}
