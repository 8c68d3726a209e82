/* split_buffer.pml: a buffer whose two ends have locks of their own, beside the channel's lock.
 *
 * Models lt_split_move, lt_split_gather, lt_split_give_back and lt_chan_split of chan/split.c,
 * with lt_chan_send_now, lt_chan_receive_now and the queues as in channel.pml. SENDERS send ITEMS
 * each, RECEIVERS receive until they are refused, and the channel is closed at any time. The
 * buffer is not split at first; a party that finds it full or empty may split it. A move at an end
 * has two steps: the item's slot, and then the count that the other end reads.
 *
 * Proves:
 *  - a slot is filled only when it is free, and emptied only when it is full;
 *  - whenever all locks are free, a receiver waits only if the buffer is empty, a sender only if it
 *    is full, and no party in a closed channel;
 *  - each item that was sent is received once, those of one sender in order; after the close no
 *    party stays parked.
 *
 * Broken on purpose:
 *  END_ALONE         a party that takes the channel's lock does not take the ends' locks
 *  ONE_END           it takes only that of the sending end
 *  WAITER_UNSEEN     a move at an end ignores waiters at the other end
 *  CLOSED_UNSEEN     a move at an end ignores that the channel is closed
 *  COUNT_FIRST       the count changes before the item is in its slot, or has left it
 *  NOT_GIVEN_BACK    what changed under all locks is not given back to the ends
 *  FREED_EARLY       (FREED: the receiver of the last item frees the channel) it takes only the
 *                    ends' locks
 *  SEEN_TOO_MUCH     a receiver believes that there is one item more than it has seen */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef RECEIVERS
#define RECEIVERS 1
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef ITEMS
#define ITEMS 2
#endif
#define PARTIES (SENDERS + RECEIVERS) /* senders come first */
#define ALL (SENDERS * ITEMS)         /* items are 1 to ALL; 0 is none */
#define NONE 255

mtype = { OK, EPIPE, NOT_NOW };

bool locked, sending, receiving; /* the three locks */
bool split, closed;
byte slot[CAP];
byte first, count;                     /* valid with the lock held, and before the split */
byte tail, head, sent, received;       /* the ends' */
byte seen_sent, seen_received;
chan receivers = [PARTIES] of { byte };
chan senders = [PARTIES] of { byte };
byte item[PARTIES];
mtype status[PARTIES];
bool waits[PARTIES], woken[PARTIES];
bool was_sent[ALL + 1];
byte got[ALL + 1], last_of[SENDERS];
byte finished, total;
bool freed;

inline lock()
{
    atomic { !locked -> locked = true }
#ifndef END_ALONE
    if
    :: split ->
        atomic { !sending -> sending = true }
#ifndef ONE_END
        atomic { !receiving -> receiving = true }
#endif
    :: else
    fi;
#endif
    d_step {
        if
        :: split -> first = head; count = sent - received
        :: else
        fi
    }
}

inline unlock()
{
    d_step {
        assert(empty(receivers) || empty(senders));
        assert(empty(receivers) || count == 0);
        assert(empty(senders) || count == CAP);
        assert(!closed || (empty(receivers) && empty(senders)));
        if
        :: split ->
#ifndef NOT_GIVEN_BACK
            head = first; tail = (first + count) % CAP;
            seen_sent = received + count; seen_received = received;
            sent = received + count;
#endif
#ifndef END_ALONE
            sending = false;
#ifndef ONE_END
            receiving = false;
#endif
#endif
        :: else
        fi
    }
    d_step { assert(!freed); locked = false }
}

/* By the receiver of the last item: no other party needs the channel. */
inline free()
{
#ifndef FREED_EARLY
    atomic { !locked -> locked = true }
#endif
    if
    :: split ->
        atomic { !sending -> sending = true }
        atomic { !receiving -> receiving = true }
    :: else
    fi;
    freed = true
}

/* With the lock held. The new ends begin with both their locks taken. */
inline maybe_split()
{
    if
    :: !split -> d_step {
        tail = (first + count) % CAP; head = first; received = 0; sent = count;
        seen_sent = count; seen_received = 0;
#ifndef END_ALONE
        sending = true;
#ifndef ONE_END
        receiving = true;
#endif
#endif
        split = true }
    :: true
    fi
}

inline put(at, what) { d_step { assert(slot[at] == 0); slot[at] = what } }
inline take(at, what) { d_step { assert(slot[at] != 0); what = slot[at]; slot[at] = 0 } }
inline ready(party) { d_step { assert(waits[party] && !woken[party]); woken[party] = true } }

/* ---- at an end ---- */

#if defined(WAITER_UNSEEN)
#define TAKES_ALL(queue) closed
#elif defined(CLOSED_UNSEEN)
#define TAKES_ALL(queue) (len(queue) > 0)
#else
#define TAKES_ALL(queue) (closed || len(queue) > 0)
#endif

inline send_at_end()
{
    atomic { !sending -> sending = true }
    if
    :: TAKES_ALL(receivers) -> skip
    :: else ->
        if
        :: sent - seen_received == CAP -> seen_received = received
        :: else
        fi;
        if
        :: sent - seen_received < CAP ->
#ifdef COUNT_FIRST
            sent++;
#endif
            put(tail, mine);
            tail = (tail + 1) % CAP;
#ifndef COUNT_FIRST
            sent++;
#endif
            result = OK
        :: else
        fi
    fi;
    sending = false
}

inline receive_at_end()
{
    atomic { !receiving -> receiving = true }
    if
    :: TAKES_ALL(senders) -> skip
    :: else ->
        if
        :: seen_sent == received -> seen_sent = sent
        :: else
        fi;
#ifdef SEEN_TOO_MUCH
        if
        :: seen_sent + 1 > received ->
#else
        if
        :: seen_sent > received ->
#endif
#ifdef COUNT_FIRST
            received++;
#endif
            take(head, mine);
            head = (head + 1) % CAP;
#ifndef COUNT_FIRST
            received++;
#endif
            result = OK
        :: else
        fi
    fi;
    receiving = false
}

/* ---- with the lock ---- */

inline send_now()
{
    if
    :: closed -> result = EPIPE
    :: !closed && len(receivers) > 0 ->
        receivers?partner;
        d_step { item[partner] = mine; status[partner] = OK; result = OK }
    :: !closed && len(receivers) == 0 && count < CAP ->
        put((first + count) % CAP, mine);
        count++;
        result = OK
    :: else -> result = NOT_NOW
    fi
}

inline receive_now()
{
    if
    :: count > 0 ->
        take(first, mine);
        d_step { first = (first + 1) % CAP; count--; result = OK }
        if
        :: len(senders) > 0 ->
            senders?partner;
            put((first + count) % CAP, item[partner]);
            d_step { count++; status[partner] = OK }
        :: else
        fi
    :: count == 0 && closed -> result = EPIPE
    :: else -> result = NOT_NOW
    fi
}

inline wait_or_finish(queue)
{
    if
    :: result == NOT_NOW ->
        maybe_split();
        d_step { item[self] = mine; waits[self] = true }
        queue!self;
        unlock();
        atomic {
            woken[self] ->
            result = status[self]; mine = item[self];
            waits[self] = false; woken[self] = false; item[self] = 0; status[self] = 0
        }
    :: else ->
        unlock();
        if
        :: partner != NONE -> ready(partner); partner = NONE
        :: else
        fi
    fi
}

proctype Sender(byte self)
{
    byte mine = self * ITEMS + 1, k, partner = NONE;
    mtype result;
    for (k : 1 .. ITEMS) {
        result = NOT_NOW;
        if
        :: split -> send_at_end()
        :: else
        fi;
        if
        :: result == NOT_NOW -> lock(); send_now(); wait_or_finish(senders)
        :: else
        fi;
        d_step {
            was_sent[self * ITEMS + k] = (result == OK);
            mine = self * ITEMS + k + 1
        }
    }
    atomic { mine = 0; k = 0; finished++ }
}

proctype Receiver(byte self)
{
    byte mine, partner = NONE;
    mtype result;
    do
    :: result = NOT_NOW;
        if
        :: split -> receive_at_end()
        :: else
        fi;
        if
        :: result == NOT_NOW -> lock(); receive_now(); wait_or_finish(receivers)
        :: else
        fi;
        if
        :: result == OK -> d_step {
            got[mine]++;
            assert(got[mine] == 1);
#if RECEIVERS == 1
            assert(mine > last_of[(mine - 1) / ITEMS]);
            last_of[(mine - 1) / ITEMS] = mine;
#endif
            mine = 0; total++ }
#ifdef FREED
            if
            :: total == ALL -> free(); break
            :: else
            fi
#endif
        :: else -> break
        fi
    od;
    finished++
}

proctype Closer()
{
    byte partner = NONE;
    bool chain[PARTIES];
    lock();
    closed = true;
    do
    :: nempty(receivers) -> receivers?partner;
        d_step { status[partner] = EPIPE; chain[partner] = true }
    :: nempty(senders) -> senders?partner;
        d_step { status[partner] = EPIPE; chain[partner] = true }
    :: empty(receivers) && empty(senders) -> break
    od;
    unlock();
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
#ifdef FREED
    finished == PARTIES;
#else
    finished == PARTIES + 1;
#endif
    assert(freed || (!locked && !sending && !receiving));
    for (k : 1 .. ALL) {
        assert(got[k] == was_sent[k])
    }
}

init {
    atomic {
        byte i;
        for (i : 0 .. SENDERS - 1) { run Sender(i) }
        for (i : SENDERS .. PARTIES - 1) { run Receiver(i) }
#ifndef FREED
        run Closer()
#endif
    }
}
