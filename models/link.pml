/* link.pml: a run of a remote stage in an engine, its near ends and its far ends.
 *
 * Models link/scripts/*.lua, each script as one step, and how publish.c, deliver.c, serve.c and
 * exchange.c of link/src call them. A far end takes one item at a time, and may have all. The queue
 * is a set. A lease ends at any time when its far end is dead or does not know of it, and STALLS
 * times while the far end works on the item. LOST times a connection is lost with a request: before
 * it has any effect, or before its answer arrives; one of these requests may have its effect at any
 * later time instead, also when its sender is gone. Every far end but one may die at any time, or
 * end and give back what it has. With SECOND the first near end may die, too, and a second one
 * opens the run at any time after it, or never if the first one has ended the run. RESTARTS times
 * the engine is killed and comes back with all that it had: all connections are lost, and all
 * leases have ended meanwhile. It counts as new until all far ends have renewed what they have.
 *
 * publish hands an item over to a far end that waits, if there is a lease for it. The news of that
 * is on its way for less than a lease, and may be lost with a connection, which the far end
 * notices. It has a number: a far end that reports all that it has takes no item of news from
 * before, since that renewal, which does not name the item, gives it back. Nor does it take
 * one that it has no place for: then it reports all.
 *
 * A far end takes when it is ready: when it begins, when it was woken, and again after it got an
 * item or stored a result. Where it got none, the engine notes that it waits. One that is woken and
 * has no place passes that on. It also looks by itself four times in a lease, which the model has
 * only after a lost connection, and after the death of one that was woken: without these, waking
 * must be enough.
 *
 * Proves:
 *  - an item is in one place: in the queue, or leased and owned, or it has its one result;
 *  - there are never more than N leases;
 *  - a far end that has lost its lease stores nothing, and changes no lease of another;
 *  - the receiver gets every index, in order and without a gap, over both near ends;
 *  - with no connection lost, a far end takes no item of news that is not its own;
 *  - a near end is refused only if the other one has opened the run since;
 *  - no item is lost: when nothing can go on, the run has ended, and nothing is queued or leased;
 *    or the first near end took the run back, by an open that was on its way, and has died;
 *  - a far end that comes back to an engine that was away keeps what it has.
 *
 * Broken on purpose:
 *  DONE_UNOWNED       a far end stores a result though it has lost the lease
 *  LEASE_LEFT         the lease of an item that waits again stays
 *  OWNER_LEFT         its owner stays
 *  FAILED_STAYS       an item that has failed for good waits again, too
 *  PUBLISHED_TWICE    publish does not look at what is published already
 *  TAKEN_ANYWAY       take does not look at the number of leases
 *  TAKEN_IN_TWO_STEPS something may come between take's look and its lease
 *  RENEWED_UNOWNED    a lease is renewed though it is another's, or has no owner
 *  KEPT_UNNAMED       a far end renews what it does not name, too
 *  EPOCH_UNCHECKED    confirm does not look at the epoch
 *  OPENED_UNSEEN      open does not look at the epoch that the near end has seen
 *  CONFIRMED_BACK     a late confirm takes back what is delivered
 *  CONFIRMED_UNUSED   a near end confirms what may not have been used
 *  UNWOKEN            publish wakes no far end that waits
 *  BACK_UNWOKEN       renew wakes none for what it lets wait again
 *  NOT_NOTED          take does not note that a far end waits
 *  HANDED_ANYWAY      publish does not look at the number of leases
 *  NEWS_UNNUMBERED    a far end takes an item of news from before it reported all
 *  NEVER_RECLAIMED    no lease that has ended is taken away
 *  NEW_UNSEEN         a lease that ended while the engine was away is taken away at once */
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef N
#define N 1
#endif
#ifndef TRIES
#define TRIES 2
#endif
#ifndef LOST
#define LOST 2
#endif
#ifndef STALLS
#define STALLS 1
#endif
#ifndef PLACES
#define PLACES ITEMS /* of a far end */
#endif
#ifndef FARS
#define FARS 2
#endif
#ifndef SECOND
#define SECOND 0 /* 1: there is a second near end */
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#define NOBODY FARS

mtype = { NONE, OPEN, PUBLISH, CONFIRM, FINISH, TAKE, DONE, RENEW };

/* What the engine has. */
byte epoch, published, delivered, trimmed, leases;
byte opener; /* which near end has opened the run */
bool is_open, refused; /* refused: what open answers */
byte got = ITEMS;      /* what take answers: an item, or ITEMS for none */
byte queued[ITEMS], owner[ITEMS], tries[ITEMS], results[ITEMS];
bool leased[ITEMS];
bool ended[ITEMS]; /* the lease, while the engine was away */
byte waiting[FARS]; /* how many items it would take */
bool is_new;
bool old[FARS]; /* it waits with an old number */
byte many; /* for how many items far ends are woken */

/* Whether a far end has an item. */
bool has[FARS * ITEMS];
#define HAS(f, i) has[(f) * ITEMS + (i)]
bool dead[FARS], gone[2]; /* far ends; near ends */
bool ready[FARS];         /* a take may find something */
bool woken[FARS];         /* no other may have been */
bool all[FARS];           /* the next renewal names all */
byte sent[FARS];          /* of items handed over, a bit for each: the news is on its way */
bool refuses[FARS];       /* news with an old number is on its way */
bool owed;                /* one was woken and is dead */

byte used; /* how many results the receiver has used, from both near ends */
bool over;
byte lost = LOST, stalls = STALLS, restarts = RESTARTS;

/* A request that has its effect later. */
mtype late = NONE;
byte late_by, late_first, late_second;

/* ---- the scripts ---- */

inline check()
{
    n = 0;
    do
    :: n < ITEMS ->
        assert(queued[n] + leased[n] + results[n] == (n < published));
        assert(leased[n] == (owner[n] != NOBODY));
        n++
    :: else -> break
    od;
    n = 0;
    assert(leases <= N)
}

inline lease(i, is)
{
    leases = leases + is - leased[i];
    leased[i] = is;
    ended[i] = false
}

/* For one item one of those that wait, else all. */
inline wake()
{
    if
    :: many == 1 && waiting[0] ->
        waiting[0] = 0; ready[0] = true; woken[0] = true
    :: many == 1 && waiting[FARS - 1] ->
        waiting[FARS - 1] = 0; ready[FARS - 1] = true; woken[FARS - 1] = true
    :: else ->
        n = 0;
        do
        :: n < FARS ->
            ready[n] = ready[n] || waiting[n];
            waiting[n] = 0;
            n++
        :: else -> break
        od;
        n = 0
    fi;
    many = 0
}

#define QUEUED (queued[0] + queued[1] + (ITEMS > 2) * queued[ITEMS - 1])
#define LEFT (QUEUED < N - leases -> QUEUED : N - leases)

inline try_again(i)
{
#ifndef OWNER_LEFT
    owner[i] = NOBODY;
#endif
#ifndef LEASE_LEFT
    lease(i, 0);
#endif
    tries[i]++;
    if
    :: tries[i] < TRIES -> queued[i]++
    :: else ->
#ifdef FAILED_STAYS
        queued[i]++;
#endif
        tries[i] = 0;
        results[i]++
    fi
}

inline script_open(k, seen)
{
    refused = false;
    if
#ifdef OPENED_UNSEEN
    :: true ->
#else
    :: seen == epoch ->
#endif
        epoch++; opener = k; is_open = true;
        n = 0;
        do /* all of them hear it */
        :: n < FARS -> ready[n] = !dead[n]; n++
        :: else -> break
        od;
        n = 0
#ifndef OPENED_UNSEEN
    :: else -> refused = true
#endif
    fi
}

#ifdef HANDED_ANYWAY
#define MAY_HAND(f) waiting[f]
#else
#define MAY_HAND(f) (waiting[f] && leases < N)
#endif

inline hand_over(f, i)
{
    waiting[f]--;
    lease(i, 1);
    owner[i] = f;
    if
    :: old[f] -> refuses[f] = true
    :: else -> sent[f] = sent[f] | (1 << i)
    fi
}

inline script_publish(e, i)
{
    if
#ifdef PUBLISHED_TWICE
    :: e == epoch ->
#else
    :: e == epoch && i == published ->
#endif
        published = i + 1;
        if
#ifndef UNWOKEN
        :: MAY_HAND(0) -> hand_over(0, i)
        :: MAY_HAND(FARS - 1) -> hand_over(FARS - 1, i)
#endif
        :: else ->
            queued[i]++;
#ifndef UNWOKEN
            many = 1; wake()
#endif
        fi
    :: else
    fi
}

inline script_confirm(e, n)
{
    if
#ifdef EPOCH_UNCHECKED
    :: true ->
#else
    :: e == epoch ->
#endif
        if
#ifndef CONFIRMED_BACK
        :: n < delivered
#endif
        :: else -> delivered = n
        fi;
        if
        :: n > trimmed -> trimmed = n
        :: else
        fi
    :: else
    fi
}

inline script_finish(e)
{
    if
    :: e == epoch -> is_open = false
    :: else
    fi
}

#ifdef TAKEN_ANYWAY
#define MAY_TAKE(i, room) (is_open && queued[i])
#else
#ifdef TAKEN_IN_TWO_STEPS
#define MAY_TAKE(i, room) (is_open && queued[i] && room)
#else
#define MAY_TAKE(i, room) (is_open && queued[i] && leases < N)
#endif
#endif

inline take_one(f, i)
{
    queued[i]--; lease(i, 1); owner[i] = f; got = i;
    if
    :: leases < N && QUEUED -> many = LEFT; wake()
    :: else
    fi
}

/* What the far end has, or is on its way to it: take learns that from what the far end believes. */
#define SENT(f, i) ((sent[f] >> (i)) & 1)
#define ITS(f) (HAS(f, 0) + HAS(f, 1) + (ITEMS > 2) * HAS(f, ITEMS - 1) + \
    SENT(f, 0) + SENT(f, 1) + (ITEMS > 2) * SENT(f, ITEMS - 1))

inline script_take(f, room)
{
    if
    :: MAY_TAKE(0, room) -> take_one(f, 0)
    :: MAY_TAKE(1, room) -> take_one(f, 1)
#if ITEMS > 2
    :: MAY_TAKE(2, room) -> take_one(f, 2)
#endif
    :: else ->
#ifndef NOT_NOTED
        old[f] = false;
        /* A dead one does not hear it: the next one does. */
        waiting[f] = (is_open && !dead[f] && PLACES > ITS(f) -> PLACES - ITS(f) : 0);
#endif
        skip
    fi
}

/* A part of take, which does this first, and then takes. */
#ifdef KEPT_UNNAMED
#define ENDS_UNKNOWN(i) false
#else
#define ENDS_UNKNOWN(i) (!HAS(owner[i], i) && !(sent[owner[i]] & (1 << (i))))
#endif
#define IS_DEAD(i) (dead[owner[i]] || ENDS_UNKNOWN(i))
#ifdef NEW_UNSEEN
#define MAY_LOOK true
#else
#define MAY_LOOK (!is_new)
#endif
#ifdef NEVER_RECLAIMED
#define MAY_END(i) false
#else
#define MAY_END(i) (is_open && leased[i] && MAY_LOOK && (IS_DEAD(i) || ended[i] || stalls > 0))
#endif

inline script_look(i)
{
    if
    :: IS_DEAD(i)
    :: else -> assert(!ended[i]); stalls--
    fi;
    try_again(i);
    check()
}

inline script_done(f, i, fails)
{
    if
#ifdef DONE_UNOWNED
    :: true ->
#else
    :: owner[i] == f ->
#endif
        if
        :: fails -> try_again(i)
        :: else ->
            lease(i, 0);
            owner[i] = NOBODY;
            tries[i] = 0;
            results[i]++
        fi
    :: else
    fi;
    if
    :: QUEUED -> many = QUEUED; wake()
    :: else
    fi
}

/* Of all that the far end has; `named`: a bit for each item. */
inline script_renew(f, named, names_all)
{
    n = 0;
    do
    :: n < ITEMS ->
        if
#ifdef RENEWED_UNOWNED
        :: named & (1 << n) -> lease(n, 1)
#else
        :: named & (1 << n) && owner[n] == f -> ended[n] = false
#endif
        :: !(named & (1 << n)) && owner[n] == f ->
#ifdef KEPT_UNNAMED
            skip
#else
            owner[n] = NOBODY; lease(n, 0); queued[n]++
#endif
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0;
    waiting[f] = (names_all -> 0 : waiting[f]);
    if
#ifndef BACK_UNWOKEN
    :: QUEUED -> many = QUEUED; wake()
#endif
    :: else
    fi
}

/* ---- requests ---- */

inline run_script(script, by, first, second)
{
    if
    :: script == OPEN -> script_open(by, first)
    :: script == PUBLISH -> script_publish(first, second)
    :: script == CONFIRM -> script_confirm(first, second)
    :: script == FINISH -> script_finish(first)
    :: script == TAKE -> script_take(by, second)
    :: script == DONE -> script_done(by, first, second)
    :: script == RENEW -> script_renew(by, first, second)
    fi;
    check()
}

/* `answered`: whether there is an answer. To be used in one step with what the answer says. */
inline ask(script, by, first, second)
{
    if
    :: run_script(script, by, first, second); answered = true
    :: lost > 0 -> lost--; answered = false
    :: lost > 0 -> lost--; run_script(script, by, first, second); answered = false
    :: lost > 0 && late == NONE ->
        lost--;
        late = script; late_by = by; late_first = first; late_second = second;
        answered = false
    fi
}

active proctype Late()
{
    byte n;
end:
    do
    :: atomic {
        late != NONE ->
        run_script(late, late_by, late_first, late_second);
#ifndef NEWS_UNNUMBERED
        if
        :: late == TAKE && waiting[late_by] -> old[late_by] = true
        :: late == TAKE && waiting[late_by] && all[late_by]
        :: late != TAKE || !waiting[late_by]
        fi;
#endif
        refused = false; got = ITEMS;
        late = NONE; late_by = 0; late_first = 0; late_second = 0
    }
    od
}

/* ---- far ends ---- */

inline take()
{
#ifdef TAKEN_IN_TWO_STEPS
    room = (leases < N);
#endif
    atomic {
        ask(TAKE, self, 0, room);
        all[self] = all[self] || !answered;
        ready[self] = !answered || got < ITEMS;
        if
        :: answered && got < ITEMS -> HAS(self, got) = 1
        :: else
        fi;
        got = ITEMS; woken[self] = false;
        room = 0; answered = false
    }
}

inline done(i, fails)
{
    ask(DONE, self, i, fails);
    all[self] = all[self] || !answered;
    if
    :: answered -> HAS(self, i) = 0
    :: else
    fi;
    ready[self] = true;
    answered = false
}

/* It gives up what is not its own any more. */
inline renew()
{
#ifndef NEWS_UNNUMBERED
    if
    :: all[self] -> sent[self] = 0; old[self] = waiting[self] > 0
    :: else
    fi;
#endif
    do
    :: n < ITEMS -> named = named + HAS(self, n) * (1 << n); n++
    :: else -> break
    od;
    n = 0;
    ask(RENEW, self, named, all[self]);
    ready[self] = ready[self] || all[self] || !answered;
    all[self] = !answered;
    do
    :: n < ITEMS && answered ->
        ready[self] = ready[self] || (HAS(self, n) && owner[n] != self);
        HAS(self, n) = HAS(self, n) && owner[n] == self;
        n++
    :: else -> break
    od;
    n = 0; named = 0; answered = false
}

inline goes()
{
    dead[self] = true; all[self] = false;
    ready[self] = false; woken[self] = false; waiting[self] = 0;
    sent[self] = 0; refuses[self] = false
}

#define HELD (HAS(self, 0) + HAS(self, 1) + (ITEMS > 2) * HAS(self, ITEMS - 1))

/* A take without a place. The answer says nothing. */
inline pass_on()
{
    woken[self] = false;
    if
    :: leases < N && QUEUED -> many = LEFT; wake()
    :: else
    fi
}

#define NOTHING_ODD (lost == LOST && stalls == STALLS)

inline hear(i)
{
    sent[self] = sent[self] & ~(1 << i);
    if
    :: HELD < PLACES -> assert(owner[i] == self || !NOTHING_ODD); HAS(self, i) = 1
    :: else -> all[self] = true
    fi
}

/* The function may end at any time, and fail. */
#define STEPS(i) \
    :: atomic { sent[self] & (1 << i) -> hear(i) } \
    :: atomic { !all[self] && HAS(self, i) -> done(i, 0) } \
    :: atomic { !all[self] && HAS(self, i) -> done(i, 1) } \
    :: atomic { !all[self] && HAS(self, i) && owner[i] != self -> renew() } \
    :: atomic { !all[self] && HELD < PLACES && MAY_END(i) -> script_look(i); take() }
#define HAS_NOTHING (!HAS(self, 0) && !HAS(self, ITEMS - 1) && !HAS(self, ITEMS / 2))

proctype Far(byte self)
{
    byte n, named;
    bool answered, room;
end:
    do
    STEPS(0)
    STEPS(1)
#if ITEMS > 2
    STEPS(2)
#endif
    :: !all[self] && ready[self] && HELD < PLACES -> take()
    :: atomic { !all[self] && woken[self] && HELD == PLACES -> pass_on() }
    :: atomic { (lost < LOST || owed) && HELD < PLACES && !ready[self] && QUEUED && leases < N ->
            ready[self] = true
        }
    :: atomic { all[self] -> renew() }
    :: atomic { refuses[self] -> refuses[self] = false; all[self] = true }
    :: atomic { lost > 0 && sent[self] -> lost--; sent[self] = 0; all[self] = true }
    :: over && HAS_NOTHING -> break
    :: self > 0 -> atomic { owed = owed || woken[self]; goes(); break }
    :: atomic { self > 0 && !all[self] -> script_renew(self, 0, 1); check(); goes(); break }
    od
}

/* ---- the engine is killed ---- */

proctype Engine()
{
    byte n;
end:
    do
    :: atomic {
        restarts > 0 && !is_new ->
        restarts--;
        is_new = true;
        for (n : 0 .. ITEMS - 1) {
            ended[n] = leased[n]
        }
        for (n : 0 .. FARS - 1) {
            all[n] = !dead[n]
        }
        n = 0
    }
    :: atomic { is_new && !all[0] && !all[FARS - 1] -> is_new = false }
    od
}

/* ---- near ends ---- */

/* In one step with what the answer says: ends if the run is another's. */
inline ask_as_near_end(script, second)
{
    ask(script, self, own, second);
    if
    :: answered && own != epoch -> assert(opener != self); stale = true; answered = false
    :: else
    fi
}

#ifdef CONFIRMED_UNUSED
#define SURE to
#else
#define SURE (to - 1)
#endif

proctype Near(byte self)
{
    byte n, own, seen, from, to, confirmed;
    bool answered, stale;
    do
    :: !answered ->
        atomic {
            ask(OPEN, self, seen, 0);
            if
            :: answered && refused -> seen = epoch; answered = false
            :: answered && !refused -> own = epoch; from = published; to = delivered
            :: else
            fi;
            refused = false
        }
    :: self == 0 && SECOND && !answered -> break
    :: answered -> break
    od;
    if
    :: answered && own == epoch -> assert(to <= used)
    :: else -> stale = true
    fi;
    confirmed = to;
    answered = false;
    do
    :: stale -> break
    :: atomic { !stale && from < ITEMS -> ask_as_near_end(PUBLISH, from);
            from = from + answered;
            answered = false
        }
    :: atomic { !stale && to < ITEMS && results[to] && to >= trimmed ->
            assert(to <= used + 1);
            if
            :: to > used -> used = to
            :: else
            fi;
            to++
        }
    :: atomic { !stale && to > 0 && SURE > confirmed ->
            ask_as_near_end(CONFIRM, SURE);
            confirmed = (answered -> SURE : confirmed);
            answered = false
        }
    :: atomic { !stale && from == ITEMS && own != epoch -> /* it asks now and then */
            ask_as_near_end(CONFIRM, confirmed)
        }
    :: atomic { !stale && from == ITEMS && to == ITEMS -> ask_as_near_end(FINISH, 0) }
        if
        :: answered -> over = true; break
        :: !answered
        fi
    :: self == 0 && SECOND -> break /* it dies */
    od;
    gone[self] = true
}

proctype Second()
{
    if
    :: epoch > 0 || gone[0] -> run Near(1)
    :: over
    fi
}

active proctype Quiet()
{
    byte n;
end:
    timeout ->
    assert(over || (opener == 0 && gone[0]));
    check();
    do
    :: over && n < ITEMS -> assert(n < published && results[n] == 1); n++
    :: else -> break
    od
}

init {
    atomic {
        byte i;
        do
        :: i < ITEMS -> owner[i] = NOBODY; i++
        :: else -> break
        od;
        for (i : 0 .. FARS - 1) {
            ready[i] = true;
            run Far(i)
        }
        i = 0;
        if
        :: RESTARTS > 0 -> run Engine()
        :: else
        fi;
        run Near(0);
        if
        :: SECOND -> run Second()
        :: else
        fi
    }
}
