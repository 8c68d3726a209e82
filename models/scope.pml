/* scope.pml: what a scope counts, who frees the scope, and who may still touch it.
 *
 * Models take, lt_scope_return_units, join, lt_scope_enter, lt_scope_leave, lt_scope_pin,
 * lt_scope_unpin, become_child, leave_parent, leat_scope_open and leat_scope_close of
 * scope/scope.c; lt_scope_cancel and mark_children of scope/cancel.c (the scopes that they touch
 * and count: wait.pml models what a cancel does to a wait); and scope/deadline.c with a scope that
 * a thread opened. Scope 0 has two tasks. One may fail, which cancels scope 0 and the scope inside.
 * The other opens scope 1 there, with a deadline or without, starts a task in it, which may start
 * another one, and closes the scope; these tasks may fail, too. Scope 1's deadline may pass at any
 * time, in the worker that has its timer and in its opener, which looks at it while it waits. With
 * OUTSIDE a process that belongs to neither scope cancels scope 1: until then, scope 1 stays only
 * because its task does not end before.
 *
 * The worker of scope 1's first task may count in advance: it takes one unit more than it needs,
 * keeps the unit of the task that has ended, runs the second task next, and then returns them all.
 *
 * A compare-and-swap loop on `live` is one step: the loser of a race begins again. A lock that
 * guards nothing but a touch is one step, too; the lock of scope 0 is held in full while its
 * children are marked.
 *
 * Proves:
 *  - the last one out wakes the opener, once for each of its waits, and only while it waits;
 *  - when a scope is freed only its opener is counted, and the scope is not touched afterwards;
 *  - all processes end.
 *
 * Broken on purpose:
 *  NO_PIN             a canceller does not pin the scopes it marks
 *  PIN_AFTER_UNLOCK   it pins a child after it has released the parent's lock
 *  PIN_AFTER_MARK     (OUTSIDE) it pins the scope it cancels after it has marked it
 *  UNPIN_EARLY        it unpins a scope before it has nudged all parties there
 *  ONE_JOIN           closing does not join again after it has left the parent
 *  LEAVE_LAST         closing leaves the parent after the second join
 *  DEADLINE_LAST      the deadline is cleared after the second join
 *  DEADLINE_UNPINNED  closing does not pin the scope for a timer that is being fired
 *  DEADLINE_LOOKS     the timer and the opener each look for the other before they leave
 *  JOINING_STAYS      the process that wakes the opener does not clear JOINING
 *  TAKE_IN_TWO_STEPS  a process subtracts, and then asks whether it was the last
 *  LEAVE_THEN_FAIL    a task that failed is counted out before it has cancelled its scope
 *  ENTER_LATE         a task is counted when it starts, not by the party that starts it
 *  KEPT               the worker turns to another party and does not return its units
 *  UNCOUNTED          a task is counted by a unit that the worker has returned */
#define OPENER 1
#define TASK 1
#define PIN 16
#define JOINING 128

byte live[2] = OPENER;
bool cancelled[2], freed[2];
bool locked;       /* scope 0's */
bool child_listed; /* scope 1 in scope 0 */

bool timer_set, timer_left; /* scope 1's shared timer */

bool waits[2], readied[2]; /* the openers */

#define touch(s) assert(!freed[s])

inline lock() { atomic { !locked -> locked = true; touch(0) } }
inline unlock() { atomic { touch(0); locked = false } }

/* Takes the scope's lock for a look at, or a change of, what it alone guards. */
inline visit(s)
{
    atomic { s == 1 || !locked; touch(s) }
}

/* ---- counting ---- */

inline ready(s)
{
    atomic { assert(waits[s] && !readied[s]); readied[s] = true }
}

inline enter(s)
{
    atomic { touch(s); live[s] = live[s] + TASK }
}

inline pin(s)
{
    atomic { touch(s); live[s] = live[s] + PIN }
}

inline take(s, units)
{
#ifdef TAKE_IN_TWO_STEPS
    atomic { touch(s); live[s] = live[s] - (units) }
#endif
    atomic {
        touch(s);
#ifndef TAKE_IN_TWO_STEPS
        live[s] = live[s] - (units);
#endif
        assert(live[s] & (PIN - 1));
        last = (live[s] == (JOINING | OPENER));
#ifndef JOINING_STAYS
        if
        :: last -> live[s] = OPENER
        :: else
        fi
#endif
    }
    if
    :: last -> ready(s); last = false
    :: else
    fi
}

inline unpin(s) { take(s, PIN) }

inline begin_join(s)
{
    atomic {
        touch(s);
        if
        :: live[s] == OPENER
        :: else -> live[s] = live[s] | JOINING; waits[s] = true
        fi
    }
}

inline free(s)
{
    atomic { assert(live[s] == OPENER && !freed[s]); freed[s] = true }
}

/* ---- cancelling ---- */

inline mark(s)
{
    atomic { first = !cancelled[s]; cancelled[s] = true }
}

/* After the scope and its children are marked. */
inline tell_all(s)
{
#ifdef UNPIN_EARLY
    unpin(s);
#endif
    visit(s); /* nudge_tasks */
    visit(s); /* nudge_threads, */
    touch(s); /* which asks for the opener when it has given up the lock, */
    visit(s); /* and end_stackless */
#if !defined(UNPIN_EARLY) && !defined(NO_PIN)
    unpin(s)
#endif
}

/* Pins it before the mark: after the mark its tasks end, and its opener frees it. */
inline pin_and_mark(s)
{
#ifdef PIN_AFTER_MARK
    atomic { visit(s); mark(s) }
    if
    :: first -> pin(s)
    :: else
    fi
#elif defined(NO_PIN)
    atomic { visit(s); mark(s) }
#else
    pin(s);
    atomic { visit(s); mark(s) }
    if
    :: first
    :: else -> unpin(s)
    fi
#endif
}

inline cancel_1()
{
    pin_and_mark(1);
    if
    :: first -> first = false; tell_all(1)
    :: else
    fi
}

inline pin_child()
{
    if
#ifndef NO_PIN
    :: first -> pin(1)
#endif
    :: else
    fi
}

inline cancel_0()
{
    pin_and_mark(0);
    if
    :: first ->
        first = false;
        lock();
        if
        :: child_listed ->
            atomic { visit(1); mark(1) }
#ifndef PIN_AFTER_UNLOCK
            pin_child()
#endif
        :: else
        fi;
        unlock();
#ifdef PIN_AFTER_UNLOCK
        pin_child();
#endif
        tell_all(0);
        if
        :: first -> first = false; tell_all(1)
        :: else
        fi
    :: else
    fi
}

/* ---- deadlines ---- */

/* The later of the timer and the opener gives the opener's pin back. */
inline leave_timer()
{
#ifdef DEADLINE_LOOKS
    atomic { touch(1); both = timer_left };
    atomic { touch(1); timer_left = true };
#elif !defined(DEADLINE_UNPINNED)
    atomic { touch(1); both = timer_left; timer_left = true };
#endif
    if
    :: both -> both = false; unpin(1)
    :: else
    fi
}

/* The worker that has scope 1's timer. To take the timer out of the wheel is the claim. */
active proctype Worker()
{
    bool first, last, both;
end:
    do
    :: atomic { timer_set -> timer_set = false };
        cancel_1();
        leave_timer()
    od
}

inline set_deadline()
{
    if
#ifndef OUTSIDE
    :: has_deadline = true; timer_set = true
#endif
    :: true
    fi
}

inline clear_deadline()
{
    if
    :: has_deadline ->
        atomic { stopped = timer_set; timer_set = false };
        if
        :: stopped
        :: else ->
#ifndef DEADLINE_UNPINNED
            pin(1);
#endif
            leave_timer()
        fi
    :: else
    fi
}

/* ---- tasks ---- */

bool second_runs;
byte passed; /* units that the first task's worker has left for it */

inline task_of_1_leaves(units)
{
    if
    :: true
#ifndef OUTSIDE
    :: true ->
#ifdef LEAVE_THEN_FAIL
        take(1, TASK);
#endif
        cancel_1();
#ifdef LEAVE_THEN_FAIL
        goto out
#endif
#endif
    fi;
#ifdef KEPT
    take(1, TASK)
#else
    take(1, units)
#endif
}

proctype Second()
{
    bool first, last;
    second_runs = true;
#ifdef ENTER_LATE
    enter(1);
#endif
    task_of_1_leaves(TASK + passed);
out:
    skip
}

#ifdef OUTSIDE
proctype Outsider()
{
    bool first, last;
    cancel_1()
}
#endif

proctype First()
{
    bool first, last, second;
    byte kept;
#ifdef ENTER_LATE
    enter(1);
#endif
    if
    :: true
    :: true ->
#ifndef ENTER_LATE
        enter(1);
#ifndef OUTSIDE
        if
        :: true
        :: enter(1); kept = TASK
        fi;
#endif
#endif
#ifdef UNCOUNTED
        take(1, TASK);
#endif
        second = true;
        run Second()
    fi;
#ifdef OUTSIDE
    run Outsider();
    cancelled[1];
#endif
    if
    :: atomic { second && !second_runs -> passed = kept + TASK } ->
        goto out /* the worker runs the second one next */
    :: true
    fi;
    task_of_1_leaves(TASK + kept);
out:
    skip
}

proctype Fails()
{
    bool first, last;
    if
    :: true
#ifndef OUTSIDE
    :: cancel_0()
#endif
    fi;
    take(0, TASK)
}

/* The opener of scope 1 waits, and checks the deadline as lt_deadline_attend does. */
inline join_1()
{
    begin_join(1);
    do
    :: !waits[1] -> break
    :: atomic { waits[1] && readied[1] -> waits[1] = false; readied[1] = false }
    :: waits[1] && has_deadline && !cancelled[1] -> cancel_1()
    od
}

inline join_0()
{
    begin_join(0);
    if
    :: waits[0] -> atomic { readied[0] -> waits[0] = false; readied[0] = false }
    :: else
    fi
}

inline leave_parent()
{
    lock();
    child_listed = false;
    unlock()
}

proctype Opens()
{
    bool first, last, has_deadline, stopped, both;
    /* open */
    set_deadline();
    lock();
    child_listed = true;
    first = cancelled[0];
    unlock();
    if
    :: first -> first = false; cancel_1()
    :: else
    fi;
    /* go */
#ifndef ENTER_LATE
    enter(1);
#endif
    run First();
    /* close */
    join_1();
#ifndef DEADLINE_LAST
    clear_deadline();
#endif
#ifndef LEAVE_LAST
    leave_parent();
#endif
#ifndef ONE_JOIN
    join_1();
#endif
#ifdef DEADLINE_LAST
    clear_deadline();
#endif
#ifdef LEAVE_LAST
    leave_parent();
#endif
    free(1);
    take(0, TASK)
}

active proctype Main()
{
    enter(0);
    run Fails();
    enter(0);
    run Opens();
    join_0();
    join_0();
    free(0)
}
