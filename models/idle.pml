/* idle.pml: workers without work: who sleeps, who watches, who is woken.
 *
 * This is the watch without its newer half: that a watcher rests until it is told (lt_idle_tell, rest) is not in here.
 *
 * Speaks for sched/idle.c, as it was before that (become_idle, become_active, still_watching, hand_on_watch,
 * lt_idle_notice, lt_idle_call, look, steal, watch, lt_idle), and for next_new, lt_launch,
 * lt_worker_wake and lt_worker_has_news of sched/worker.c; a post is shortened, inbox.pml has it
 * whole. All workers begin active, as leat_start leaves them. At any time somebody posts to a
 * worker, and a thread that is none spills a task; a task may queue another one in its worker's
 * ring, and may never return to its scheduler. A nap of the watcher ends at any time; every
 * other sleep only by a wake-up. Of a ring there is how many it has, and how many of those each
 * worker saw at its last look.
 *
 * Proves:
 *  - the watch is given up only while nobody is active; the list of sleepers holds who it
 *    should;
 *  - when nothing moves any more, no task waits in the ring of a worker that does not return,
 *    nor a spilt one, while another worker is idle (`Quiet`; there always is one that returns);
 *  - with LIVE, under weak fairness: none waits for ever, though the watcher naps on.
 *
 * Broken on purpose:
 *  ROLE_BEFORE_ASLEEP  asks for its role first and says that it sleeps afterwards: whoever makes
 *                      it the watcher in between wakes nobody, and it sleeps without naps
 *  CALL_THE_BUSY       lt_idle_call's choice may be about to become active for another reason,
 *                      and nobody asks again
 *  NEWS_BEFORE_ASLEEP  looks for news before it says that it sleeps
 *  WATCH_NOT_HANDED_ON a watcher that becomes active just leaves
 *  NO_NOTICE           starting a task looks for no watcher
 *  GIVE_UP_EARLY       the watcher gives up whoever is active
 *  NEVER_LOOKS_AGAIN   (LIVE) the watcher keeps its first look at the tails */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef POSTS
#define POSTS 1
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef SPILLS
#define SPILLS 0
#endif
#define NONE 15

bool locked; /* idle_lock */
byte actives = WORKERS, watcher = NONE, sleepers = NONE, sleeper_count;
bool watched;
byte next_idle[WORKERS];

bool asleep[WORKERS], in_futex[WORKERS];
bool inbox[WORKERS];
byte ring[WORKERS];
byte seen[WORKERS * WORKERS]; /* [worker * WORKERS + whose ring] */
bool stuck[WORKERS];               /* runs a task that does not return */

byte posts = POSTS, tasks = TASKS, never_return = WORKERS - 1;
byte spilt, spills = SPILLS;

inline wake(worker) /* lt_worker_wake */
{
    atomic { was_asleep = asleep[worker]; asleep[worker] = false }
    if
    :: was_asleep -> in_futex[worker] = false; was_asleep = false
    :: else
    fi
}

/* ---- roles, under the lock ----
 *
 * What happens under it is one step, unless it changes both of the hints that are read without it,
 * `watched` and `sleeper_count`: those are changed one after the other, as in the C. */

inline lock() { !locked; locked = true }
inline unlock() { locked = false }

inline add_sleeper()
{
    d_step { next_idle[self] = sleepers; sleepers = self; sleeper_count++ }
}

inline remove_sleeper(worker)
{
    d_step {
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
        next_idle[worker] = 0;
        sleeper_count--
    }
}

inline set_watcher(worker)
{
    d_step { watcher = worker; watched = (worker != NONE) }
}

inline take_next_watcher() /* hand_on_watch but for its set_watcher */
{
    next = sleepers;
    if
    :: next != NONE -> remove_sleeper(next)
    :: else
    fi
}

inline wake_next()
{
    if
    :: next != NONE -> wake(next); next = NONE
    :: else
    fi
}

inline become_idle()
{
    atomic {
        !locked;
        actives--;
        if
        :: watcher == NONE && actives > 0 -> set_watcher(self)
        :: else -> add_sleeper()
        fi
    }
}

inline become_active()
{
    atomic { lock(); actives++ }
    if
#ifdef WATCH_NOT_HANDED_ON
    :: watcher == self -> atomic { set_watcher(NONE); unlock() }
#else
    :: atomic { watcher == self -> take_next_watcher() }
        atomic { set_watcher(next); unlock() }
        wake_next()
#endif
    :: atomic { else -> remove_sleeper(self); unlock() }
    fi
}

inline still_watching()
{
    atomic { lock(); watching = (watcher == self) }
    if
#ifdef GIVE_UP_EARLY
    :: atomic { watching ->
#else
    :: atomic { watching && actives == 0 ->
#endif
            assert(actives == 0);
            set_watcher(NONE)
        }
        atomic { add_sleeper(); watching = false; unlock() }
    :: atomic { else -> unlock() }
    fi
}

inline notice() /* lt_idle_notice */
{
    if
#ifdef NO_NOTICE
    :: true
#else
    :: watched
    :: else ->
        if
        :: sleeper_count == 0
        :: else ->
            atomic {
                !locked;
                if
                :: watcher == NONE -> take_next_watcher()
                :: else
                fi;
                locked = (next != NONE)
            }
            if
            :: atomic { next != NONE -> set_watcher(next); unlock() } wake_next()
            :: else
            fi
        fi
#endif
    fi
}

inline call() /* lt_idle_call */
{
    atomic {
        !locked;
        if
        :: sleepers != NONE -> next = sleepers
        :: sleepers == NONE -> next = watcher
        fi
    }
    wake_next()
}

/* ---- stealing ---- */

inline look()
{
#ifdef NEVER_LOOKS_AGAIN
    if
    :: looked
    :: else ->
        looked = true;
#endif
    d_step {
        k = 0;
        do
        :: k < WORKERS -> seen[self * WORKERS + k] = ring[k]; k++
        :: else -> k = 0; break
        od
    }
#ifdef NEVER_LOOKS_AGAIN
    fi
#endif
}

/* By compare-and-swap of head, by owner and thief alike. What was seen is the oldest, and so goes
 * first. */
inline take_from(victim)
{
    d_step {
        ring[victim]--;
        at = 0;
        do
        :: at < WORKERS && seen[at * WORKERS + victim] > 0 -> seen[at * WORKERS + victim]--; at++
        :: at < WORKERS && seen[at * WORKERS + victim] == 0 -> at++
        :: else -> break
        od;
        at = 0
    }
}

inline steal()
{
    k = 1;
    do
    :: k < WORKERS && !stolen ->
        atomic {
            victim = (self + k) % WORKERS;
            if
            :: seen[self * WORKERS + victim] > 0 -> take_from(victim); stolen = true
            :: else
            fi;
            victim = 0;
            k++
        }
    :: else -> k = 0; break
    od;
    if
    :: stolen -> ring[self]++
    :: else
    fi
}

/* ---- being idle ---- */

inline say_asleep() { asleep[self] = true }

inline leave_if_news()
{
    if
    :: inbox[self] || spilt > 0 -> break
    :: else
    fi
}

inline idle() /* lt_idle, after the spins */
{
    become_idle();
    do
    ::
#ifdef NEWS_BEFORE_ASLEEP
        leave_if_news();
#endif
#ifndef ROLE_BEFORE_ASLEEP
        say_asleep();
#endif
        still_watching();
#ifdef ROLE_BEFORE_ASLEEP
        say_asleep();
#endif
#ifndef NEWS_BEFORE_ASLEEP
        leave_if_news();
#endif
        if
        :: watching -> nap_over = false; steal() /* the last look may be a nap old */
        :: watching && !nap_over                 /* or it is not */
        :: !watching
        fi;
        if
        :: stolen -> break
        :: !stolen && watching -> look()
        :: !stolen && !watching
        fi;
        atomic {
            if
            :: asleep[self] -> in_futex[self] = true
            :: else
            fi
        }
end_sleep:
        if
        :: !in_futex[self]
        :: watching -> atomic { in_futex[self] = false; nap_over = true }
        fi
    od;
    asleep[self] = false;
    become_active();
#ifndef CALL_THE_BUSY
    if
    :: spilt > 0 -> notice()
    :: else
    fi;
#endif
    d_step { stolen = false; watching = false; nap_over = false }
}

/* ---- working ---- */

/* A task: it may queue another, and may stay. */
inline run_task()
{
    if
    :: true
    :: atomic { tasks > 0 -> tasks--; ring[self]++ } notice()
    fi;
    if
    :: true
    :: atomic { never_return > 0 -> never_return--; stuck[self] = true }
end_stuck:
        false
    fi
}

proctype Worker(byte self)
{
    byte k, at, victim, next = NONE;
    bool watching, nap_over, stolen, was_asleep;
#ifdef NEVER_LOOKS_AGAIN
    bool looked;
#endif
    do
    :: inbox[self] -> inbox[self] = false; run_task()
    :: atomic { ring[self] > 0 -> take_from(self) } run_task()
    :: atomic { ring[self] == 0 && spilt > 0 -> spilt--; ring[self]++ } notice()
    :: atomic { !inbox[self] && spilt == 0 && ring[self] == 0 -> skip } idle()
    od
}

#if SPILLS > 0
proctype Outside()
{
    byte next = NONE;
    bool was_asleep;
    do
    :: spills > 0 -> atomic { spills--; spilt++ } call()
    :: else -> break
    od
}
#endif

proctype Poster()
{
    byte to;
    bool first, was_asleep;
    do
    :: posts > 0 ->
        atomic {
            posts--;
            select(to : 0 .. WORKERS - 1);
            first = !inbox[to];
            inbox[to] = true
        }
        if
        :: first && asleep[to] -> wake(to)
        :: else
        fi;
        first = false; to = 0
    :: else -> break
    od
}

/* A task that waits behind one that does not return. */
#define BEHIND(i) (stuck[i] && ring[i] > 0)
#if WORKERS == 2
#define SOME_BEHIND (BEHIND(0) || BEHIND(1) || spilt > 0)
#else
#define SOME_BEHIND (BEHIND(0) || BEHIND(1) || BEHIND(2) || spilt > 0)
#endif

#ifdef LIVE
ltl stolen_at_last { <> [] !SOME_BEHIND }
#else
active proctype Quiet()
{
end:
    timeout -> assert(!SOME_BEHIND && !locked)
}
#endif

init {
    atomic {
        byte i;
        inbox[0] = true; /* the program's first task */
        for (i : 0 .. WORKERS - 1) { run Worker(i) }
        run Poster();
#if SPILLS > 0
        run Outside()
#endif
    }
}
