/* inbox.pml: messages to a worker that is about to sleep: parties, nudges, the stop.
 *
 * Models lt_worker_post, lt_worker_wake, lt_worker_has_news,
 * lt_worker_drain, lt_worker_nudge and lt_worker_look_at_nudges of sched/worker.c and the loop
 * around them, the sleep in lt_idle of sched/idle.c, nudge_task of scope/cancel.c, and stop_workers
 * of sched/runtime.c. Two posters push onto the inbox: one posts a party again as soon as it has
 * run, so the compare-and-swap meets the same top again; the other posts two parties in a row.
 * `Other` wakes the worker for another reason, as idle.c does. With NUDGES there is one poster, and
 * two cancellers mark scopes of a task whose home is this worker. With STOPS the first poster posts
 * once, and the system may stop it until the other one's parties have run. The sleep has no
 * deadline, so a message that is missed is missed for ever, and spin reports that all processes
 * wait.
 *
 * Proves:
 *  - no wake-up by a post, a nudge or the stop is lost;
 *  - every post arrives once, and each poster's in order;
 *  - the worker looks at a task after each mark, although a canceller nudges only a task that is
 *    not nudged yet; the task is never twice in the list;
 *  - with STOPS: a poster that is stopped holds up no party of another poster.
 *
 * Steps are sequentially consistent here, as the C asks for where it matters. The variants that
 * swap two steps show what a weaker order would allow.
 *
 * Broken on purpose:
 *  SLEEP_WITHOUT_SECOND_LOOK  the worker does not look for news after it has said that it sleeps
 *  LOOK_FIRST                 it looks before it says so (a store of `asleep` that is not
 *                             seq_cst)
 *  ASK_FIRST                  the poster reads `asleep` before it pushes (a relaxed push)
 *  PUSH_IN_TWO_STEPS          no compare-and-swap
 *  DRAIN_IN_TWO_STEPS         no exchange
 *  NO_VALUE_CHECK             a futex that sleeps whatever the word is
 *  NOT_TURNED_ROUND           the inbox's order is not reversed
 *  LOOK_THEN_CLEAR            (NUDGES) the worker looks at the task before it clears the nudge (a
 *                             plain store would allow that, too: the look may overtake it)
 *  REST_FORGOTTEN             (NUDGES) the worker sleeps before it has looked at all nudges it took
 *  NUDGE_THEN_MARK            (NUDGES) the canceller marks the scope last
 *  FIRST_ONLY                 (STOPS) a poster wakes the worker only if it found the inbox empty
 *  AWAKE_BEFORE_CALL          (STOPS) the worker looks awake as soon as a waker claims the call
 *  ANY_SLEEP                  (STOPS) a waker that is late says that the worker is awake, although
 *                             the worker sleeps once more */
#define PARTIES 3 /* party 1 is posted twice, 2 and 3 once */
#ifdef NUDGES
#define POSTS 2
#elif defined(STOPS)
#define POSTS 3
#define NUMBERS 7 /* more than there are sleeps, so that a late waker knows its own */
#else
#define POSTS 4
#endif
#ifndef NUMBERS
#define NUMBERS 2
#endif

byte inbox;            /* the party on top; 0: empty */
byte next[PARTIES + 1];
byte asleep;           /* the number of the sleep; 0: awake, or woken */
bool called;           /* a waker has claimed the call */
bool stopping, in_futex;

bool nudged, in_nudges; /* the task: nudged, and in the worker's list */
bool told, put_off;     /* taken off the list; left for the next look, once */
bool marked[2], seen[2];

byte ran, ran_1, last_of_two;
bool posted[PARTIES + 1];
byte said = 1; /* the number of the last sleep: from 1 to NUMBERS in turn */

#ifdef STOPS
bool stopped; /* the first poster is */
#define GOES (!stopped || _pid != first_pid)
pid first_pid;
#else
#define GOES true
#endif

/* `was_asleep`: which sleep the waker has claimed. */
inline wake()
{
#ifdef AWAKE_BEFORE_CALL
    atomic { GOES; was_asleep = asleep; asleep = 0; called = false }
#else
    atomic { GOES; was_asleep = asleep; called = (asleep != 0) }
#endif
    if
    :: was_asleep != 0 ->
        atomic { GOES; in_futex = false }
        atomic {
            GOES;
            if
#ifdef ANY_SLEEP
            :: called -> asleep = 0; called = false
#else
            :: called && asleep == was_asleep -> asleep = 0; called = false
#endif
            :: else
            fi
        }
    :: else
    fi;
    was_asleep = 0
}

inline post(party)
{
    assert(!posted[party]);
    posted[party] = true;
    top = inbox;
#ifdef ASK_FIRST
    sleeps = (asleep != 0);
#endif
    do
    :: next[party] = top;
#ifdef PUSH_IN_TWO_STEPS
        top = inbox;
        inbox = party;
        break
#else
        if
        :: atomic { inbox == top -> inbox = party } break
        :: atomic { inbox != top -> top = inbox }
        fi
#endif
    od;
#ifndef ASK_FIRST
    atomic { GOES; sleeps = (asleep != 0) }
#endif
#ifdef FIRST_ONLY
    sleeps = sleeps && top == 0;
#endif
    if
    :: sleeps -> wake()
    :: else
    fi;
    top = 0; sleeps = false
}

active proctype PosterOfOne()
{
    byte top;
    bool sleeps;
    byte was_asleep;
#ifdef STOPS
    first_pid = _pid;
    post(1)
#else
    post(1);
    ran_1 == 1;
    post(1)
#endif
}

#ifdef NUDGES

proctype Canceller(byte i)
{
    bool was_nudged;
    byte was_asleep;
#ifndef NUDGE_THEN_MARK
    marked[i] = true;
#endif
    atomic { was_nudged = nudged; nudged = true }
    if
    :: !was_nudged ->
        atomic { assert(!in_nudges && !told); in_nudges = true }
        if
        :: asleep != 0 -> wake()
        :: else
        fi
    :: else
    fi;
#ifdef NUDGE_THEN_MARK
    marked[i] = true
#endif
}

#else

active proctype PosterOfTwo()
{
    byte top;
    bool sleeps;
    byte was_asleep;
    post(2);
    post(3)
}

active proctype Other()
{
    byte was_asleep;
    wake()
}

#ifdef STOPS
active proctype System()
{
    if
    :: atomic { last_of_two < 3 -> stopped = true }
    :: true
    fi
}
#endif

#endif

active proctype Stopper()
{
    byte was_asleep;
#ifdef NUDGES
    run Canceller(0);
    run Canceller(1);
    ran == POSTS && seen[0] && seen[1];
#else
#ifdef STOPS
    last_of_two == 3;
    stopped = false;
#endif
    ran == POSTS;
#endif
    stopping = true;
    wake()
}

inline drain()
{
#ifdef DRAIN_IN_TWO_STEPS
    stack = inbox;
    inbox = 0;
#else
    atomic { stack = inbox; inbox = 0 }
#endif
#ifdef NOT_TURNED_ROUND
    queue = stack;
#else
    do
    :: stack != 0 -> party = next[stack]; next[stack] = queue; queue = stack; stack = party
    :: else -> break
    od;
#endif
    do
    :: queue != 0 ->
        party = queue;
        queue = next[party];
        next[party] = 0;
        d_step { /* it runs; from here on it may be posted again */
            assert(posted[party]);
            posted[party] = false;
            ran++;
            if
            :: party == 1 -> ran_1++
            :: else -> assert(party > last_of_two); last_of_two = party
            fi;
            party = 0
        }
    :: else -> break
    od
}

/* A canceller that marks a scope after the nudge was cleared nudges again. */
inline look_at_nudges()
{
    if
    :: !told -> atomic { told = in_nudges; in_nudges = false }
    :: else
    fi;
    if
    :: told && !put_off -> put_off = true /* others come first; it is looked at next time */
    :: told -> look()
    :: else
    fi
}

inline look()
{
    told = false;
#ifndef LOOK_THEN_CLEAR
    nudged = false;
#endif
    seen[0] = marked[0];
    seen[1] = marked[1];
#ifdef LOOK_THEN_CLEAR
    nudged = false
#endif
}

inline look_for_news()
{
    news = (inbox != 0);
    news = news || in_nudges;
#ifndef REST_FORGOTTEN
    news = news || told;
#endif
    news = news || stopping
}

inline sleep()
{
    bool news;
#ifdef LOOK_FIRST
    look_for_news();
#endif
    atomic { said = said % NUMBERS + 1; asleep = said; called = false }
#if !defined(LOOK_FIRST) && !defined(SLEEP_WITHOUT_SECOND_LOOK)
    look_for_news();
#endif
    if
    :: !news ->
        atomic {
            if
#ifdef NO_VALUE_CHECK
            :: true -> in_futex = true
#else
            :: asleep == said && !called -> in_futex = true
            :: else
#endif
            fi
        }
        !in_futex
    :: else -> news = false
    fi;
    atomic { asleep = 0; called = false }
}

active proctype Worker()
{
    byte stack, queue, party;
    do
    :: stopping -> break
    :: else ->
        if
        :: inbox != 0 -> drain()
        :: in_nudges || told ->
            look_at_nudges();
            if
            :: told -> sleep() /* nothing to run, but nudges are left */
            :: else
            fi
        :: inbox == 0 && !in_nudges && !told -> sleep()
        fi
    od;
    assert(ran == POSTS && inbox == 0)
}
