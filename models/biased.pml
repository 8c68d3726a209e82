/* biased.pml: the lock that its owner takes with plain stores.
 *
 * Models base/biased.h and biased.c. PARTIES equal parties take the lock OPS times each. A party
 * that takes it as an ordinary lock may become its owner, if the lock has had no owner yet. A
 * party that revokes this right may be a visitor; then the former owner may become the owner
 * again. Stores to `grip` go through a buffer of the party, as on a processor, and reach memory at
 * any later time, in order; the barrier waits until all buffers are empty.
 *
 * (Other stores reach memory at once. `owner` is written and read with the lock held, except that
 * a party asks without it whether it is the owner itself. A late release only makes the lock look
 * held for longer.)
 *
 * Proves:
 *  - two parties are never inside at once;
 *  - at the release, `grip` shows how the party took the lock;
 *  - every party gets the lock in the end: none waits for a `grip` that stays;
 *  - if a party reads several values without the lock, and then finds that it is still the owner,
 *    it has read them as they were at one moment: here two values that differ only while a party
 *    is inside.
 *
 * Broken on purpose:
 *  NO_BARRIER    the revoker reads `grip` without a barrier
 *  NO_RECHECK    the owner does not read `owner` again after it has written REACHING
 *  HELD_ONLY     the revoker does not wait for an owner that is reaching
 *  TAKEN_LATE    the revoker writes `owner` after the barrier
 *  GIVEN_AGAIN   when a visitor has revoked the right, any party may get it
 *  UNSETTLED     the lock is taken as an ordinary one without a look at `owner`
 *  ASKED_FIRST   a party that reads without the lock reads `owner` before, and not after */
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
mtype last[PARTIES]; /* the party's last store */

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
