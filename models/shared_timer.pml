/* shared_timer.pml: a worker's shared timers, and the anchor that stands for the earliest.
 *
 * Models sched/shared_timer.c, lt_worker_expect and the parts of the scheduler, lt_idle and the
 * watch that use them (lt_duties_see_to of sched/duties.c, rest and lt_idle_notify of sched/idle.c,
 * stand_in, lt_steal_saw_all and has_more of sched/steal.c). A task of the worker sets timer 0, and
 * may stop others. A thread that is no worker sets timer 1. Deadlines are 1 or 2. Time goes on to
 * LAST at any time, or stays where it is. A thief may take the worker's job when that is queued,
 * and does for the worker what is due while this is outside and awake. Else the thief rests until
 * the time at which a timer seems due, or until it is notified.
 *
 *  - With SLOW the function of timer 0 returns only when timer 1 has fired, or will not be due.
 *  - With COMPUTES the task goes on for ever.
 *  - With STOPS=0 or 1 a thread stops that timer, at any time when it is set.
 *
 * Proves:
 *  - each timer fires once, or is stopped, never both;
 *  - each fires when its time has come: if time stays where it is, no timer is left that is due;
 *  - the job is in one queue at a time.
 *
 * Broken on purpose:
 *  CLEARED_LATE    the worker takes note that the anchor has moved after it has read `next`
 *  NEWS_UNSEEN     it does not look whether the anchor has moved before it sleeps
 *  CALLED_LATE     the job may be queued again only when it has ended
 *  UNCLAIMED       the job is queued though it is queued
 *  DUE_LEFT        the job does not look whether it has left timers that are due
 *  UNTOLD          a thread that sets an earlier timer queues no job
 * with LAST=2:
 *  NEXT_STAYS      the job leaves `next` as it is
 * with SLOW:
 *  HOME_ASLEEP     a thief does not wake the worker whose job it runs
 *  NO_HELP         the job calls for no help though several timers are due
 *  HELP_FORGOTTEN  a worker that has stopped timers forgets that the job has called for help
 * with COMPUTES:
 *  MOVED_UNSEEN    a thief rests though the anchor has to be moved: `next_timer` may be late then
 * with STOPS=0:
 *  HOME_UNCHECKED  a stop does not look again under the lock where the timer is
 *  HOME_LATE       a timer counts as set until its function has returned */
#define TIMERS 2
#ifndef LAST
#define LAST 1
#endif
#define NEVER 3
#ifndef FIRED_A_TURN
#define FIRED_A_TURN 1
#endif

mtype = { UNSET, SET, DUE, FIRES, FIRED, STOPPED };
mtype = { NOWHERE, INBOX, READY, TAKEN }; /* the job: taken: in the thief's list */
mtype = { WORKER, THIEF };

byte now;
bool time_stays;

/* Under the lock; what is done under it is one step, where nothing else reads its results. */
bool locked, called;
byte next = NEVER, deadline[TIMERS];
mtype timer[TIMERS] = UNSET;

bool moved, stopped;
byte anchor = NEVER, next_timer = NEVER;
mtype job = NOWHERE;

/* The worker's, and the thief's. */
bool inside, asleep, unwatched;
byte to_set = TIMERS;

#define is_due(i) (timer[i] == DUE)
#define several_due (is_due(0) && is_due(1))
#define any_due (is_due(0) || is_due(1))
/* In one step. */
inline find_first()
{
    time = NEVER;
    if
    :: timer[0] == SET -> time = deadline[0]
    :: else
    fi;
    if
    :: timer[1] == SET && deadline[1] < time -> time = deadline[1]
    :: else
    fi
}

inline wake_home() { asleep = false }

inline notify() { unwatched = false }

/* Others may change the word between the two steps. */
inline expect(then)
{
    seen = next_timer;
    atomic {
        if
        :: then < seen -> next_timer = then; notify()
        :: else
        fi;
        seen = 0
    }
}

/* In one step. */
inline queue_job(where)
{
    assert(job == NOWHERE);
    job = where;
    notify()
}

#ifdef UNCLAIMED
#define claimable true
#else
#define claimable (!called)
#endif

/* ---- the anchor: inside ---- */

inline update_anchor(look)
{
#ifdef CLEARED_LATE
    atomic {
        !locked ->
#else
    moved = false;
    atomic {
        !locked ->
#endif
        if
#ifdef HELP_FORGOTTEN
        :: look -> find_first(); next = time
#else
        :: look && !any_due -> find_first(); next = time
#endif
        :: else
        fi;
        time = next
    }
#ifdef CLEARED_LATE
    moved = false;
#endif
    anchor = time;
    expect(time)
}

inline fire_anchor(where)
{
    if
    :: atomic {
            anchor <= now && !locked ->
            anchor = NEVER;
            first = claimable;
            called = true;
            if
            :: first -> queue_job(where)
            :: else
            fi;
            first = false
        }
    :: anchor > now
    fi
}

/* ---- the job ---- */

/* With the lock held. */
inline set_next()
{
    next = time;
    if
    :: next != NEVER -> moved = true; expect(next)
    :: else
    fi;
    time = 0
}

inline advance()
{
    if :: timer[0] == SET && deadline[0] <= now -> timer[0] = DUE :: else fi;
    if :: timer[1] == SET && deadline[1] <= now -> timer[1] = DUE :: else fi
}

/* Of the timer `taken`. */
inline fire()
{
#ifdef SLOW
    if
    :: taken == 0 -> timer[1] == FIRED || (time_stays && deadline[1] > now)
    :: else
    fi;
#endif
    atomic {
        assert(timer[taken] == FIRES);
        timer[taken] = FIRED
    }
}

inline fire_due(where)
{
    atomic {
        !locked -> locked = true;
#ifndef CALLED_LATE
        called = false;
#endif
        advance();
        several = several_due;
        find_first();
#ifndef NO_HELP
        if
        :: several -> time = now
        :: else
        fi
#endif
    }
#ifndef NEXT_STAYS
    set_next();
#endif
    turns = FIRED_A_TURN;
    do
    :: turns > 0 && any_due ->
        turns--;
        atomic {
            if
            :: is_due(0) -> taken = 0
            :: else -> taken = 1
            fi;
            timer[taken] = FIRES;
            locked = false
        }
#ifndef HOME_ASLEEP
        if
        :: me == THIEF -> wake_home()
        :: me == WORKER
        fi;
#endif
        fire();
        atomic { !locked -> locked = true; taken = 0 }
    :: else -> break
    od;
    turns = 0;
#ifdef CALLED_LATE
    called = false;
#endif
#ifndef DUE_LEFT
    atomic {
        first = any_due && claimable;
        called = called || first
    }
#endif
#if !defined(NEXT_STAYS) && !defined(NO_HELP)
    if
    :: atomic { several -> find_first() } set_next()
    :: else
    fi;
#endif
    atomic { locked = false; several = false }
    atomic {
        if
        :: first -> queue_job(where)
        :: else
        fi;
        first = false
#ifndef HOME_ASLEEP
        ;
        if
        :: me == THIEF -> wake_home()
        :: else
        fi
#endif
    }
}

/* ---- the worker ---- */

/* A task of the worker sets timer 0. It may stop others. */
inline run_task()
{
    atomic {
        !locked ->
        if
        :: time = 1
        :: time = 2
        fi;
        locked = true;
        timer[0] = SET;
        deadline[0] = time
    }
    if
    :: time < next ->
        next = time;
        moved = true;
        expect(time)
    :: else
    fi;
    atomic {
        locked = false;
        time = 0;
        to_set--;
        if
        :: true
        :: stopped = true
        fi
    }
}

inline idle()
{
    atomic { look = stopped; stopped = false }
    if
    :: look || moved -> update_anchor(look)
    :: else
    fi;
    atomic { look = false; time = 0; next_timer = anchor }
    asleep = true;
    if
#ifndef NEWS_UNSEEN
    :: moved || job == INBOX
#else
    :: job == INBOX
#endif
    :: else ->
end_sleeps:
        !asleep || anchor <= now || !has_run
    fi;
    atomic { asleep = false; inside = false }
}

proctype Worker()
{
    mtype me = WORKER;
    byte seen, time, taken, turns;
    bool first, several, look, has_run;
    do
    :: atomic {
            !inside -> inside = true; notify();
            if
            :: job == INBOX -> job = READY
            :: else
            fi
        }
        if
        :: moved -> update_anchor(false)
        :: else
        fi;
        fire_anchor(READY);
        atomic {
            time = 0;
            if
            :: next_timer <= now -> next_timer = anchor
            :: else
            fi
        }
        if
        :: atomic { job == READY -> job = NOWHERE; inside = false } fire_due(READY)
        :: atomic { !has_run -> has_run = true; inside = false }
            run_task()
#ifdef COMPUTES
            ;
            break
#endif
        :: job != READY -> idle()
        fi
    od
#ifdef COMPUTES
    ;
end:
    false
#endif
}

/* ---- the thief ---- */

#define has_more (moved || next_timer <= now || job == INBOX)

inline stand_in()
{
    next_timer = NEVER;
    if
    :: moved -> update_anchor(false)
    :: else
    fi;
    fire_anchor(TAKEN);
    expect(anchor);
    atomic {
        if
        :: job == INBOX -> job = TAKEN
        :: else
        fi;
        inside = false;
        time = 0
    }
}

#ifdef MOVED_UNSEEN
#define saw_all (asleep || !inside)
#else
#define saw_all (asleep || (!inside && !moved))
#endif

/* While the worker sleeps with a timer that is overdue, the thief finds nothing to do. */
inline rest()
{
    unwatched = true;
    if
    :: saw_all && job != READY && job != INBOX ->
        atomic {
            until = next_timer;
            if
            :: until <= now && asleep -> until = NEVER
            :: else
            fi
        }
end_rests:
        !unwatched || until <= now
    :: else
    fi;
    atomic { unwatched = false; until = 0 }
}

proctype Thief()
{
    mtype me = THIEF;
    byte seen, time, taken, turns, until;
    bool first, several;
    do
    :: atomic { job == TAKEN -> job = NOWHERE } fire_due(TAKEN)
    :: atomic { job == READY && !inside -> job = TAKEN }
    :: atomic { !inside && !asleep && has_more -> inside = true } stand_in()
    :: else -> rest()
    od
}

/* ---- the others ---- */

proctype Outside()
{
    byte time;
    bool first;
    atomic {
        !locked ->
        if
        :: time = 1
        :: time = 2
        fi;
        timer[1] = SET;
        deadline[1] = time;
        if
        :: time < next ->
            next = time;
#ifndef UNTOLD
            first = claimable;
            called = true
#endif
        :: else
        fi
    }
    atomic {
        if
        :: first -> queue_job(INBOX)
        :: else
        fi;
        time = 0
    }
    if
    :: first -> wake_home()
    :: else
    fi;
    to_set--
}

#ifdef STOPS
#ifdef HOME_LATE
#define is_set(i) (timer[i] == SET || timer[i] == DUE || timer[i] == FIRES)
#else
#define is_set(i) (timer[i] == SET || timer[i] == DUE)
#endif

proctype Stopper(byte i)
{
end:
    is_set(i);
    atomic {
        !locked ->
        if
#ifdef HOME_UNCHECKED
        :: true -> timer[i] = STOPPED
#else
        :: is_set(i) -> timer[i] = STOPPED
        :: else
#endif
        fi
    }
}
#endif

proctype Clock()
{
    do
    :: now < LAST -> now++
    :: break
    od;
    time_stays = true
}

#define has_ended(i) (timer[i] == FIRED || timer[i] == STOPPED || deadline[i] > now)

init
{
    atomic {
        run Worker();
        run Thief();
        run Outside();
#ifdef STOPS
        run Stopper(STOPS);
#endif
        run Clock()
    }
    to_set == 0 && time_stays;
    has_ended(0);
    has_ended(1)
}
