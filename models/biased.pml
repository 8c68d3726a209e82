/* biased.pml: the lock that its owner takes with plain stores.
 *
 * Speaks for base/biased.h and biased.c. PARTIES of equal rights take the lock OPS times each. Whoever
 * takes it as an ordinary lock may become its owner, the first time in its life; and who takes that right
 * back may be a visitor, after whom the former owner may become it again. Stores to `grip` go through a
 * buffer of their party's, as on the processor, and come to memory at any later time, in order; the
 * barrier waits until all buffers are empty.
 *
 * (The other stores come to memory at once: `owner` is written and read with the lock held, but by the
 * owner itself, and a lock given back late only looks held for longer.)
 *
 * Proves:
 *  - never are two inside;
 *  - who gives the lock back knows by `grip` how it was taken;
 *  - everybody gets it in the end: nobody waits for a grip that stays;
 *  - who has looked at several things without the lock, and finds that it is the owner still, has seen them as they
 *    were at one moment: here two that are equal except while somebody is inside.
 *
 * Broken on purpose:
 *  NO_BARRIER    who takes the right back looks at once
 *  NO_RECHECK    the owner does not look again when it has reached
 *  HELD_ONLY     who takes the right back does not wait for one that is reaching
 *  TAKEN_LATE    `owner` is written after the barrier
 *  GIVEN_AGAIN   it may be given to another when a visitor has taken it back
 *  UNSETTLED     an owner's lock is taken as an ordinary one without a look at the owner
 *  ASKED_FIRST   who looks without the lock asks before instead of after */
#ifndef PARTIES
#define PARTIES 3
#endif
#ifndef OPS
#define OPS 2
#endif

#define NOBODY 255

mtype = { LOOSE, REACHING, HELD };

bool locked, settled, given;
byte owner = NOBODY, former = NOBODY, inside, one, other;
mtype grip = LOOSE;

chan stores[PARTIES] = [3] of { mtype };
mtype last[PARTIES]; /* that the party stored */

active [PARTIES] proctype buffer()
{
end:
    do
    :: atomic { stores[_pid]?[_] -> stores[_pid]?grip }
    od
}

inline store(value) { atomic { last[me] = value; stores[me]!value } }

/* As the party sees it: its own stores first. */
#define grip_is(value) \
    ((nempty(stores[me]) && last[me] == value) || (empty(stores[me]) && grip == value))

#if PARTIES == 2
#define all_empty (empty(stores[0]) && empty(stores[1]))
#else
#define all_empty (empty(stores[0]) && empty(stores[1]) && empty(stores[2]))
#endif

inline enter()
{
    inside++;
    assert(inside == 1);
    one = 1 - one;
    other = 1 - other
}

inline look()
{
#ifdef ASKED_FIRST
    if
    :: owner == me -> seen = one; assert(seen == other)
    :: else -> skip
    fi
#else
    seen = one;
    same = (seen == other);
    assert(same || owner != me)
#endif
}

inline take_back()
{
    had = owner;
#ifndef TAKEN_LATE
    owner = NOBODY;
#endif
#ifndef NO_BARRIER
    all_empty;
#endif
#ifdef TAKEN_LATE
    owner = NOBODY;
#endif
#ifdef HELD_ONLY
    grip_is(LOOSE) || grip_is(REACHING);
#else
    grip_is(LOOSE);
#endif
    if
    :: settled = true
#ifdef GIVEN_AGAIN
    :: given = false
#else
    :: former = had
#endif
    fi
}

inline consider()
{
    if
    :: settled -> skip
    :: else ->
        if
#ifndef UNSETTLED
        :: owner != NOBODY -> take_back()
#else
        :: owner != NOBODY -> skip
#endif
        :: owner == NOBODY && !given -> owner = me; given = true
        :: owner == NOBODY && former == me -> owner = me
        :: owner == NOBODY -> skip
        fi
    fi
}

active [PARTIES] proctype party()
{
    byte me = _pid - PARTIES, n, had, seen;
    bool mine, same;
    for (n : 1 .. OPS) {
        if
        :: n == OPS && me == 0 -> look()
        :: skip
        fi;
        mine = false;
        if
        :: owner == me ->
            store(REACHING);
#ifndef NO_RECHECK
            if
            :: owner == me -> store(HELD); mine = true
            :: else -> store(LOOSE)
            fi
#else
            store(HELD);
            mine = true
#endif
        :: else -> skip
        fi;
        if
        :: mine -> skip
        :: else ->
            atomic { !locked -> locked = true }
            consider()
        fi;
        enter();
        inside--;
        if
        :: grip_is(HELD) -> assert(mine); store(LOOSE)
        :: else -> assert(!mine); locked = false
        fi
    }
}
