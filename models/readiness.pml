/* readiness.pml: parties that wait for a descriptor, in one direction.
 *
 * Models raise_way, lt_io_wait, lt_io_lower, lt_io_drained, lt_io_make_writable, follow,
 * close_ready, lt_io_enter and lt_io_leave of io/io.c, attempt, would_block and repeat of
 * io/transfer.c, lt_io_settle of io/ready.c, lt_io_unread and lt_io_reread of io/unread.c, and add,
 * lt_reactor_remove, lt_reactor_move and the handling of events of sched/reactor.c. The far side
 * adds AMOUNT bytes, or makes as much room, one at a time, and then hangs up. PARTIES read or
 * write, up to two at a time, until they see the end. The system reports edges: an event is
 * pending when something has changed while the descriptor is registered, or if it is ready when it
 * is registered; and a reactor that takes the event sees what is there then.
 *
 * The far side hangs up at any time after the last byte, or when all has been taken.
 *
 *  - The direction is reading: its channel is there from the beginning.
 *  - With OUT it is writing: the first party that has to wait makes the channel. Meanwhile a reader
 *    may register the descriptor. The system reports new room only after a call that found too
 *    little.
 *  - With ASKS as many times a party asks first whether the descriptor is ready (leat_ready).
 *  - With BACKS as many times a party puts back a byte that it has read, and goes.
 *  - With CLOSES the descriptor is closed at any time, and the far side may never hang up.
 *  - With MOVES a party registers the descriptor with another reactor, which fails or not.
 *
 * Proves:
 *  - no event is lost: all parties see the end, or the close;
 *  - the system is not asked about a descriptor after it was closed.
 *
 * Broken on purpose:
 *  NOT_COMPARED     a call lowers the channel though it was raised since
 *  COUNT_LATE       the raises are counted after the call that they date
 *  RAISED_FIRST     the reactor counts a raise when it has released the channel
 *  HUNG_IGNORED     a call that moved less than it could lowers the channel, though the far side
 *                   has hung up
 *  UNREGISTERED     after EAGAIN the descriptor is not registered
 *  SHORT_UNWATCHED  a call that moved less lowers the channel of an unregistered descriptor
 * with ASKS:
 *  ASKED_FIRST      the party counts the raises after it has asked the system
 * with BACKS:
 *  BACK_FIRST       the channel is raised before the byte is back
 *  TAKEN_UNCOUNTED  a read of bytes that came back does not count as a raise
 * with OUT:
 *  RAISES_ZERO      the new channel has the count that a call without a channel has read
 * with CLOSES:
 *  UNCOUNTED        an operation is no user
 *  WOKEN_FIRST      the closer wakes the waiters before the channel counts as closed
 *  MADE_CLOSED      (OUT) the channel is made although the descriptor was closed
 * with MOVES:
 *  FAILS_SILENTLY   after a failure to register, nobody is woken
 *  TAKEN_ALONG      the new reactor is not asked whether the descriptor is ready
 *  REGISTERED_FIRST (ASKS) the party counts the raises after it has registered the descriptor */
#ifndef PARTIES
#define PARTIES 2
#endif
#ifndef AMOUNT
#define AMOUNT 2
#endif
#ifndef REACTORS
#define REACTORS 1
#endif
#ifndef ASKS
#define ASKS 0
#endif
#ifndef BACKS
#define BACKS 0
#endif
#define WHOLE 2 /* a call moves as much at most */

mtype = { MOVED, SHORT, AGAIN, END };

/* The system. */
byte amount, budget = AMOUNT;
bool hung_up, no_room, fd_closed;
bool registered, pending, generation;

/* The descriptor and its channel. What is done under the descriptor's lock, or the channel's, is
 * one step, if nothing reads its results in the middle. */
bool slot_locked, io_locked, locked;
#ifdef OUT
bool made;
#else
#define made true
byte back, may_put_back = BACKS;
#endif
bool count = 1, hung, closing, closed, readable_closed;
bool waits[PARTIES];
#ifdef OUT
#define all_is_taken() (amount == 0)
#else
#define all_is_taken() (amount == 0 && back == 0)
#endif
byte raises, users = 1, asks = ASKS;
#ifdef MOVES
byte moves = 1, failures = 1;
#endif

inline wake_all()
{
    d_step {
        i = 0;
        do
        :: i < PARTIES -> waits[i] = false; i++
        :: else -> break
        od;
        i = 0
    }
}

/* ---- the system ---- */

inline change() { if :: registered -> pending = true :: else fi }

proctype Far()
{
    do
    :: atomic {
            budget > 0 -> budget--; amount++;
#ifdef OUT
            if :: no_room -> no_room = false; change() :: else fi
#else
            change()
#endif
        }
    :: budget == 0 -> break
    od;
    if
    :: true -> all_is_taken() || fd_closed /* it waits for an answer */
    :: true
#ifdef CLOSES
    :: goto done
#endif
    fi;
    atomic { hung_up = true; change() }
done:
    skip
}

/* ---- events ---- */

/* Calls read `raises` without the lock: so this is two steps. */
inline raise(hangs)
{
    if
    :: made ->
        atomic {
            !locked -> locked = true;
#ifndef RAISED_FIRST
            raises++
#endif
        }
        atomic {
            hung = hung || hangs;
            if
            :: !closed -> count = 1; wake_all()
            :: else
            fi;
            locked = false
        }
#ifdef RAISED_FIRST
        raises++
#endif
    :: else
    fi
}

proctype Reactor()
{
    byte i;
    bool seen, hangs;
end:
    do
    :: atomic { pending -> pending = false; seen = generation; hangs = hung_up }
        if
        :: atomic { amount > 0 || hangs -> skip }
            atomic { !slot_locked -> slot_locked = true }
            if
            :: registered && seen == generation -> raise(hangs)
            :: else
            fi;
            atomic { slot_locked = false; seen = false; hangs = false }
        :: else
        fi
    od
}

/* These three under the descriptor's lock. */
inline add()
{
    registered = true;
    if :: amount > 0 || hung_up -> pending = true :: else fi
}

inline remove()
{
    atomic {
        !slot_locked -> registered = false; generation = !generation;
#ifndef TAKEN_ALONG
        pending = false
#endif
    }
}

inline register() { atomic { !io_locked -> if :: !registered -> add() :: else fi } }

/* ---- users ---- */

inline leave()
{
    if
    :: atomic { users > 1 || !closing -> users-- }
    :: atomic { else -> users--; fd_closed = true }
        remove()
    fi
}

#ifdef OUT
/* Of the other direction, only this concerns the writers. */
proctype Reader()
{
    if
    :: atomic { !closing -> users++ }
        register();
        leave()
    :: else
    fi
}
#endif

#ifdef CLOSES
inline mark_closed() { closed = true; count = 0 }

proctype Closer()
{
    byte i;
    closing = true;
    readable_closed = true;
    if
    :: made ->
#ifdef WOKEN_FIRST
        atomic { !locked -> wake_all() }
        atomic { !locked -> mark_closed() }
#else
        atomic { !locked -> mark_closed(); wake_all() }
#endif
    :: else
    fi;
    leave()
}
#endif

/* ---- an operation ---- */

inline lower(surely)
{
    atomic {
        !locked ->
        if
#ifdef NOT_COMPARED
        :: surely || !hung -> count = 0
#else
        :: raises == seen && (surely || !hung) -> count = 0
#endif
        :: else
        fi
    }
}

#ifdef OUT
/* Under the lock of the channel for reading. `over`: it was closed. */
inline make()
{
    atomic {
        if
#ifndef MADE_CLOSED
        :: readable_closed -> over = true
#endif
        :: else ->
            if
            :: !made ->
                made = true;
#ifndef RAISES_ZERO
                raises = 1
#endif
            :: else
            fi
        fi
    }
}
#else
#define make() skip
#endif

inline ask_system()
{
    atomic {
        assert(!fd_closed);
        if
#ifdef OUT
        :: hung_up -> result = END
#else
        :: amount == 0 && hung_up -> result = END
#endif
        :: else ->
            if
            :: amount >= WHOLE -> amount = amount - WHOLE; result = MOVED
            :: else ->
                result = (amount > 0 -> SHORT : AGAIN); amount = 0; no_room = true
            fi
        fi
    }
}

#ifdef OUT
#define call() ask_system()
#else
/* Bytes that came back are first. */
inline call()
{
    if
    :: atomic { back > 0 && !io_locked -> back--; result = SHORT }
#ifndef TAKEN_UNCOUNTED
        atomic { !locked -> raises++ }
#endif
    :: back == 0 -> ask_system()
    fi
}
#endif

/* Waits until the channel is raised. `over` if it was closed. */
inline wait()
{
    atomic {
        !locked ->
        if
        :: closed -> over = true
        :: !closed && count == 0 -> waits[self] = true
        :: else
        fi
    }
    atomic { !waits[self] -> over = closed }
}

#ifdef MOVES
inline move()
{
    if
    :: true
    :: atomic { moves > 0 && !io_locked && registered -> moves--; io_locked = true }
        remove();
        atomic {
            if
            :: failures > 0 -> failures--; failed = true
#ifdef TAKEN_ALONG
            :: registered = true
#else
            :: add()
#endif
            fi;
            io_locked = false
        }
        if
#ifndef FAILS_SILENTLY
        :: failed -> raise(false); failed = false
#endif
        :: else
        fi
    fi
}
#else
#define move() skip
#endif

inline operate()
{
    do
    :: true ->
        if
        :: made && count == 0 -> move(); wait()
        :: else
        fi;
        if :: over -> break :: else fi;
#ifdef COUNT_LATE
        call();
        seen = (made -> raises : 0);
#else
        seen = (made -> raises : 0);
        call();
#endif
        if
        :: result == AGAIN && !made -> make()
        :: result == AGAIN && made ->
#ifndef UNREGISTERED
            register();
#endif
            lower(true)
#ifdef SHORT_UNWATCHED
        :: result == SHORT && made ->
#else
        :: result == SHORT && made && registered ->
#endif
#ifdef HUNG_IGNORED
            lower(true);
#else
            lower(false);
#endif
            break
        :: else -> break
        fi;
        seen = 0;
        if :: over -> break :: else fi
    od
}

/* leat_ready. */
inline ask()
{
    do
    :: true ->
        if :: !made -> make() :: else fi;
        if :: over -> break :: else fi;
#if !defined(ASKED_FIRST) && !defined(REGISTERED_FIRST)
        seen = raises;
#endif
        register();
#ifdef REGISTERED_FIRST
        seen = raises;
#endif
        atomic {
            found = amount > 0 || hung_up;
#ifdef OUT
            no_room = no_room || !found
#else
            found = found || back > 0
#endif
        }
#ifdef ASKED_FIRST
        seen = raises;
#endif
        if
        :: found -> break
        :: else -> lower(true); wait()
        fi;
        if :: over -> break :: else fi
    od;
    found = false
}

#ifdef OUT
#define put_back() skip
#else
/* A party that has put something back leaves the rest to the others. */
inline put_back()
{
    if
    :: true
    :: atomic { (result == MOVED || result == SHORT) && may_put_back > 0 -> may_put_back-- }
#ifdef BACK_FIRST
        raise(false);
#endif
        atomic { !io_locked -> back++; over = true }
#ifndef BACK_FIRST
        raise(false)
#endif
    fi
}
#endif

proctype Party(byte self)
{
    byte i, seen;
    bool over, found, failed;
    mtype result;
    do
    :: true ->
        if
#ifdef UNCOUNTED
        :: !closing
#else
        :: atomic { !closing -> users++ }
#endif
        :: else -> break
        fi;
        if
        :: atomic { asks > 0 -> asks-- } ask()
        :: true
        fi;
        if
        :: !over -> operate(); put_back()
        :: else
        fi;
#ifndef UNCOUNTED
        leave();
#endif
        if
        :: over || result == END -> break
        :: else -> seen = 0; result = 0
        fi
    od
}

init
{
    byte p;
    atomic {
        do
        :: p < PARTIES -> run Party(p); p++
        :: else -> break
        od;
        p = 0;
        do
        :: p < REACTORS -> run Reactor(); p++
        :: else -> break
        od;
        run Far();
#ifdef OUT
        run Reader();
#endif
#ifdef CLOSES
        run Closer()
#endif
    }
}
