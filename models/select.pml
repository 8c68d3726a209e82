/* select.pml: selects over two unbuffered channels, against each other and against a plain
 * operation or a close, with deadlines and cancels.
 *
 * Models chan/select.c (lt_select_try, lock_all, try_certain, enqueue_all, lt_select_enter,
 * lt_select_take_out, withdraw, select_any) as tasks and threads use it, lt_claim of sched/party.h,
 * lt_chan_claim_first, lt_chan_send_now and lt_chan_receive_now of chan/now.h, and
 * lt_chan_close_now of chan/chan.c. Two parties select over channels 0 and 1, listing them in
 * opposite order; each case sends or receives, as spin likes; with SAME both cases of a select are
 * on channel 0. A third party does one plain operation, or closes a channel. A select may have a
 * deadline, or its scope be cancelled; both act at any time at the party's home, that is, in the
 * party's own process while it is parked. When nothing moves any more, `Ender` checks which parties
 * still wait, and then cancels them all.
 *
 * Proves:
 *  - exactly one case of a select happens, or none and the select was withdrawn; two partners
 *    agree;
 *  - no lost wake-up: when nothing moves, no two parties wait for each other on one channel, no
 *    party waits on a closed channel, and no lock is held;
 *  - a party is made ready only while it waits, and once;
 *  - after an operation has returned, its waiters are in no queue and not touched, and its party's
 *    claim is not asked for them.
 *
 * Broken on purpose:
 *  NO_CLAIM               a partner takes a select's waiter off a queue without winning its claim
 *  CLAIM_IN_TWO_STEPS     the claim is read and then set
 *  WITHDRAW_UNASKED       the home ends a select without winning its claim
 *  UNLOCK_BEFORE_ENQUEUE  the locks are released between the look and the queues
 *  ONE_LOCK_AT_A_TIME     the select looks and enqueues channel by channel
 *  LOCKS_AS_LISTED        locks are taken in the order of the cases
 *  DEQUEUE_WITHOUT_LOCK   the lock is not taken for a waiter that is off its queue already
 *  STATUS_AFTER_READY     the status is written after the party has been made ready */
#define PARTIES 3
#define PLAIN 2 /* the party; its waiter is 4 */
#define WAITERS 5
#define NONE 15
#define PARTY(waiter) ((waiter) / 2)

#define RECEIVE 0
#define SEND 1
#define CLOSE 2

mtype = { OK, EPIPE, EAGAIN, ENDED };

bool locked[2], closed[2];
chan queue[4] = [WAITERS] of { byte }; /* channel * 2 + side */

byte channel_of[WAITERS], side_of[WAITERS];
byte with[WAITERS] = NONE; /* the waiter of the partner it exchanged an item with */
mtype status[WAITERS];

bool alive[PARTIES]; /* the memory of the operation's waiters is valid */
bool unclaimed[PARTIES];
bool waits[PARTIES], woken[PARTIES];
bool end_all;         /* a cancel for all */
byte outcomes[PARTIES], finished;

#define QUEUE(waiter) queue[channel_of[waiter] * 2 + side_of[waiter]]
#define QUEUED(waiter) (QUEUE(waiter)??[eval(waiter)])

inline lock(c) { atomic { !locked[c] -> locked[c] = true } }
inline unlock(c) { locked[c] = false }

inline ready(party)
{
    atomic { assert(waits[party] && !woken[party]); woken[party] = true }
}

/* ---- one channel, under its lock ---- */

inline claim_first(q)
{
    do
    :: empty(queue[q]) -> break
    :: nempty(queue[q]) ->
        atomic { queue[q]?partner; assert(alive[PARTY(partner)]) }
        if
        :: PARTY(partner) == PLAIN -> break
#ifdef NO_CLAIM
        :: else -> break
#elif defined(CLAIM_IN_TWO_STEPS)
        :: PARTY(partner) != PLAIN && unclaimed[PARTY(partner)] ->
            unclaimed[PARTY(partner)] = false;
            break
        :: PARTY(partner) != PLAIN && !unclaimed[PARTY(partner)] -> partner = NONE
#else
        :: atomic {
                PARTY(partner) != PLAIN && unclaimed[PARTY(partner)] ->
                assert(alive[PARTY(partner)]);
                unclaimed[PARTY(partner)] = false
            }
            break
        :: atomic {
                PARTY(partner) != PLAIN && !unclaimed[PARTY(partner)] ->
                assert(alive[PARTY(partner)]);
                partner = NONE
            }
#endif
        fi
    od
}

/* Writes the result to a claimed waiter. */
inline tell(result)
{
    assert(alive[PARTY(partner)]);
#ifdef STATUS_AFTER_READY
    told = result;
#else
    status[partner] = result;
#endif
    outcomes[PARTY(partner)]++;
    assert(outcomes[PARTY(partner)] == 1)
}

inline ready_partner()
{
    if
    :: partner != NONE ->
        ready(PARTY(partner));
#ifdef STATUS_AFTER_READY
        assert(alive[PARTY(partner)]);
        status[partner] = told;
#endif
        partner = NONE
    :: else
    fi
}

/* lt_chan_now, for the case or operation `me` */
inline now(me)
{
    if
    :: closed[channel_of[me]] -> result = EPIPE
    :: else ->
        claim_first(channel_of[me] * 2 + (1 - side_of[me]));
        atomic {
            if
            :: partner == NONE
            :: else ->
                assert(with[partner] == NONE && with[me] == NONE);
                with[partner] = me;
                with[me] = partner;
                tell(OK);
                result = OK
            fi
        }
    fi;
    atomic {
        if
        :: result != EAGAIN ->
            outcomes[self]++;
            assert(outcomes[self] == 1);
            mine = me
        :: else
        fi
    }
}

/* ---- waiting ---- */

inline begin()
{
    atomic { alive[self] = true; waits[self] = true; unclaimed[self] = true }
}

/* Reads the result that a partner left, and ends the memory. */
inline return_from_wait()
{
    atomic {
        if
        :: result == EAGAIN ->
            if
            :: self == PLAIN -> mine = 4
            :: self != PLAIN && status[2 * self] != 0 -> mine = 2 * self
            :: self != PLAIN && status[2 * self] == 0 -> mine = 2 * self + 1
            fi;
            result = status[mine]
        :: else
        fi;
        waits[self] = false; woken[self] = false; alive[self] = false
    }
}

/* The waiters are in no queue, and have no partner but that of the result. */
inline check_outcome()
{
    d_step {
        assert(result == OK || result == EPIPE || result == ENDED);
        assert((result == ENDED) == (outcomes[self] == 0));
        k = 0;
        do
        :: k < WAITERS && PARTY(k) == self ->
            assert(!QUEUED(k));
            assert((with[k] != NONE) == (result == OK && mine == k));
            k++
        :: k < WAITERS && PARTY(k) != self -> k++
        :: else -> break
        od;
        k = 0; mine = 0;
        finished++
    }
}

/* ---- select ---- */

inline lock_all()
{
#ifdef LOCKS_AS_LISTED
    lock(channel_of[first]);
    if
    :: channel_of[first + 1] != channel_of[first] -> lock(channel_of[first + 1])
    :: else
    fi
#else
    lock(0);
    if
    :: channel_of[first] + channel_of[first + 1] == 1 -> lock(1)
    :: else
    fi
#endif
}

inline unlock_all()
{
    unlock(0);
    if
    :: channel_of[first] + channel_of[first + 1] == 1 -> unlock(1)
    :: else
    fi
}

inline dequeue(w)
{
#ifdef DEQUEUE_WITHOUT_LOCK
    if
    :: !QUEUED(w)
    :: else ->
#endif
        lock(channel_of[w]);
        atomic {
            if
            :: QUEUED(w) -> QUEUE(w)??eval(w)
            :: else
            fi
        }
        unlock(channel_of[w])
#ifdef DEQUEUE_WITHOUT_LOCK
    fi
#endif
}

inline park_select()
{
    if
    :: true -> woken[self] || end_all
    :: true /* a deadline passes, or only this party's scope is cancelled */
    fi;
    if
    :: woken[self]
#ifdef WITHDRAW_UNASKED
    :: !woken[self] -> result = ENDED
#else
    :: atomic { !woken[self] && unclaimed[self] -> unclaimed[self] = false } result = ENDED
    :: !woken[self] && !unclaimed[self] -> woken[self] /* a partner was faster */
#endif
    fi;
    dequeue(first);
    dequeue(first + 1);
    return_from_wait()
}

proctype Selector(byte self; byte first)
{
    byte partner = NONE, mine, k;
    mtype result = EAGAIN;
#ifdef STATUS_AFTER_READY
    mtype told;
#endif
    /* lt_select_try. Its look is only a hint: any case may look ready, or none. */
    if
    :: k = first
    :: k = first + 1
    :: goto certain
    fi;
    lock(channel_of[k]);
    now(k);
    unlock(channel_of[k]);
    if
    :: result != EAGAIN -> ready_partner(); goto over
    :: else
    fi;
certain:
#ifdef ONE_LOCK_AT_A_TIME
    begin();
    for (k : first .. first + 1) {
        lock(channel_of[k]);
        now(k);
        if
        :: result == EAGAIN -> QUEUE(k)!k
        :: else
        fi;
        unlock(channel_of[k]);
        if
        :: result != EAGAIN ->
            ready_partner();
            dequeue(first);
            dequeue(first + 1);
            atomic { waits[self] = false; alive[self] = false }
            goto over
        :: else
        fi
    }
#else
    lock_all();
    if
    :: k = first
    :: k = first + 1
    fi;
    now(k);
    if
    :: result == EAGAIN -> k = 2 * first + 1 - k; now(k)
    :: else
    fi;
    if
    :: result != EAGAIN -> unlock_all(); ready_partner(); goto over
    :: else
    fi;
#ifdef UNLOCK_BEFORE_ENQUEUE
    unlock_all();
    lock_all();
#endif
    begin();
    atomic { QUEUE(first)!first; QUEUE(first + 1)!(first + 1) }
    unlock_all();
#endif
    park_select();
over:
    check_outcome()
}

/* ---- the plain party ---- */

proctype Plain()
{
    byte self = PLAIN, partner = NONE, mine, k;
    mtype result = EAGAIN;
#ifdef STATUS_AFTER_READY
    mtype told;
#endif
    bool chain[PARTIES];
    if
    :: side_of[4] == CLOSE ->
        lock(channel_of[4]);
        closed[channel_of[4]] = true;
        for (k : RECEIVE .. SEND) {
            do
            :: claim_first(channel_of[4] * 2 + k);
                if
                :: partner == NONE -> break
                :: else -> atomic { tell(EPIPE); chain[PARTY(partner)] = true; partner = NONE }
                fi
            od
        }
        unlock(channel_of[4]);
        for (k : 0 .. 1) {
            if
            :: chain[k] -> chain[k] = false; ready(k)
            :: else
            fi
        }
        finished++
    :: else ->
        lock(channel_of[4]);
        now(4);
        if
        :: result != EAGAIN -> unlock(channel_of[4]); ready_partner()
        :: else ->
            begin();
            QUEUE(4)!4;
            unlock(channel_of[4]);
            if
            :: woken[PLAIN]
            :: end_all && !woken[PLAIN] ->
                lock(channel_of[4]);
                if
                :: QUEUED(4) -> QUEUE(4)??eval(4); unlock(channel_of[4]); result = ENDED
                :: else -> unlock(channel_of[4]); woken[PLAIN]
                fi
            fi;
            return_from_wait()
        fi;
        check_outcome()
    fi
}

/* ---- deadlines, cancels, and the look when nothing moves ---- */

#define CLAIMABLE(w) (waits[PARTY(w)] && QUEUED(w) && (PARTY(w) == PLAIN || unclaimed[PARTY(w)]))

active proctype Ender()
{
    byte a, b;
    timeout;
    d_step {
        assert(!locked[0] && !locked[1]);
        assert(!woken[0] && !woken[1] && !woken[PLAIN]);
        a = 0;
        do
        :: a < WAITERS ->
            assert(!CLAIMABLE(a) || !closed[channel_of[a]]);
            b = 0;
            do
            :: b < WAITERS ->
                assert(!CLAIMABLE(a) || !CLAIMABLE(b) || PARTY(a) == PARTY(b) ||
                       channel_of[a] != channel_of[b] || side_of[a] == side_of[b]);
                b++
            :: else -> break
            od;
            a++
        :: else -> break
        od;
        a = 0; b = 0;
        end_all = true
    }
    finished == PARTIES
}

init {
    atomic {
        byte i;
        for (i : 0 .. 3) {
            if
            :: side_of[i] = RECEIVE
            :: side_of[i] = SEND
            fi
        }
#ifndef SAME
        channel_of[1] = 1;
        channel_of[2] = 1;
#endif
        if
        :: side_of[4] = RECEIVE
        :: side_of[4] = SEND
        :: side_of[4] = CLOSE
        fi;
#ifndef SAME
        if
        :: channel_of[4] = 0
        :: channel_of[4] = 1
        fi;
#endif
        run Selector(0, 0);
        run Selector(1, 2);
        run Plain()
    }
}
