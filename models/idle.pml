/* idle.pml: workers without work: which sleep, which watches, which notify, which is woken.
 *
 * Models sched/idle.c and idle.h; visit, visit_awake, lt_steal_give, lt_steal_look,
 * lt_steal_saw_all and lt_look_after_others of sched/steal.c; lt_takeover_look of sched/takeover.c;
 * and lt_worker_notify, lt_worker_answer, lt_worker_expect, lt_worker_post, lt_worker_drain,
 * next_new and the loop of sched/worker.c and worker.h. inbox.pml models a whole post, owned.pml
 * the lock. All workers begin active, as leat_start leaves them. At any time a worker may be posted
 * a party that is ready (POSTS) or one that has not started (SENT), and a thread that is no worker
 * may put a task into the global queue (TO_GLOBAL). A function that a worker runs may make another
 * party ready (TASKS) or set a timer (TIMERS), and may never return: but on STUCK workers at most
 * (all but one, unless said otherwise). A worker may give its ready parties to another one that is
 * awake (GIVES). A party that a waker takes from a sleeper is one that its function makes ready.
 * The watcher's naps end at any time, and so does a sleep before a timer; any other sleep ends only
 * by a wake-up. A worker that hands on the watch may leave one that naps asleep; the code does so
 * only while all processors are in use. With WAKES_NEXT it never does. With LOOKOUT, a worker that
 * becomes active may call the lookout instead of handing on the watch or notifying. The time
 * between two looks of the lookout is arbitrary.
 *
 * To notify is to call lt_worker_notify, as a worker must while `unwatched` is set. What a worker
 * stores plainly before it reads `unwatched` may reach memory after that read (`early`); the
 * barrier waits until it has. Of the parties in a list, only their number is modelled. Of the
 * looks, only that a thief takes half from a worker whose function does not return, and may take
 * from others.
 *
 * Proves:
 *  - while a worker is idle there is a watcher, or all workers must notify; the list of sleepers
 *    holds the right ones;
 *  - when nothing moves any more, no party waits in a list, an inbox or a wheel of a worker that
 *    does not return, nor in the global queue, while another worker is idle (`Quiet`);
 *  - with LIVE, under weak fairness: no party waits for ever, though the watcher naps on.
 *
 * Broken on purpose:
 *  ROLE_BEFORE_ASLEEP  reads its role before it says that it sleeps: a worker that makes it the
 *                      watcher in between wakes no worker, and it sleeps without naps
 *  NEWS_BEFORE_ASLEEP  looks for news before it says that it sleeps
 *  CALL_THE_BUSY       the worker that lt_idle_call woke may have become active for another reason,
 *                      and does not notify that the global queue has tasks
 *  NOT_HANDED_ON       a watcher that becomes active does not hand on the watch
 *  LEFT_UNTOLD         a watcher leaves the others unwatched, and does not set `unwatched`
 *  NO_BARRIER          a watcher that rests makes no barrier before its last look
 *  NO_LAST_LOOK        it makes no last look
 *  ASKED_LAST          it looks, and sets `unwatched` afterwards
 *  MISSED_WHO_IS_INSIDE its last look ignores workers that are inside, in the middle of something
 *  GLOBAL_UNSEEN       its last look ignores what another thief has put into the global queue
 *  ALONE_BEFORE        it reads that no worker is active before it sets `unwatched`, under another
 *                      hold of the lock
 *  NO_ALARM            it rests without regard to the timers of others
 *  TOLD_UNHEARD        a watcher that was notified continues to rest
 *  NAPS_FOR_GOOD       a former watcher whose nap is over still passes for one that naps
 *  NAPS_AND_RESTS      so does a watcher that rests
 *  UNTOLD_POST         a post to a worker that does not sleep does not notify
 *  UNTOLD_ENTRY        a worker that goes inside does not notify
 *  UNTOLD_TIMER        a worker that sets a timer does not notify
 *  UNTOLD_CROWD        a worker that receives several parties does not notify: they may have been
 *                      posted before `unwatched` was set
 *  UNTOLD_LOOT         a worker that becomes active does not notify when it has stolen several
 *  UNTOLD_GIFT         a worker that gives its ready parties to another one does not notify
 *  ENTERS_SLEEPERS     it gives them to one that sleeps
 *  UNTOLD_WHEEL        a watcher that becomes active with timers leaves the others unwatched
 *  UNCALLED            (LOOKOUT) a worker leaves the watch to the lookout, and does not call it
 *  RESTS_CALLED        (LOOKOUT) the lookout rests although it was called since its last look
 *  LOOKS_AWAY          (LOOKOUT) it does not wake a watcher that rests
 *  NEVER_TAKES         (LIVE) the watcher looks and does not take */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef POSTS
#define POSTS 0
#endif
#ifndef SENT
#define SENT 0
#endif
#ifndef TASKS
#define TASKS 0
#endif
#ifndef TIMERS
#define TIMERS 0
#endif
#ifndef TO_GLOBAL
#define TO_GLOBAL 0
#endif
#ifndef VISITS
#define VISITS 0
#endif
#ifndef GIVES
#define GIVES 0
#endif
#ifndef STUCK
#define STUCK (WORKERS - 1)
#endif
#define NONE 15
#ifdef WAKES_NEXT
#define IN_NAP(is) false
#else
#define IN_NAP(is) (is)
#endif

byte actives = WORKERS, watcher = NONE, sleepers = NONE;
bool unwatched; /* LT_UNWATCHED is set in all workers' calls: they must notify */
byte next_idle[WORKERS];
bool naps[WORKERS]; /* it is idle, and its sleep ends soon by itself */
#ifdef LOOKOUT
bool looks;                /* the lookout does not rest */
bool called_out;           /* since its last look */
bool seen_active[WORKERS]; /* at its last look, and has not slept since */
#define lookout_looks looks
#else
#define lookout_looks false
#endif

bool asleep[WORKERS], in_futex[WORKERS];
byte inbox[WORKERS], sent[WORKERS];
/* The truth: the parties in its list, a timer in its wheel, and the owner or a thief is inside. */
byte list[WORKERS];
bool wheel[WORKERS], own[WORKERS], away[WORKERS];
bool stuck[WORKERS]; /* it runs a function that does not return */
byte in_global;
/* The same, as other workers see it. */
bool waits[WORKERS], timer[WORKERS], inside[WORKERS];
bool early[WORKERS]; /* it has read `unwatched`; its earlier store has not reached memory */

byte posts = POSTS, to_send = SENT, tasks = TASKS, timers = TIMERS, to_global = TO_GLOBAL;
byte visits = VISITS, gives = GIVES;
byte never_return = STUCK;

/* ---- roles: each under one hold of the lock ---- */

inline wake(worker) /* lt_worker_wake; in one step */
{
    if
    :: asleep[worker] -> asleep[worker] = false; in_futex[worker] = false
    :: else
    fi
}

inline wake_next()
{
    if
    :: next != NONE -> d_step { wake(next); next = NONE }
    :: else
    fi
}

inline remove_sleeper(worker)
{
    if
    :: sleepers == worker -> sleepers = next_idle[worker]
    :: else ->
        at = sleepers;
        do
        :: next_idle[at] == worker -> next_idle[at] = next_idle[worker]; break
        :: else -> at = next_idle[at]; assert(at != NONE)
        od;
        at = 0
    fi;
    next_idle[worker] = 0
}

inline hand_on_watch()
{
    watcher = sleepers;
    if
    :: watcher != NONE -> remove_sleeper(watcher)
    :: else
    fi;
    unwatched = false;
    next = watcher
}

inline check() { assert(actives == WORKERS || watcher != NONE || unwatched || lookout_looks) }

inline become_idle()
{
    d_step {
        actives--;
        naps[self] = false;
        if
        :: watcher != NONE && unwatched -> next_idle[self] = sleepers; sleepers = self
        :: else ->
            if
            :: watcher != NONE -> next_idle[watcher] = sleepers; sleepers = watcher
            :: else
            fi;
            watcher = self;
            unwatched = false
        fi;
        check()
    }
}

#if WORKERS == 3
#define no_timer (!timer[(self + 1) % WORKERS] && !timer[(self + 2) % WORKERS])
#define nobody_early (!early[(self + 1) % WORKERS] && !early[(self + 2) % WORKERS])
#else
#define no_timer (!timer[1 - self])
#define nobody_early (!early[1 - self])
#endif

#ifdef UNTOLD_WHEEL
#define may_stay_unwatched (actives == 1 && sleepers != NONE && no_timer)
#else
#define may_stay_unwatched (actives == 1 && sleepers != NONE && no_timer && !timer[self])
#endif

inline become_active()
{
#ifdef LOOKOUT
    if
    :: leaves = true
    :: leaves = false
    fi;
#endif
    d_step {
        actives++;
        if
#ifdef LOOKOUT
        :: leaves && (watcher == self || unwatched) ->
            if
            :: watcher == self -> watcher = NONE
            :: else -> remove_sleeper(self)
            fi;
            unwatched = false;
#ifndef UNCALLED
            called_out = true;
            looks = true
#endif
        :: !(leaves && (watcher == self || unwatched)) && watcher != self ->
#else
        :: watcher != self ->
#endif
            remove_sleeper(self);
            if
            :: watcher == NONE && sleepers == NONE -> unwatched = false
            :: else
            fi
#ifdef NOT_HANDED_ON
        :: else -> watcher = NONE; unwatched = (sleepers == NONE -> false : unwatched)
#else
        :: !leaves && watcher == self && may_stay_unwatched ->
            watcher = NONE;
#ifndef LEFT_UNTOLD
            unwatched = true
#endif
        :: else -> hand_on_watch(); may_sleep_on = (next != NONE && naps[next])
#endif
        fi;
#if !defined(NOT_HANDED_ON) && !defined(LEFT_UNTOLD)
        check()
#endif
    }
    if
    :: next != NONE -> d_step { wake(next); next = NONE; may_sleep_on = false }
    :: next == NONE || may_sleep_on -> next = NONE; may_sleep_on = false
    fi
}

/* Called after `unwatched` was seen. */
inline idle_tell()
{
    d_step {
        if
        :: unwatched && watcher != NONE -> unwatched = false; next = watcher
        :: unwatched && watcher == NONE -> hand_on_watch()
        :: else
        fi
    }
    wake_next()
}

/* lt_worker_notify. If `unwatched` has changed since it was read, nothing happens: so to read it
 * and to act is one step. `condition` is the worker's own. */
inline tell_if(condition)
{
    if
    :: d_step {
            condition && unwatched ->
            if
            :: watcher != NONE -> unwatched = false; next = watcher
            :: else -> hand_on_watch()
            fi
        }
        wake_next()
    :: else
    fi
}

inline tell() { tell_if(true) }

inline call() /* lt_idle_call */
{
    atomic { next = (sleepers != NONE -> sleepers : watcher) }
    wake_next()
}

inline ask_for_notice(ask)
{
#ifndef NAPS_AND_RESTS
    naps[self] = IN_NAP(!ask);
#endif
    if
    :: watcher == self -> unwatched = ask
    :: else
    fi
}

/* ---- going inside, and what is done there ---- */

inline look_early() { atomic { called = unwatched; early[self] = true } }

inline tell_if_called()
{
    if
    :: called -> called = false; idle_tell()
    :: else
    fi
}

inline go_in()
{
#ifdef UNTOLD_ENTRY
    atomic { !own[self] -> own[self] = true; inside[self] = true }
#else
    look_early();
    atomic { !own[self] -> own[self] = true; inside[self] = true; early[self] = false }
    tell_if_called()
#endif
}

inline go_out() { atomic { own[self] = false; inside[self] = false } }

inline append(n) { atomic { list[self] = list[self] + n; waits[self] = true } }

/* A shared timer: the worker need not be inside. */
inline set_timer()
{
#ifdef UNTOLD_TIMER
    timer[self] = true
#else
    look_early();
    atomic { timer[self] = true; early[self] = false }
    tell_if_called()
#endif
}

inline fire_timer()
{
    atomic {
        wheel[self] ->
        wheel[self] = false; timer[self] = false; called = unwatched;
        list[self]++; waits[self] = true
    }
    tell_if_called()
}

/* In two steps: another worker may look in between. */
inline drain()
{
    if
    :: atomic {
            inbox[self] + sent[self] > 0 ->
            k = inbox[self] + sent[self]; inbox[self] = 0; sent[self] = 0
        }
        atomic { list[self] = list[self] + k; waits[self] = true; k = 0 }
#ifndef UNTOLD_CROWD
        tell_if(list[self] > 1)
#endif
    :: else
    fi
}

/* ---- thieves ---- */

inline enter_awake(other) /* visit_awake; its answer is `visiting` */
{
#ifndef ENTERS_SLEEPERS
    atomic { visiting = (!own[other] && !away[other]); own[other] = own[other] || visiting }
#else
    atomic { visiting = !own[other]; own[other] = true }
#endif
}

inline visit(victim)
{
    if
    :: inbox[victim] + sent[victim] > 0 || waits[victim] || timer[victim] ->
        !early[victim]; /* after the barrier */
        enter_awake(victim)
        if
        :: visiting ->
            timer[victim] = false;
            atomic {
                visiting = false;
                if
                :: wheel[victim] -> wheel[victim] = false; list[victim]++
                :: else
                fi;
                in_global = in_global + sent[victim];
                at = (list[victim] + inbox[victim] + 1) / 2;
                list[victim] = list[victim] + inbox[victim] - at;
                inbox[victim] = 0;
                sent[victim] = 0;
                waits[victim] = (list[victim] > 0);
                if
                :: at > 0 -> moved = at
                :: else
                fi;
                at = 0
            }
            own[victim] = false;
            if
            :: moved > 0 ->
                d_step { list[self] = list[self] + moved; waits[self] = true; moved = 0 }
            :: else
            fi
        :: else
        fi
    :: else
    fi
}

/* lt_steal_give: to a worker that is awake and is not inside. */
inline give(other)
{
    if
    :: list[self] > 0 ->
        !early[other]; /* after the barrier */
        enter_awake(other)
        if
        :: visiting ->
            atomic {
                visiting = false;
                list[other] = list[other] + list[self];
                waits[other] = true;
                list[self] = 0;
                waits[self] = false
            }
            own[other] = false;
#ifndef UNTOLD_GIFT
            tell()
#endif
        :: else
        fi
    :: else
    fi
}

/* A worker whose function does not return has stood still since the last look; another may have. */
inline steal_from(victim)
{
    if
#ifdef NEVER_TAKES
    :: true
#else
    :: visit(victim)
    :: !stuck[victim]
#endif
    fi
}

inline steal()
{
    steal_from((self + 1) % WORKERS)
#if WORKERS == 3
    if
    :: list[self] == 0 -> steal_from((self + 2) % WORKERS)
    :: else
    fi
#endif
}

/* ---- being idle ---- */

#define HAS_NEWS (inbox[self] + sent[self] + in_global > 0)

inline leave_if(condition)
{
    if
    :: condition -> break
    :: else
    fi
}

#define IS_INSIDE(i) (!asleep[i] && inside[i])
#define IS_BUSY(i) (waits[i] || inbox[i] + sent[i] > 0)

inline last_look() /* all_is_quiet; its answer is `quiet` */
{
    quiet = true;
#ifndef NO_BARRIER
    nobody_early;
#endif
#ifndef NO_LAST_LOOK
#ifndef MISSED_WHO_IS_INSIDE
    quiet = !IS_INSIDE((self + 1) % WORKERS);
#if WORKERS == 3
    quiet = quiet && !IS_INSIDE((self + 2) % WORKERS);
#endif
#endif
    quiet = quiet && !IS_BUSY((self + 1) % WORKERS);
#if WORKERS == 3
    quiet = quiet && !IS_BUSY((self + 2) % WORKERS);
#endif
#ifndef GLOBAL_UNSEEN
    quiet = quiet && !in_global
#endif
#endif
}

inline rest()
{
#ifdef ASKED_LAST
    last_look();
    if
    :: quiet -> atomic { ask_for_notice(true); rests = true }
    :: else -> rests = false
    fi;
#else
#ifdef ALONE_BEFORE
    atomic { ask_for_notice(true) }
#else
    atomic { ask_for_notice(true); alone = (actives == 0) }
#endif
    if
    :: alone -> quiet = true
    :: else -> last_look()
    fi;
    if
    :: quiet -> rests = true
    :: else -> atomic { ask_for_notice(false); rests = false }
    fi;
#endif
#ifndef NO_ALARM
    alarm = rests && !no_timer;
#endif
    quiet = false
}

/* It rests, or naps because it was notified too often lately. */
inline rest_or_nap()
{
    if
    :: rest()
    :: rests -> atomic { ask_for_notice(false); rests = false; alarm = false }
    :: !rests
    fi
}

inline watch_others()
{
    if
#ifdef TOLD_UNHEARD
    :: begun && !nap_over
    :: begun && nap_over ->
#else
    :: begun && !(rests && told) && !nap_over
    :: begun && !(rests && told) && nap_over ->
#endif
        nap_over = false;
        steal();
        if
        :: list[self] > 0 -> break
        :: else -> rest_or_nap()
        fi
    :: else ->
        atomic { begun = true; rests = false; nap_over = false; alarm = false }
        if
        :: alone -> rest()
        :: true
        fi
    fi
}

/* lt_takeover_look: the worker is awake, and outside. It comes back without notifying. */
inline look_from_away()
{
    if
    :: true
    :: atomic { away[self] = true; inside[self] = false; own[self] = false }
        atomic { !own[self] -> own[self] = true; inside[self] = true; away[self] = false }
    fi
}

inline idle() /* lt_idle, after the spins */
{
    become_idle();
    do
    ::
#ifdef LOOKOUT
        seen_active[self] = false;
#endif
#ifdef NEWS_BEFORE_ASLEEP
        leave_if(HAS_NEWS);
#endif
#ifndef ROLE_BEFORE_ASLEEP
        asleep[self] = true;
#endif
        atomic {
            watches = (watcher == self); told = !unwatched; alone = (actives == 0);
#ifdef NAPS_FOR_GOOD
            naps[self] = naps[self] || IN_NAP(watches && !rests)
#else
            naps[self] = IN_NAP(watches && !rests)
#endif
        }
#ifdef ROLE_BEFORE_ASLEEP
        asleep[self] = true;
#endif
#ifdef NEWS_BEFORE_ASLEEP
        leave_if(due);
#else
        leave_if(HAS_NEWS || list[self] > 0 || due);
#endif
        if
        :: watches -> watch_others()
        :: else
        fi;
        atomic {
            if
            :: asleep[self] -> in_futex[self] = true
            :: else
            fi;
            told = false; alone = false; away[self] = true; inside[self] = false;
            own[self] = false
        }
end_sleep:
        if
        :: !in_futex[self]
        :: watches && !rests -> atomic { in_futex[self] = false; nap_over = true }
        :: watches && rests && alarm -> atomic { in_futex[self] = false; nap_over = true }
        :: wheel[self] -> atomic { in_futex[self] = false; due = true }
        fi;
        atomic { !own[self] -> own[self] = true; inside[self] = true; away[self] = false }
    od;
    asleep[self] = false;
    become_active();
    atomic {
        watches = false; told = false; alone = false; due = false; begun = false; rests = false;
        nap_over = false; alarm = false
    }
#ifndef CALL_THE_BUSY
    if
    :: in_global > 0 -> tell()
    :: else
    fi;
#endif
#ifndef UNTOLD_LOOT
    tell_if(list[self] > 1)
#else
    skip
#endif
}

/* ---- working ---- */

inline run_function()
{
    if
    :: go_out()
    :: atomic { tasks > 0 -> tasks--; go_out() } go_in(); append(1); go_out()
    :: atomic { timers > 0 && !wheel[self] -> timers--; wheel[self] = true; go_out() } set_timer()
    fi;
    if
    :: go_in()
    :: atomic { never_return > 0 -> never_return--; stuck[self] = true }
end_stuck:
        false
    fi
}

inline see_to_it()
{
    drain();
    if
    :: fire_timer()
    :: true
    fi;
#if VISITS > 0
    if
    :: visits > 0 -> visits--; visit((self + 1) % WORKERS) /* lt_look_after_others */
    :: true
    fi;
#endif
#if GIVES > 0
    if
    :: gives > 0 -> gives--; give((self + 1) % WORKERS)
    :: true
    fi;
#endif
}

proctype Worker(byte self)
{
    byte k, at, moved, next = NONE;
    bool called, watches, told, alone, due, begun, rests, nap_over, alarm, quiet;
    bool visiting, may_sleep_on, leaves;
    do
    ::
        see_to_it();
        if
        :: atomic { list[self] > 0 -> list[self]--; waits[self] = (list[self] > 0) }
            run_function()
        :: atomic {
                list[self] == 0 && in_global > 0 ->
                list[self] = in_global; in_global = 0; waits[self] = true
            }
            tell()
        :: list[self] == 0 && in_global == 0 ->
            look_from_away();
            if
            :: HAS_NEWS
            :: else -> idle()
            fi
        fi
    od
}

/* ---- threads that are no workers ---- */

#ifdef LOOKOUT
#define is_stuck_at(i) (seen_active[i] && !asleep[i])
#if WORKERS == 3
#define some_stays (is_stuck_at(0) || is_stuck_at(1) || is_stuck_at(2))
#else
#define some_stays (is_stuck_at(0) || is_stuck_at(1))
#endif

proctype Lookout()
{
    byte at, i, next = NONE;
end:
    do
    :: looks ->
        d_step { /* lt_idle_look_over */
            if
            :: some_stays && !unwatched && watcher == NONE -> hand_on_watch()
#ifndef LOOKS_AWAY
            :: some_stays && !unwatched && watcher != NONE && !naps[watcher] -> next = watcher
#endif
            :: else
            fi;
            if
#ifndef RESTS_CALLED
            :: next == NONE -> looks = called_out
#else
            :: next == NONE -> looks = false
#endif
            :: else
            fi;
            called_out = false;
            for (i : 0 .. WORKERS - 1) { seen_active[i] = !asleep[i] }
            i = 0
        }
        wake_next()
    od
}
#endif

#if TO_GLOBAL > 0
proctype Outside()
{
    byte at, next = NONE;
end:
    do
    :: atomic { to_global > 0 -> to_global--; in_global++ } call()
    od
}
#endif

#if POSTS + SENT > 0
proctype Poster()
{
    byte to, at, next = NONE;
end:
    do
    :: atomic {
            posts + to_send > 0 ->
            select(to : 0 .. WORKERS - 1);
            if
            :: posts > 0 -> posts--; inbox[to]++
            :: to_send > 0 -> to_send--; sent[to]++
            fi
        }
        if
        :: asleep[to] -> d_step { wake(to) }
#ifndef UNTOLD_POST
        :: else -> tell()
#else
        :: else
#endif
        fi;
        to = 0
    od
}
#endif

/* ---- what is proved ---- */

#define HAS(i) (list[i] + inbox[i] + sent[i] > 0 || wheel[i])
#if WORKERS == 3
#define SOMEBODY_WAITS (HAS(0) || HAS(1) || HAS(2) || in_global > 0)
#else
#define SOMEBODY_WAITS (HAS(0) || HAS(1) || in_global > 0)
#endif

#ifdef LIVE
ltl nobody_waits_for_ever { <> [] !SOMEBODY_WAITS }
#else
active proctype Quiet()
{
end:
    timeout -> assert(!SOMEBODY_WAITS)
}
#endif

init {
    atomic {
        byte i;
        list[0] = 1; /* the program's first task */
        waits[0] = true;
        for (i : 0 .. WORKERS - 1) { own[i] = true; inside[i] = true; run Worker(i) }
#ifdef LOOKOUT
        run Lookout();
#endif
#if TO_GLOBAL > 0
        run Outside();
#endif
#if POSTS + SENT > 0
        run Poster()
#endif
    }
}
