/* semaphore.pml: callers that take permits, and callers that release them.
 *
 * Models leat_acquire_until and leat_release of flow/semaphore.c. A compare-and-swap that succeeds
 * is one step, since what it stores depends on nothing but what it compares. So is an operation on
 * one of the two channels: models/channel.pml is about these.
 *
 * RELEASERS release one permit each. Of the ACQUIRERS the first takes SMALL permits, and each of
 * the others one. The waits of the first GIVES_UP may end without a permit, as by a deadline. When
 * all permits have been released and no acquirer is left, the semaphore is freed: a release may
 * then still be under way, but touches nothing any more.
 *
 * Proves:
 *  - no permit is lost or made;
 *  - no wake-up is lost: all acquirers end;
 *  - a wake-up finds room in its channel;
 *  - no party touches the semaphore after it has been freed.
 *
 * Broken on purpose:
 *  MARKED_LATE    the head marks the permits in a step of its own, after it has found too few
 *  SENT_FIRST     a release wakes the head before it adds its permits
 *  MARK_KEPT      a release adds its permits and leaves the mark
 *  SENT_UNASKED   a release sends without a mark
 * with GIVES_UP=1:
 *  FREED_UNASKED  a head that gives up takes its mark back, but does not wait for the wake-up of a
 *                 release that has taken the mark before
 *  MARK_LEFT      a head that gives up leaves its mark
 *  TURN_KEPT      a head that gives up does not give its turn to the next */
#ifndef ACQUIRERS
#define ACQUIRERS 3
#endif
#ifndef RELEASERS
#define RELEASERS 4
#endif
#ifndef SMALL
#define SMALL 2
#endif
#ifndef GIVES_UP
#define GIVES_UP 0
#endif

/* The semaphore. `permits` and `wanted` are one word. */
byte permits, waiting, freed;
bool wanted, turn = true;

/* What happens outside. */
byte released, held, acquirers = ACQUIRERS;
bool gone;

inline touch() { assert(!gone) }

/* True: `taken`. Else the head's mark is set, if `marks`. */
inline take(marks)
{
    atomic {
        touch();
        if
        :: permits >= n -> permits = permits - n; held = held + n; taken = true
        :: else ->
            taken = false;
#ifndef MARKED_LATE
            wanted = wanted || marks
#endif
        fi
    }
#ifdef MARKED_LATE
    if
    :: !taken && marks -> wanted = true
    :: else
    fi
#endif
}

inline give_up()
{
    atomic {
        touch();
        if
        :: wanted ->
#ifndef MARK_LEFT
            wanted = false;
#endif
            given_up = true
        :: else
        fi
    }
#ifndef FREED_UNASKED
    if
    :: given_up
    :: !given_up -> atomic { freed > 0 -> freed-- }
    fi;
#endif
    given_up = true
}

inline take_in_turn()
{
    atomic { touch(); waiting++ }
    if
    :: atomic { turn -> touch(); turn = false }
        do
        :: true ->
            take(true);
            if
            :: taken -> break
            :: else
            fi;
            if
            :: atomic { freed > 0 -> touch(); freed-- }
            :: impatient -> give_up(); break
            fi
        od;
#ifdef TURN_KEPT
        if
        :: given_up
        :: !given_up -> turn = true
        fi
#else
        atomic { touch(); assert(!turn); turn = true }
#endif
    :: impatient
    fi;
    atomic { touch(); waiting-- }
}

proctype Acquirer(byte n; bool impatient)
{
    bool taken, given_up, alone;
    atomic { touch(); alone = waiting == 0 }
    if
    :: alone -> take(false)
    :: else
    fi;
    if
    :: !taken -> take_in_turn()
    :: else
    fi;
    acquirers--
}

proctype Releaser()
{
    bool asked;
#ifdef SENT_FIRST
    atomic {
        touch();
        asked = wanted;
        if
        :: asked -> freed++
        :: else
        fi
    }
#endif
    atomic {
        touch();
        asked = wanted;
        permits++;
        released++;
#ifndef MARK_KEPT
        wanted = false
#endif
    }
    assert(permits + held <= RELEASERS);
#ifdef SENT_UNASKED
    asked = true;
#endif
#ifndef SENT_FIRST
    if
    :: asked -> atomic { touch(); assert(freed == 0); freed++ }
    :: else
    fi
#endif
}

init {
    byte i;
    atomic {
        run Acquirer(SMALL, GIVES_UP > 0);
        i = 1;
        do
        :: i < ACQUIRERS -> run Acquirer(1, GIVES_UP > i); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < RELEASERS -> run Releaser(); i++
        :: else -> break
        od
    }
    atomic {
        released == RELEASERS && acquirers == 0 -> gone = true;
        assert(permits + held == RELEASERS);
        assert(GIVES_UP > 0 || held == SMALL + ACQUIRERS - 1)
    }
}
