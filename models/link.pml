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
 * one that it has no place for. In both cases it reports all again. The engine then forgets that
 * the far end waits, so the far end takes again.
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
 *  REFUSED_UNREADY    a far end that has refused such news does not take again
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

/* Sets of items have a bit for each. */
#define IN(set, i) (((set) >> (i)) & 1)
#define COUNT(set) (IN(set, 0) + IN(set, 1) + IN(set, 2))

/* What the engine has. */
byte epoch, published, delivered, trimmed, leases;
byte opener; /* which near end has opened the run */
bool is_open, is_new;
byte queued[ITEMS], owner[ITEMS], tries[ITEMS], results[ITEMS];
bool leased[ITEMS];
bool ended[ITEMS];  /* the lease, while the engine was away */
byte waiting[FARS]; /* how many items it would take */
bool old[FARS];     /* it waits with an old number */

/* What the far ends have. */
byte has[FARS];
bool dead[FARS];
bool ready[FARS];   /* a take may find something */
bool woken[FARS];   /* no other may have been */
bool all[FARS];     /* the next renewal names all */
byte sent[FARS];    /* of items handed over: the news is on its way */
bool refuses[FARS]; /* news with an old number is on its way */
bool looking;       /* they look by themselves */

bool gone; /* the first near end */
byte used; /* how many results the receiver has used, from both near ends */
bool over;
byte lost = LOST, stalls = STALLS, restarts = RESTARTS;

/* The request that is made now, and what chance decides about it: a d_step decides nothing. */
mtype script = NONE;
byte first, second;
bool has_effect, answered;
byte pick; /* the far end that is woken, if it waits */
byte item; /* the one that is taken */

/* A request that has its effect later. */
mtype late = NONE;
byte late_by, late_first, late_second;

/* Within a step. `got`: what take answers, ITEMS for none; `refused`: what open answers; `many`:
 * for how many items far ends are woken. */
hidden byte n, got, many, refused;

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
    assert(leases <= N)
}

inline lease(i, is)
{
    leases = leases + is - leased[i];
    leased[i] = is;
    ended[i] = false
}

#define WAITER (waiting[pick] -> pick : FARS - 1 - pick)

/* For one item one of those that wait, else all. */
inline wake()
{
    if
    :: many == 1 && waiting[WAITER] ->
        n = WAITER;
        waiting[n] = 0; old[n] = false; ready[n] = true; woken[n] = true
    :: else ->
        n = 0;
        do
        :: n < FARS ->
            ready[n] = ready[n] || waiting[n];
            waiting[n] = 0; old[n] = false;
            n++
        :: else -> break
        od
    fi
}

#if ITEMS > 2
#define QUEUED (queued[0] + queued[1] + queued[2])
#else
#define QUEUED (queued[0] + queued[1])
#endif
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

inline script_open(k, seen_epoch)
{
    if
#ifdef OPENED_UNSEEN
    :: true ->
#else
    :: seen_epoch == epoch ->
#endif
        epoch++; opener = k; is_open = true;
        n = 0;
        do /* all of them hear it */
        :: n < FARS -> ready[n] = !dead[n]; n++
        :: else -> break
        od
    :: else -> refused = true
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
    :: old[f] -> refuses[f] = true; old[f] = waiting[f] > 0
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
        n = WAITER;
        if
#ifndef UNWOKEN
        :: MAY_HAND(n) -> hand_over(n, i)
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

inline script_confirm(e, count)
{
    if
#ifdef EPOCH_UNCHECKED
    :: true ->
#else
    :: e == epoch ->
#endif
        if
#ifndef CONFIRMED_BACK
        :: count < delivered
#endif
        :: else -> delivered = count
        fi;
        if
        :: count > trimmed -> trimmed = count
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
#define MAY_TAKE(i, room) (is_open && queued[i] && (room || leases < N))
#endif

/* What the far end has, or is on its way to it: take learns that from what the far end says that it
 * has received. */
#define ITS(f) (COUNT(has[f]) + COUNT(sent[f]))

inline script_take(f, room)
{
    if
    :: MAY_TAKE(item, room) ->
        queued[item]--; lease(item, 1); owner[item] = f; got = item;
        if
        :: leases < N && QUEUED -> many = LEFT; wake()
        :: else
        fi
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
#define ENDS_UNKNOWN(i) (!IN(has[owner[i]] | sent[owner[i]], i))
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
    waiting[owner[i]] = 0; old[owner[i]] = false;
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

/* Of all that the far end has; `named`: a set. */
inline script_renew(f, named, names_all)
{
    n = 0;
    do
    :: n < ITEMS ->
        if
#ifdef RENEWED_UNOWNED
        :: IN(named, n) -> lease(n, 1)
#else
        :: IN(named, n) && owner[n] == f -> ended[n] = false
#endif
        :: !IN(named, n) && owner[n] == f ->
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
    if
    :: names_all -> waiting[f] = 0; old[f] = false
    :: else
    fi;
    if
#ifndef BACK_UNWOKEN
    :: QUEUED -> many = QUEUED; wake()
#endif
    :: else
    fi
}

/* ---- requests ---- */

inline draw_far_end()
{
    if
    :: true
    :: FARS > 1 && waiting[0] && waiting[FARS - 1] -> pick = FARS - 1
    fi
}

/* Before a request: what chance decides about its script. */
inline draw(what)
{
    if
    :: what == TAKE && queued[0]
    :: what == TAKE && queued[1] -> item = 1
#if ITEMS > 2
    :: what == TAKE && queued[2] -> item = 2
#endif
    :: else
    fi;
    draw_far_end()
}

inline lose() { lost--; looking = true }

/* And whether it gets lost. */
inline draw_all(by)
{
    if
    :: has_effect = true; answered = true; draw(script)
    :: lost > 0 -> lose()
    :: lost > 0 -> lose(); has_effect = true; draw(script)
    :: lost > 0 && late == NONE ->
        lose();
        late = script; late_by = by; late_first = first; late_second = second
    fi
}

inline run_near_script(what, by, one, two)
{
    refused = false;
    if
    :: what == OPEN -> script_open(by, one)
    :: what == PUBLISH -> script_publish(one, two)
    :: what == CONFIRM -> script_confirm(one, two)
    :: what == FINISH -> script_finish(one)
    fi;
    check()
}

inline run_far_script(what, by, one, two)
{
    got = ITEMS;
    if
    :: what == TAKE -> script_take(by, two)
    :: what == DONE -> script_done(by, one, two)
    :: what == RENEW -> script_renew(by, one, two)
    fi;
    check()
}

inline forget_request()
{
    script = NONE; first = 0; second = 0; has_effect = false; answered = false; pick = 0; item = 0
}

active proctype Late()
{
end:
    do
    :: atomic {
        late != NONE ->
        draw(late);
        if
        :: true
        :: late == TAKE && all[late_by] -> answered = true /* its number may still be valid */
        fi;
        d_step {
            if
            :: late == TAKE || late == DONE || late == RENEW ->
                run_far_script(late, late_by, late_first, late_second)
            :: else -> run_near_script(late, late_by, late_first, late_second)
            fi;
            if
#ifndef NEWS_UNNUMBERED
            :: late == TAKE && waiting[late_by] && !answered -> old[late_by] = true
#endif
            :: else
            fi;
            late = NONE; late_by = 0; late_first = 0; late_second = 0;
            forget_request()
        }
    }
    od
}

/* ---- far ends ---- */

#define HELD COUNT(has[self])
#define NOTHING_ODD (lost == LOST && stalls == STALLS)

/* It gives up what is not its own any more. */
#define IS_LOST(i) (IN(has[self], i) && owner[i] != self)
#if ITEMS > 2
#define ANY_LOST (IS_LOST(0) || IS_LOST(1) || IS_LOST(2))
#else
#define ANY_LOST (IS_LOST(0) || IS_LOST(1))
#endif

inline give_up_lost()
{
    n = 0;
    do
    :: n < ITEMS ->
        if
        :: IS_LOST(n) -> has[self] = has[self] & ~(1 << n); ready[self] = true
        :: else
        fi;
        n++
    :: else -> break
    od
}

inline hear_answer()
{
    if
    :: script == TAKE ->
        ready[self] = got < ITEMS;
        has[self] = has[self] | ((got < ITEMS) << got);
        woken[self] = false
    :: script == DONE -> has[self] = has[self] & ~(1 << first); ready[self] = true
    :: script == RENEW -> give_up_lost()
    fi;
    all[self] = false
}

inline hear_none()
{
    woken[self] = woken[self] && script != TAKE;
    ready[self] = true;
    all[self] = true
}

inline make_request()
{
    draw_all(self);
    d_step {
        if
#ifndef NEWS_UNNUMBERED
        :: all[self] -> sent[self] = 0; old[self] = waiting[self] > 0
#endif
        :: else
        fi;
        if
        :: has_effect -> run_far_script(script, self, first, second)
        :: else
        fi;
        if
        :: answered -> hear_answer()
        :: else -> hear_none()
        fi;
        forget_request()
    }
}

/* The engine forgets that the far end waits, so it takes again. */
inline begin_anew() { all[self] = true; ready[self] = true }

/* It takes no item of the news. */
inline refuse()
{
#ifdef REFUSED_UNREADY
    all[self] = true
#else
    begin_anew()
#endif
}

inline hear(i)
{
    sent[self] = sent[self] & ~(1 << i);
    if
    :: HELD < PLACES ->
        assert(owner[i] == self || !NOTHING_ODD);
        has[self] = has[self] | (1 << i)
    :: else -> refuse()
    fi
}

inline goes()
{
    has[self] = 0; sent[self] = 0; refuses[self] = false;
    ready[self] = false; woken[self] = false; all[self] = false;
    waiting[self] = 0; old[self] = false;
    dead[self] = true
}

/* A take without a place. The answer says nothing. */
inline pass_on()
{
    woken[self] = false;
    if
    :: leases < N && QUEUED -> many = LEFT; wake()
    :: else
    fi
}

/* The function may end at any time, and fail. */
#define REQUESTS(i) \
    :: !all[self] && IN(has[self], i) -> script = DONE; first = i \
    :: !all[self] && IN(has[self], i) -> script = DONE; first = i; second = true \
    :: !all[self] && HELD < PLACES && MAY_END(i) -> d_step { script_look(i); script = TAKE }

proctype Far(byte self)
{
    bool room;
end:
    do
    :: atomic {
        if
        REQUESTS(0)
        REQUESTS(1)
#if ITEMS > 2
        REQUESTS(2)
#endif
        :: !all[self] && ready[self] && HELD < PLACES -> script = TAKE; second = room; room = false
        :: !all[self] && ANY_LOST -> script = RENEW; first = has[self]
        :: all[self] -> script = RENEW; first = has[self]; second = true
#ifndef NEWS_UNNUMBERED
        :: all[self] && sent[self] -> /* the news is not lost */
            script = RENEW; first = has[self]; second = true;
            refuses[self] = true
#endif
        fi;
        make_request()
    }
#ifdef TAKEN_IN_TWO_STEPS
    :: atomic { !room && leases < N -> room = true }
#endif
    :: atomic { IN(sent[self], 0) -> hear(0) }
    :: atomic { IN(sent[self], 1) -> hear(1) }
#if ITEMS > 2
    :: atomic { IN(sent[self], 2) -> hear(2) }
#endif
    :: atomic { refuses[self] -> refuses[self] = false; refuse() }
    :: atomic { lost > 0 && sent[self] -> lose(); sent[self] = 0; begin_anew() }
    :: atomic {
        !all[self] && woken[self] && HELD == PLACES ->
        draw_far_end();
        d_step { pass_on(); pick = 0 }
    }
    :: atomic { looking && HELD < PLACES && QUEUED && leases < N && !ready[self] ->
            ready[self] = true
        }
    :: atomic { self > 0 -> looking = looking || woken[self]; goes(); break }
    :: atomic {
        self > 0 && !all[self] ->
        draw_far_end();
        d_step { script_renew(self, 0, 1); check(); goes(); pick = 0 };
        break
    }
    od
}

/* ---- the engine is killed ---- */

proctype Engine()
{
end:
    do
    :: d_step {
        restarts > 0 && !is_new ->
        restarts--;
        is_new = true;
        n = 0;
        do
        :: n < ITEMS -> ended[n] = leased[n]; n++
        :: else -> break
        od;
        n = 0;
        do
        :: n < FARS -> all[n] = !dead[n]; ready[n] = !dead[n]; n++
        :: else -> break
        od;
        n = 0
    }
    :: atomic { is_new && !all[0] && !all[FARS - 1] -> is_new = false }
    od
}

/* ---- near ends ---- */

#ifdef CONFIRMED_UNUSED
#define SURE to
#else
#define SURE (to - 1)
#endif

/* It ends if the run is another's. */
inline hear_answer_of_engine()
{
    if
    :: script == OPEN && refused -> seen = epoch
    :: script == OPEN && !refused ->
        own = epoch; from = published; to = delivered; confirmed = to;
        assert(to <= used)
    :: script != OPEN && own != epoch -> assert(opener != self); leaves = true
    :: else ->
        from = from + (script == PUBLISH);
        confirmed = (script == CONFIRM -> second : confirmed);
        over = over || script == FINISH;
        leaves = (script == FINISH)
    fi
}

inline leave()
{
    gone = gone || self == 0;
    own = 0; seen = 0; from = 0; to = 0; confirmed = 0;
    leaves = false
}

proctype Near(byte self)
{
    byte own, seen, from, to, confirmed;
    bool leaves;
    do
    :: atomic {
        if
        :: !own && (self == 0 || epoch > 0 || gone) -> script = OPEN
        :: own && from < ITEMS -> script = PUBLISH; second = from
        :: own && to > 0 && SURE > confirmed -> script = CONFIRM; second = SURE
        :: own && from == ITEMS && own != epoch -> /* it asks now and then */
            script = CONFIRM; second = confirmed
        :: own && from == ITEMS && to == ITEMS -> script = FINISH
        fi;
        first = (script == OPEN -> seen : own);
        draw_all(self);
        d_step {
            if
            :: has_effect -> run_near_script(script, self, first, second)
            :: else
            fi;
            if
            :: answered -> hear_answer_of_engine()
            :: else
            fi;
            forget_request()
        };
        if
        :: leaves -> leave(); break
        :: else
        fi
    }
    :: atomic {
        own && to < ITEMS && results[to] && to >= trimmed ->
        assert(to <= used + 1);
        used = (to > used -> to : used);
        to++
    }
    /* The first one dies; the second one need not open what is over. */
    :: atomic { SECOND && (self == 0 || over) -> leave(); break }
    od;
end_gone:
    false
}

active proctype Quiet()
{
end:
    timeout ->
    d_step {
        assert(over || (opener == 0 && gone));
        check();
        n = 0;
        do
        :: over && n < ITEMS -> assert(n < published && results[n] == 1); n++
        :: else -> break
        od;
        n = 0
    }
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
        :: SECOND -> run Near(1)
        :: else
        fi
    }
}
