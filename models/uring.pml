/* uring.pml: operations in a worker's ring, some of which are called off.
 *
 * Models sched/uring.c, look_at_ring, sleep_in_ring and lt_reactor_sleep of sched/reactor.c,
 * stand_in of sched/steal.c, the loop around them, and transfer and call_off of io/ring.c. Party 0
 * reads in the ring again and again until it is cancelled, at any time; party 1 reads one byte. The
 * ring submits QUEUE entries at a time, so two operations fill it. A thief visits the worker
 * whenever that is outside and has something to do, and takes the parties that are ready. They read
 * again in the ring of that worker, or somewhere else. At some moment the worker or the thief
 * begins to compute for ever.
 *
 * The kernel completes a request in the thread that has submitted it, when this is in the kernel or
 * interrupted: until then the request is LEFT. A request that is cancelled while its byte comes may
 * end either way. A party is known by its address: so a cancel concerns whatever request the party
 * has when the kernel sees the cancel.
 *
 *  - With SHORTS as many calls submit only some of the entries, since memory is short.
 *  - With REFUSES the system may refuse the ring at any time. The ring is then closed, and the
 *    kernel cancels the requests later.
 *
 * Proves:
 *  - each operation ends once, by its completion or because it was taken back unsubmitted;
 *  - the kernel writes to no buffer before the operation begins or after it ends;
 *  - each byte is read once, or is still in the socket;
 *  - a cancel is queued once, and only while its operation is under way: so the completions have
 *    room;
 *  - the ring's descriptor is used until it is closed, and closed once;
 *  - every operation ends, though one of the two computes: party 1's when the byte has come, party
 *    0's when it is cancelled; and in the end nothing is owed.
 *
 * Broken on purpose:
 *  ENDS_AT_ONCE       an operation ends when it is called off
 *  BYTE_DROPPED       an operation that was called off has moved nothing
 *  TAKEN_AND_LEFT     a thief leaves the operations that it takes back in the queue
 *  CANCEL_DROPPED     it takes back the cancels, too
 *  NOT_TAKEN_BACK     it submits the operations that it finds
 *  CALLED_OFF_FIRST   it calls operations off before it takes back those that fill the queue
 *  ENDED_CALLED_OFF   an operation that has ended can be called off
 * with SHORTS:
 *  ASKED_ONCE         a cancel that finds no room is dropped
 *  POLL_KEPT          a thief submits the poll of the epoll
 * with REFUSES:
 *  CLOSED_ENTERED     a closed ring whose queue is full is entered
 *  QUEUED_FORGOTTEN   the queue of a closed ring is no reason to look at the ring
 *  QUEUED_LEFT        the operations in it do not end */
#ifndef SHORTS
#define SHORTS 0
#endif
#define PARTIES 2
#define QUEUE 2
#define COMPLETIONS 6
#define THE_POLL PARTIES /* its request, beside those of the parties */

mtype = { OPERATION, CANCEL, POLL };            /* entries */
mtype = { NONE, ARMED, LEFT };                  /* requests */
mtype = { READY, RUNS, PARKED, AWAY, OVER };    /* parties */
mtype = { NOBODY, WORKER, THIEF };

/* The ring. */
mtype inside = NOBODY;
chan queue = [QUEUE] of { mtype, byte };
chan completions = [COMPLETIONS] of { mtype, byte, bool }; /* whether a byte has moved */
bool open = true, polls;
byte owed;

/* The system. */
mtype request[PARTIES + 1] = NONE, thread[PARTIES + 1];
bool cut[PARTIES]; /* the request is cancelled */
byte arrived[PARTIES], sent[PARTIES];
bool bell, closed, refuses;
byte shorts = SHORTS;

/* The parties, and the rest of the worker. */
mtype where[PARTIES] = READY;
bool moved[PARTIES], called_off[PARTIES] = true, wanted[PARTIES], nudged[PARTIES];
byte got[PARTIES];
bool asleep, computes;

#define is_left(i) (request[i] == LEFT)
#define any_left (is_left(0) || is_left(1) || is_left(THE_POLL))
#define left_to(i, who) (is_left(i) && thread[i] == who)
#define has_queued (len(queue) > 0)
#ifdef QUEUED_FORGOTTEN
#define has_more (len(completions) > 0 || any_left || (open && has_queued))
#else
#define has_more (len(completions) > 0 || any_left || has_queued)
#endif
/* A party that is away, or runs, is nudged later. */
#define is_nudged(p) (nudged[p] && (where[p] == PARKED || where[p] == READY))
#define any_nudged (is_nudged(0) || is_nudged(1))
#define any_ready (where[0] == READY || where[1] == READY)

/* ---- the kernel: in one step ---- */

inline post(kind, p, byte_moved)
{
    assert(len(completions) < COMPLETIONS);
    completions!kind, p, byte_moved
}

/* Receives, or finds that the request was cancelled. */
inline receive(p)
{
    if
    :: arrived[p] > 0 ->
        arrived[p]--;
        assert(where[p] == PARKED); /* the buffer */
        post(OPERATION, p, true)
    :: cut[p] -> post(OPERATION, p, false)
    fi;
    request[p] = NONE;
    cut[p] = false
}

inline complete_left(who)
{
    i = 0;
    do
    :: i < PARTIES && left_to(i, who) -> receive(i); i++
    :: i < PARTIES && !left_to(i, who) -> i++
    :: i == PARTIES -> break
    od;
    if
    :: left_to(THE_POLL, who) -> request[THE_POLL] = NONE; post(POLL, 0, false)
    :: else
    fi;
    i = 0
}

/* Submits the first entry. */
inline submit()
{
    queue?kind, p;
    if
    :: kind == OPERATION ->
        assert(request[p] == NONE);
        if
        :: arrived[p] > 0 -> receive(p)
        :: else -> request[p] = ARMED; thread[p] = me
        fi
    :: kind == CANCEL ->
        if
        :: request[p] != NONE -> cut[p] = true; request[p] = LEFT
        :: else
        fi;
        post(CANCEL, p, false)
    :: kind == POLL ->
        if
        :: bell -> post(POLL, 0, false)
        :: else -> request[THE_POLL] = ARMED; thread[THE_POLL] = me
        fi
    fi;
    p = 0; kind = 0
}

inline enter()
{
    assert(!closed);
    if
    :: atomic { refuses -> closed = true; open = false }
    :: !refuses ->
        do
        :: atomic { has_queued -> submit() }
        :: atomic { has_queued && shorts > 0 -> shorts--; complete_left(me) } break
        :: atomic { !has_queued -> complete_left(me) } break
        od
    fi
}

/* ---- the ring: inside ---- */

/* In one step. */
inline complete(kind, p, byte_moved)
{
    if
    :: kind == POLL -> polls = false
    :: else -> owed--
    fi;
    if
    :: kind == OPERATION ->
        assert(where[p] == PARKED && request[p] == NONE);
        where[p] = READY;
#ifdef BYTE_DROPPED
        moved[p] = byte_moved && !called_off[p];
#else
        moved[p] = byte_moved;
#endif
#ifndef ENDED_CALLED_OFF
        called_off[p] = true
#endif
    :: else
    fi
}

inline take()
{
    do
    :: len(completions) > 0 -> completions?kind, p, byte_moved; complete(kind, p, byte_moved)
    :: len(completions) == 0 -> break
    od;
    p = 0; kind = 0; byte_moved = false
}

#ifdef CANCEL_DROPPED
#define stays(kind) false
#elif defined(POLL_KEPT)
#define stays(kind) (kind != OPERATION)
#else
#define stays(kind) (kind == CANCEL)
#endif

inline take_back(keeps)
{
    i = len(queue);
    do
    :: i > 0 ->
        i--;
        queue?kind, p;
        if
        :: keeps && stays(kind) -> queue!kind, p
        :: else ->
            complete(kind, p, false);
#ifdef TAKEN_AND_LEFT
            queue!kind, p
#endif
        fi
    :: i == 0 -> break
    od;
    p = 0; kind = 0
}

/* In one step. */
inline take_all()
{
    take();
#ifndef QUEUED_LEFT
    if
    :: !open -> take_back(false)
    :: else
    fi
#endif
}

/* May close the ring, and may make none. */
inline make_room()
{
    if
#ifdef CLOSED_ENTERED
    :: len(queue) == QUEUE -> enter()
#else
    :: open && len(queue) == QUEUE -> enter()
#endif
    :: else
    fi
}

#define has_room (open && len(queue) < QUEUE)

/* A party that finds no room reads somewhere else. */
inline begin(who)
{
    if
    :: open && owed < COMPLETIONS / 2 - 1 -> make_room()
    :: else
    fi;
    atomic {
        if
        :: has_room && owed < COMPLETIONS / 2 - 1 ->
            queue!OPERATION, who;
            owed++;
            called_off[who] = false;
            where[who] = PARKED
        :: else -> where[who] = OVER
        fi
    }
}

inline call_off(who)
{
    do
    :: !called_off[who] && open ->
        make_room();
        atomic {
            if
            :: has_room ->
                assert(where[who] == PARKED);
                called_off[who] = true;
                queue!CANCEL, who;
                owed++
            :: else
            fi
        }
#ifdef ASKED_ONCE
        break
#endif
    :: else -> break
    od
#ifdef ENDS_AT_ONCE
    ;
    where[who] = READY
#endif
}

inline look_at_nudges()
{
    if
    :: atomic { is_nudged(0) -> nudged[0] = false } call_off(0)
    :: else
    fi
}

inline round()
{
    if
    :: open && (has_queued || any_left) -> enter()
    :: else
    fi;
    atomic { take_all() }
}

/* ---- the worker ---- */

inline queue_poll()
{
    if
    :: !polls ->
        make_room();
        atomic {
            if
            :: has_room -> queue!POLL, 0; polls = true
            :: else
            fi
        }
    :: else
    fi
}

/* In the ring. The call returns at once if it has not submitted all. */
inline wait_in_ring()
{
    if
    :: open && polls && !has_queued ->
end_waits:
        do
        :: len(completions) > 0 -> break
        :: atomic {
                len(completions) == 0 &&
                (left_to(0, me) || left_to(1, me) || left_to(THE_POLL, me)) -> complete_left(me)
            }
        od
    :: else
    fi
}

/* In the epoll. While a closed ring owes something, the worker looks every now and then. */
inline wait_in_epoll()
{
    if
    :: !open && !any_ready ->
end_waits_in_epoll:
        bell || len(completions) > 0
    :: else
    fi;
    if
    :: !open || !polls -> bell = false
    :: else
    fi
}

inline sleep()
{
    asleep = true;
    if
    :: any_nudged || any_ready
    :: else ->
        queue_poll();
        if
        :: open -> enter()
        :: else
        fi;
        wait_in_ring();
        atomic { take_all() }
        wait_in_epoll()
    fi;
    asleep = false
}

/* The party runs: it has read something, or its operation was called off, taken back, or refused.
 * In one step. */
#define is_through(who) (wanted[who] || (who == 1 && got[1] > 0))
inline resume(who)
{
    got[who] = got[who] + moved[who];
    moved[who] = false
}

proctype Worker()
{
    mtype me = WORKER, kind;
    byte p, i, self;
    bool byte_moved;
    do
    :: atomic { inside == NOBODY -> inside = me }
        look_at_nudges();
        if
        :: has_more -> round()
        :: true /* it is not time to look */
        fi;
        if
        :: atomic { where[0] == READY -> where[0] = RUNS; resume(0) } goto runs_it
        :: atomic { where[1] == READY -> where[1] = RUNS; resume(1); self = 1 }
runs_it:
            if
            :: is_through(self) -> where[self] = OVER
            :: else -> begin(self)
            fi;
            atomic { inside = NOBODY; self = 0 }
        :: atomic { !computes -> computes = true; inside = NOBODY } break
        :: !any_ready -> sleep(); inside = NOBODY
        fi
    od
end:
    false /* it computes */
}

/* ---- the thief ---- */

/* Rings the worker's bell, if it sleeps: in one step. */
inline alert()
{
    if
    :: asleep ->
        bell = true;
        if
        :: request[THE_POLL] == ARMED -> request[THE_POLL] = LEFT
        :: else
        fi
    :: else
    fi
}

inline stand_in()
{
#ifdef NOT_TAKEN_BACK
    skip;
#else
    atomic { take_back(true) }
#endif
    if
    :: open && has_queued -> enter()
    :: else
    fi;
    atomic { complete_left(WORKER) } /* the barrier interrupts it */
    atomic { take_all() }
}

inline run_away(who)
{
    atomic {
        if
        :: where[who] == AWAY ->
            resume(who);
            if
            :: where[who] = OVER /* or somewhere else */
            :: !is_through(who) -> where[who] = READY; alert()
            fi
        :: else
        fi
    }
}

proctype Thief()
{
    mtype me = THIEF, kind;
    byte p, i;
    bool byte_moved;
end:
    do
    :: atomic { inside == NOBODY && (has_more || any_nudged || any_ready) -> inside = me }
#ifndef CALLED_OFF_FIRST
        stand_in();
#endif
        look_at_nudges();
        stand_in();
        atomic {
            if :: where[0] == READY -> where[0] = AWAY :: else fi;
            if :: where[1] == READY -> where[1] = AWAY :: else fi;
            inside = NOBODY
        }
        run_away(0);
        run_away(1)
    :: atomic { !computes -> computes = true } break
    od;
end_computes:
    false
}

/* ---- the others ---- */

proctype Far(byte p)
{
    atomic {
        arrived[p]++;
        sent[p]++;
        if
        :: request[p] == ARMED -> request[p] = LEFT
        :: else
        fi
    }
}

proctype Canceller()
{
    wanted[0] = true;
    nudged[0] = true;
    atomic { alert() }
}

#ifdef REFUSES
proctype Sandbox() { refuses = true }

/* Clears away the closed ring. */
proctype Kernel()
{
    byte i;
end:
    do
    :: atomic { closed && request[0] != NONE -> cut[0] = true; receive(0) }
    :: atomic { closed && request[1] != NONE -> cut[1] = true; receive(1) }
    :: atomic {
            closed && request[THE_POLL] != NONE -> request[THE_POLL] = NONE; post(POLL, 0, false)
        }
    od
}
#endif

init
{
    atomic {
        run Worker();
        run Thief();
        run Far(0);
        run Far(1);
        run Canceller();
#ifdef REFUSES
        run Sandbox();
        run Kernel()
#endif
    }
    where[0] == OVER && where[1] == OVER && owed == 0;
    assert(got[0] + arrived[0] == sent[0] && got[1] + arrived[1] == sent[1])
}
