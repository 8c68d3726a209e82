/* channel.pml: one channel, plain operations, closing.
 *
 * Models lt_chan_send_now, lt_chan_receive_now and lt_chan_claim_first of chan/now.h,
 * lt_chan_close_now and refuse_all of chan/chan.c, and operate, lt_chan_wait_begin and withdraw of
 * chan/operate.c. SENDERS send ITEMS each, RECEIVERS receive until they are refused, any operation
 * may have a deadline, and the channel is closed at any time. CAP is 0 or 1. The deadline acts in
 * the party's own process, which stands for its home while the party does not run.
 *
 * Proves:
 *  - chan.h's invariants hold whenever the lock is released;
 *  - at the end each item has been received once if its send succeeded, and else not at all; items
 *    of one sender come in order;
 *  - a party is made ready only while it waits, and once a wait;
 *  - a waiter is not touched after its operation has returned;
 *  - after the close no party stays parked.
 *
 * Broken on purpose:
 *  CLAIM_WITHOUT_LOCK      a sender looks for a receiver without the lock
 *  CLAIMED_STAYS_QUEUED    a party that claims a waiter leaves it in its queue
 *  READY_BEFORE_COPY       the receiver is made ready before it has its item
 *  UNLOCK_BEFORE_ENQUEUE   the lock is released between the look and the queue
 *  WITHDRAW_UNASKED        the deadline ends the wait though a partner has claimed it
 *  NEXT_SENDER_FORGOTTEN   a place that becomes free in the buffer is not given to a waiting sender
 *  CLOSE_ONE_SIDE          closing refuses receivers only
 *  CLOSED_TOO_LATE         closing sets `closed` after it has released the lock */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef RECEIVERS
#define RECEIVERS 1
#endif
#ifndef CAP
#define CAP 0
#endif
#ifndef ITEMS
#define ITEMS 1
#endif
#define PARTIES (SENDERS + RECEIVERS) /* senders come first */
#define ALL (SENDERS * ITEMS)         /* items are 1 to ALL; 0 is none */
#define NONE 255

mtype = { OK, EPIPE, EAGAIN, ETIMEDOUT };

bool locked, closed;
byte count, slot;
chan receivers = [PARTIES] of { byte };
chan senders = [PARTIES] of { byte };

/* Each party's one waiter. */
bool alive[PARTIES]; /* the waiter's memory is valid */
byte item[PARTIES];
mtype status[PARTIES];
bool waits[PARTIES], woken[PARTIES];

bool sent[ALL + 1];
byte got[ALL + 1], last_of[SENDERS];
byte finished;

inline lock() { atomic { !locked -> locked = true } }

inline unlock()
{
    atomic {
        assert(locked);
        assert(empty(receivers) || empty(senders));
        assert(empty(receivers) || count == 0);
        assert(empty(senders) || count == CAP);
#ifndef CLOSED_TOO_LATE
        assert(!closed || (empty(receivers) && empty(senders)));
#endif
        locked = false
    }
}

inline ready(party)
{
    atomic { assert(waits[party] && !woken[party]); woken[party] = true }
}

/* Takes the first waiter off its queue, in two steps: its pointers are changed one by one. */
inline claim_first(queue)
{
    if
    :: queue?<partner> ->
#ifndef CLAIMED_STAYS_QUEUED
        atomic { assert(queue??[eval(partner)]); queue??eval(partner) }
#endif
    :: empty(queue)
    fi
}

inline claimed(result)
{
    assert(alive[partner]);
    status[partner] = result
}

inline send_now()
{
    if
    :: closed -> result = EPIPE
    :: else ->
        claim_first(receivers);
        if
        :: partner != NONE ->
#ifdef READY_BEFORE_COPY
            ready(partner);
#endif
            assert(alive[partner]);
            item[partner] = mine;
            claimed(OK);
            result = OK
        :: partner == NONE && count == CAP -> result = EAGAIN
        :: partner == NONE && count < CAP ->
            atomic { slot = mine; count++ }
            result = OK
        fi
    fi
}

inline receive_now()
{
    if
    :: atomic { count > 0 -> mine = slot; slot = 0; count-- }
        result = OK;
#ifndef NEXT_SENDER_FORGOTTEN
        claim_first(senders);
        if
        :: partner != NONE ->
            assert(alive[partner]);
            atomic { slot = item[partner]; count++ }
            claimed(OK)
        :: else
        fi
#endif
    :: count == 0 && closed -> result = EPIPE
    :: count == 0 && !closed ->
        claim_first(senders);
        if
        :: partner != NONE ->
            assert(alive[partner]);
            mine = item[partner];
            claimed(OK);
            result = OK
        :: else -> result = EAGAIN
        fi
    fi
}

/* Parks until a partner, or the deadline if the operation has one, ends the wait. */
inline park(queue)
{
    if
    :: true -> woken[self]
    :: true -> /* with a deadline */
        if
        :: woken[self]
        :: !woken[self] -> /* at home: withdraws, or waits on if a partner has claimed it */
            lock();
            if
            :: queue??[eval(self)] -> queue??eval(self); unlock(); result = ETIMEDOUT
            :: else -> unlock()
#ifdef WITHDRAW_UNASKED
                result = ETIMEDOUT
#else
                woken[self]
#endif
            fi
        fi
    fi;
    atomic {
        if
        :: result == EAGAIN -> result = status[self]; mine = item[self]
        :: else
        fi;
        waits[self] = false; woken[self] = false;
        alive[self] = false; item[self] = 0; status[self] = 0
    }
}

/* Called after send_now or receive_now, with the lock still held. */
inline wait_or_finish(queue)
{
    if
    :: result == EAGAIN ->
#ifdef UNLOCK_BEFORE_ENQUEUE
        unlock();
#endif
        atomic { alive[self] = true; item[self] = mine; waits[self] = true }
#ifdef UNLOCK_BEFORE_ENQUEUE
        lock();
#endif
        queue!self;
        unlock();
        park(queue)
    :: else ->
        unlock();
#ifndef READY_BEFORE_COPY
        if
        :: partner != NONE -> ready(partner)
        :: else
        fi;
#endif
        partner = NONE
    fi
}

proctype Sender(byte self)
{
    byte mine = self * ITEMS + 1, partner = NONE, k;
    mtype result;
    for (k : 1 .. ITEMS) {
#ifdef CLAIM_WITHOUT_LOCK
        send_now();
        lock();
#else
        lock();
        send_now();
#endif
        wait_or_finish(senders);
        if
        :: result == OK -> sent[mine] = true
        :: else /* it is still ours */
        fi;
        mine++;
        result = 0
    }
    atomic { mine = 0; k = 0; finished++ }
}

proctype Receiver(byte self)
{
    byte mine, partner = NONE;
    mtype result;
    do
    :: lock();
        receive_now();
        wait_or_finish(receivers);
        if
        :: result == OK ->
            d_step {
                got[mine]++;
                assert(got[mine] == 1);
#if RECEIVERS == 1
                assert(mine > last_of[(mine - 1) / ITEMS]);
                last_of[(mine - 1) / ITEMS] = mine;
#endif
                mine = 0; result = 0
            }
        :: result == ETIMEDOUT -> result = 0
        :: result == EPIPE -> break
        fi
    od;
    finished++
}

proctype Closer()
{
    byte partner = NONE;
    bool chain[PARTIES];
    lock();
#ifndef CLOSED_TOO_LATE
    closed = true;
#endif
    do
    :: empty(receivers) -> break
    :: nempty(receivers) ->
        claim_first(receivers);
        claimed(EPIPE);
        atomic { chain[partner] = true; partner = NONE }
    od;
#ifndef CLOSE_ONE_SIDE
    do
    :: empty(senders) -> break
    :: nempty(senders) ->
        claim_first(senders);
        claimed(EPIPE);
        atomic { chain[partner] = true; partner = NONE }
    od;
#endif
    unlock();
#ifdef CLOSED_TOO_LATE
    closed = true;
#endif
    for (partner : 0 .. PARTIES - 1) {
        if
        :: chain[partner] -> ready(partner); chain[partner] = false
        :: else
        fi
    }
    atomic { partner = NONE; finished++ }
}

active proctype Judge()
{
    byte k;
    finished == PARTIES + 1;
    assert(count == 0 && !locked);
    for (k : 1 .. ALL) {
        assert(got[k] == sent[k])
    }
}

init {
    atomic {
        byte i;
        for (i : 0 .. SENDERS - 1) { run Sender(i) }
        for (i : SENDERS .. PARTIES - 1) { run Receiver(i) }
        run Closer()
    }
}
