/* owned.pml: the lock with an owner for life, which others visit.
 *
 * Models base/owned.h and owned.c, and their users in sched/worker.h: lt_worker_enter, which the
 * owner may call while it is inside, and lt_worker_append_now, which does nothing if a visitor has
 * called. The owner enters ENTRIES times and may go away once, and VISITORS visit VISITS times, all
 * at any time. Plain stores of the owner go through a buffer, as on a processor, and reach memory
 * at any later time, in order. A sequentially consistent store or exchange waits until the buffer
 * is empty, and so does the barrier. Visitors have no plain store that matters here. `fences` is
 * cleared after FENCED entries.
 *
 * With UNBARRED the kernel has no barrier.
 *
 * Proves:
 *  - the owner and a visitor are never inside together, nor are two visitors, also if a visitor
 *    makes no barrier because `fences` is set;
 *  - a process that is inside sees what was written inside before: no addition to `data` is lost;
 *  - the owner gets in in the end, as long as visits end, and a visitor never waits;
 *  - without a barrier in the kernel, a visitor gets in now and then (UNBARRED NOBODY_VISITS finds
 *    it).
 *
 * (For safety it does not matter which is cleared first, `fences` or the request for them: a
 * visitor that has seen `fences` has set `visited` before, and the owner's next entry sees that.
 * Nor does the barrier before that matter: it only shows whether the kernel has one.)
 *
 * Broken on purpose:
 *  NO_BARRIER       a visitor reads `inside` without a barrier
 *  LOOK_FIRST       it reads `inside`, and then sets `visited`
 *  NO_LOOK          it does not read `inside`
 *  TWO_VISIT        visitors do not exclude each other
 *  GONE_EARLY       it clears `visited` while it is inside
 *  GOES_IN          the owner does not wait for the visitor
 *  NO_SECOND_LOOK   the owner waits for one visitor, and does not see the next
 *  UNFENCED         the owner, asked to fence, makes no fence before its look
 *  BACK_UNFENCED    it makes none when it comes back
 *  FENCES_STAY      the owner makes no fences any more, and `fences` stays set
 *  CLEARED_LOOSELY  `fences` is cleared by a plain store, without a fence after it
 *  BACK_LOOSELY     so it is when the owner comes back
 *  ANSWERS_INSIDE   the owner makes room for a visitor when it enters again while it is inside
 *  APPENDS_CALLED   lt_worker_append_now continues though a visitor has called
 *  LEAVES_EARLY     the owner's last store inside reaches memory after it has left (no release) */
#ifndef VISITORS
#define VISITORS 2
#endif
#ifndef VISITS
#define VISITS 2
#endif
#ifndef ENTRIES
#define ENTRIES 4
#endif
#ifndef FENCED
#define FENCED 2
#endif

mtype = { INSIDE, FENCES, DATA };

/* Memory. `visited` and `wanted` are bits of one word, `calls`. */
bool inside, fences, visited, visitors;
#ifdef UNBARRED
bool wanted = true;
#else
bool wanted;
#endif
byte data;

byte in; /* how many are truly inside */
byte added;

/* ---- the owner's stores ---- */

chan stores = [5] of { mtype, byte };
byte pending, newest; /* stores to `data` in the buffer, and the last one's value */

active proctype Buffer()
{
    byte value;
end:
    do
    :: atomic { stores?INSIDE, value -> inside = value; value = 0 }
    :: atomic { stores?FENCES, value -> fences = value; value = 0 }
    :: atomic { stores?DATA, value -> data = value; pending--; value = 0 }
    od
}

inline fence() { empty(stores) }

inline store_inside(value) { stores!INSIDE, value }

/* Adds one to `data` as the owner sees it. */
inline add()
{
    atomic {
        newest = (pending > 0 -> newest : data) + 1;
        pending++;
        added++;
        stores!DATA, newest
    }
}

/* ---- the owner ---- */

inline is_in() { atomic { in++; assert(in == 1) } }
inline is_out() { in-- }

inline stop_fencing()
{
    entries = 0;
#ifndef UNBARRED
    fence(); /* lt_barrier */
#ifdef CLEARED_LOOSELY
    stores!FENCES, false;
#elif !defined(FENCES_STAY)
    fences = false;
#endif
    wanted = false
#endif
}

/* With a fence between the store and the look. */
inline enter_and_look()
{
    store_inside(true);
#ifndef UNFENCED
    fence();
#endif
    atomic { was_visited = visited; was_wanted = wanted }
}

inline answer()
{
    enter_and_look();
    do
#ifndef GOES_IN
    :: was_visited ->
#ifdef ANSWERS_INSIDE
        if
        :: in == 1 -> is_out(); was_out = true
        :: else
        fi;
#endif
        store_inside(false);
        !visited;
        entries = 0;
#ifdef NO_SECOND_LOOK
        store_inside(true);
        fence();
        was_visited = false;
#else
        enter_and_look()
#endif
    :: !was_visited -> break
#else
    :: break
#endif
    od;
    if
    :: was_wanted ->
#ifndef UNFENCED
        fence();
#endif
        fences = true;
        entries++;
        if
        :: entries == FENCED -> stop_fencing()
        :: else
        fi
    :: else
    fi;
#ifdef ANSWERS_INSIDE
    if
    :: was_out -> is_in(); was_out = false
    :: else
    fi
#endif
}

inline go_away()
{
    fence();
    fences = true;
    leave()
}

inline come_back()
{
#ifdef BACK_UNFENCED
    store_inside(true);
    atomic { was_visited = visited; was_wanted = wanted }
#else
    enter_and_look();
#endif
    do
    :: was_visited ->
        store_inside(false);
        !visited;
        entries = 0;
        enter_and_look()
    :: !was_visited -> break
    od;
    if
    :: was_wanted
#ifdef BACK_LOOSELY
    :: !was_wanted -> stores!FENCES, false
#else
    :: !was_wanted -> fence(); fences = false
#endif
    fi
}

/* lt_owned_enter. */
inline begin()
{
    store_inside(true);
    atomic { was_visited = visited; was_wanted = wanted; called = visited || wanted }
}

inline leave()
{
#ifdef LEAVES_EARLY
    is_out();
    store_inside(false);
    add()
#else
    add();
    is_out();
    store_inside(false)
#endif
}

active proctype Owner()
{
    byte n, entries;
    bool called, was_visited, was_wanted;
#ifdef ANSWERS_INSIDE
    bool was_out;
#endif
    for (n : 1 .. ENTRIES) {
        begin();
        if
        :: called -> /* lt_worker_append_now */
#ifndef APPENDS_CALLED
            store_inside(false);
            begin();
#else
            called = false
#endif
        :: true
        fi;
        if
        :: called -> answer()
        :: else
        fi;
        is_in();
        if
        :: n == 2 -> /* enters again while it is inside */
            begin();
#ifdef ANSWERS_INSIDE
            if
            :: called -> answer()
            :: else
            fi;
#endif
            store_inside(true)
        :: n == 3 -> go_away(); come_back(); is_in()
        :: n != 2
        fi;
        leave()
    }
    n = 0; entries = 0; called = false; was_visited = false; was_wanted = false
}

/* ---- visitors ---- */

proctype Visitor()
{
    byte n, seen;
    bool locked, ordered;
    for (n : 1 .. VISITS) {
#ifdef TWO_VISIT
        locked = true;
#else
        atomic { locked = !visitors; visitors = true }
#endif
        if
        :: locked ->
#ifdef LOOK_FIRST
            ordered = !inside;
            visited = true;
            if
            :: !fences -> fence()
            :: else
            fi;
#else
            visited = true;
            ordered = fences;
            if
            :: ordered
#if defined(NO_BARRIER)
            :: else -> ordered = true
#elif defined(UNBARRED)
            :: else -> wanted = true
#else
            :: else -> fence(); ordered = true
#endif
            fi;
#ifndef NO_LOOK
            if
            :: ordered -> ordered = !inside
            :: else
            fi;
#endif
#endif
            if
            :: ordered ->
                is_in();
#ifdef NOBODY_VISITS
                assert(false);
#endif
#ifdef GONE_EARLY
                visited = false;
#endif
                seen = data;
                atomic { data = seen + 1; seen = 0; added++ }
                if
                :: wanted = true
                :: true
                fi;
                is_out()
            :: else
            fi;
            visited = false;
            visitors = false;
            locked = false; ordered = false
        :: else
        fi
    }
    n = 0
}

/* When all is over. */
active proctype Account()
{
    timeout ->
    assert(empty(stores) && data == added && !visited && !inside && in == 0)
}

init {
    atomic {
        byte i;
        for (i : 1 .. VISITORS) { run Visitor() }
    }
}
