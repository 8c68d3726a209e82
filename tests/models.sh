#!/usr/bin/env bash
# models.sh [MODEL]: Spin searches all states of the models in models/, or of one of these: none
# breaks a rule, and each variant that is broken on purpose is caught. One line a run: what was run,
# states, seconds, verdict.
# Only the first search of a model, for half a second, and its first broken variant run, unless
# LEAT_LONG is set and models/searched does not have the model as it is now. With LEAT_LONG=all each
# model runs whole, and models/searched gets it. That is due, too, after a change of how this script
# searches, which the digests do not cover.
set -euo pipefail
only=${1-}
script=$(realpath "$0")

# The models do not depend on how the tree was built: sanitized builds skip them.
[ -z "${LEAT_SANITIZE-}" ] || exit 77
cc=${CC:-cc}
command -v spin >/dev/null && command -v "$cc" >/dev/null || exit 77
# Most searches are shorter than a compilation, even without optimization: tcc takes a tenth. A
# search that takes longer begins anew with optimization.
quick="$cc -O0"
! command -v tcc >/dev/null || quick=tcc

models=$(cd "${LEAT_SOURCE_DIR:-$(dirname "$0")/..}" && pwd)/models
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0 runs=0

# record MODEL: its line in models/searched: a digest of the model and of its runs below, which are
# one paragraph.
record() {
    local digest
    digest=$(sed -n '/^# ---- the runs ----$/,/^# ---- the end ----$/p' "$script" |
        awk -v RS= -v runs="(holds|caught|sampled) $1[ \n]" '$0 "\n" ~ runs' |
        cat "$models/$1.pml" - | sha256sum)
    echo "${digest%% *} $1"
}

declare -A long
# is_long MODEL: whether all of its runs are due.
is_long() {
    if [ -z "${long[$1]-}" ]; then
        case ${LEAT_LONG-} in
        all) long[$1]=yes ;;
        '') long[$1]=no ;;
        *) grep -qxF "$(record "$1")" "$models/searched" && long[$1]=no || long[$1]=yes ;;
        esac
    fi
    [ "${long[$1]}" = yes ]
}

declare -A begun
# is_due KIND MODEL: whether this run is due.
is_due() {
    [ -z "$only" ] || [ "$2" = "$only" ] || return 1
    ! is_long "$2" || return 0
    [ -z "${begun[$*]-}" ] || return 1
    begun[$*]=1
}

# search MODEL DEFINITIONS COMPILER LIMIT: runs spin's search, for LIMIT seconds at most. Its output
# is in the file `said` afterwards, states and seconds in variables.
search() {
    local model=$1 definitions=$2 compiler=$3 limit=$4 way='-DSAFETY' options=()
    case $definitions in
    *-DREVERSED*) way+=' -DREVERSE -DT_REVERSE' ;; # the last choice first: sooner caught
    *-DLIVE*) way='-DNOREDUCE' options=(-a -f) ;; # cycles, under weak fairness
    *-DSAMPLE*) way='-DSAFETY -DBITSTATE -DP_RAND -DT_RAND' options=(-w30 -k3 -RS1) ;;
    esac
    [ "$model" != link ] || way+=' -DNOREDUCE' # its steps are all of shared variables
    rm -f pan* ./*.trail
    # shellcheck disable=SC2086
    if ! spin -P"$cc -E -x c" $definitions -a "$models/$model.pml" >said 2>&1 ||
        ! $compiler -w $way -DMEMLIM=6144 -o pan pan.c >>said 2>&1; then
        echo "$model $definitions does not compile:"
        cat said
        exit 1
    fi
    local status=0
    timeout -s INT $limit ./pan -m300000 "${options[@]}" >said 2>&1 || status=$?
    [ $status -le 1 ] || echo "status $status" >>said
    states=$(awk '$2 == "states," && $3 == "stored" { print $1; exit }' said)
    seconds=$(awk '/elapsed time/ { print $4; exit }' said)
}

# line VERDICT: prints what was searched, and the verdict.
line() {
    runs=$((runs + 1))
    printf '%-8s %-50s %9s states %6s s  %s\n' "$model" "$what" "${states:-?}" "${seconds:-?}" "$1"
}

failed() {
    line "$1"
    failures=$((failures + 1))
}

# is_complete: the search has reached all states.
is_complete() {
    ! grep -q 'not completed\|too small\|^status' said
}

# no_error: the search has found none in what it has reached.
no_error() {
    if grep -q 'errors: 0$' said; then
        line "no error"
    else
        failed "FAILED: $(grep -m 1 '^pan:1:\|^error\|^pan: out\|^status' said)"
    fi
}

# holds MODEL [DEFINITION…]: spin must find no error.
holds() {
    local model=$1 what definitions
    is_due holds "$model" || return 0
    shift
    definitions=${*/#/-D}
    what=${*:-as it is}
    if ! is_long "$model"; then
        local limit
        for limit in 0.5 5 50; do # on a busy machine the first may be over before the search begins
            search "$model" "$definitions" "$quick" $limit
            grep -q 'errors: ' said && break
        done
        no_error
        return
    fi
    search "$model" "$definitions" "$quick" 2
    is_complete || search "$model" "$definitions" "$cc -O1" 400
    if grep -q 'errors: 0$' said && is_complete; then
        line holds
    else
        failed "FAILED: $(grep -m 1 '^pan:1:\|^error\|^pan: \(reached\|out\)\|^status' said)"
    fi
}

# sampled MODEL DEFINITION…: no error in what a random search of five seconds reaches of a large
# model.
sampled() {
    local model=$1 what definitions
    is_due sampled "$model" && is_long "$model" || return 0
    shift
    definitions="${*/#/-D} -DSAMPLE"
    what=$*
    search "$model" "$definitions" "$cc -O1" 5
    no_error
}

# caught MODEL 'DEFINITIONS' VARIANT…: spin must find an error in each variant.
caught() {
    local model=$1 given=$2 definitions=${2:+-D${2// / -D}} variant what
    shift 2
    for variant; do
        is_due caught "$model" || return 0
        what="$variant${given:+ ($given)}"
        search "$model" "$definitions -D$variant" "$quick" 300
        if grep -q '^pan:1: \(assertion violated\|invalid end state\|acceptance cycle\)' said; then
            line "caught: $(sed -n 's/^pan:1: \(assertion violated\|[a-z ]*[a-z]\).*/\1/p' said)"
        else
            failed "NOT CAUGHT"
        fi
    done
}

# ---- the runs ----
for cap in 0 1; do
    holds channel SENDERS=2 RECEIVERS=1 CAP=$cap ITEMS=2
    holds channel SENDERS=1 RECEIVERS=2 CAP=$cap ITEMS=2
    holds channel SENDERS=2 RECEIVERS=2 CAP=$cap
done
caught channel '' CLAIM_WITHOUT_LOCK CLAIMED_STAYS_QUEUED READY_BEFORE_COPY UNLOCK_BEFORE_ENQUEUE \
    WITHDRAW_UNASKED CLOSE_ONE_SIDE CLOSED_TOO_LATE
caught channel 'CAP=1' NEXT_SENDER_FORGOTTEN

holds split_buffer CAP=1
holds split_buffer CAP=2
holds split_buffer SENDERS=1 RECEIVERS=2
holds split_buffer SENDERS=2 RECEIVERS=2 ITEMS=1
holds split_buffer FREED SENDERS=1
holds split_buffer FREED SENDERS=2
caught split_buffer FREED FREED_EARLY
caught split_buffer '' END_ALONE ONE_END WAITER_UNSEEN CLOSED_UNSEEN COUNT_FIRST NOT_GIVEN_BACK \
    SEEN_TOO_MUCH

holds biased PARTIES=2 OPS=4
holds biased PARTIES=3 OPS=2
caught biased OPS=3 NO_BARRIER NO_RECHECK HELD_ONLY TAKEN_LATE GIVEN_AGAIN UNSETTLED ASKED_FIRST

holds owned
holds owned UNBARRED
caught owned 'UNBARRED' NOBODY_VISITS
caught owned '' NO_BARRIER LOOK_FIRST NO_LOOK TWO_VISIT GONE_EARLY GOES_IN NO_SECOND_LOOK UNFENCED \
    FENCES_STAY CLEARED_LOOSELY BACK_UNFENCED BACK_LOOSELY ANSWERS_INSIDE APPENDS_CALLED \
    LEAVES_EARLY

holds move
caught move '' TAKES_RUNNING TAKES_OVER_RUNNING VISITS_ANYWAY SWITCH_OUTSIDE TIMER_LEFT HOME_LATE \
    HOME_LEFT HOME_FIRST NUDGE_DROPPED LOOKED_AT_AWAY LOOKED_AT_RUNNING FREED_NUDGED LEFT_NUDGED \
    ENDED_UNSEEN FREE_THEN_DELIST
caught move SCOPE_TIMER SCOPE_TIMER_LEFT

holds select
holds select SAME
caught select '' NO_CLAIM CLAIM_IN_TWO_STEPS WITHDRAW_UNASKED UNLOCK_BEFORE_ENQUEUE \
    ONE_LOCK_AT_A_TIME LOCKS_AS_LISTED DEQUEUE_WITHOUT_LOCK STATUS_AFTER_READY

holds wait
caught wait '' NO_RECHECK MARKED_LATE LOOK_ANYWHERE NO_OVER TIMER_LEFT NUDGE_LEFT \
    WITHDRAW_UNASKED READY_THEN_UNLINK
holds wait THREAD
caught wait THREAD LOOK_THEN_CLEAR NO_EXCHANGE EXCHANGE_LATE NO_VALUE_CHECK ASLEEP_LATE NO_PINNED \
    WITHDRAW_UNASKED READY_THEN_UNLINK

holds stackless
caught stackless '' NO_RECHECK RECHECK_FIRST MARKED_LATE ENQUEUE_UNLOCKED NO_CLAIM \
    SETTLE_WITHOUT_LOCK NOTHING_UNLOCKED GOES_ON_ANYWHERE ALARM_LEFT

holds inbox
caught inbox '' SLEEP_WITHOUT_SECOND_LOOK LOOK_FIRST ASK_FIRST PUSH_IN_TWO_STEPS \
    DRAIN_IN_TWO_STEPS NO_VALUE_CHECK NOT_TURNED_ROUND
holds inbox STOPS
caught inbox STOPS FIRST_ONLY AWAKE_BEFORE_CALL ANY_SLEEP
holds inbox NUDGES
caught inbox NUDGES LOOK_FIRST LOOK_THEN_CLEAR REST_FORGOTTEN NUDGE_THEN_MARK

holds scope
caught scope '' NO_PIN PIN_AFTER_UNLOCK UNPIN_EARLY ONE_JOIN LEAVE_LAST DEADLINE_LAST \
    DEADLINE_UNPINNED DEADLINE_LOOKS JOINING_STAYS TAKE_IN_TWO_STEPS LEAVE_THEN_FAIL ENTER_LATE \
    KEPT UNCOUNTED
holds scope OUTSIDE
caught scope OUTSIDE PIN_AFTER_MARK

holds idle POSTS=2
caught idle POSTS=2 NEWS_BEFORE_ASLEEP NO_LAST_LOOK ASKED_LAST ALONE_BEFORE TOLD_UNHEARD \
    UNTOLD_POST UNTOLD_CROWD
caught idle 'POSTS=2 REVERSED' ROLE_BEFORE_ASLEEP NOT_HANDED_ON LEFT_UNTOLD
holds idle TASKS=2 TIMERS=1
caught idle TASKS=2 NO_BARRIER MISSED_WHO_IS_INSIDE UNTOLD_ENTRY
holds idle POSTS=1 TIMERS=1
caught idle 'POSTS=1 TIMERS=1' NO_ALARM UNTOLD_TIMER
caught idle 'POSTS=1 TIMERS=1 REVERSED' UNTOLD_WHEEL NAPS_FOR_GOOD NAPS_AND_RESTS
sampled idle POSTS=2 TIMERS=1
caught idle 'POSTS=2 TIMERS=1' UNTOLD_LOOT
holds idle TO_GLOBAL=1 POSTS=1
caught idle 'TO_GLOBAL=1 POSTS=1' GLOBAL_UNSEEN CALL_THE_BUSY
holds idle SENT=1 POSTS=1
holds idle WORKERS=3 TASKS=1
sampled idle WORKERS=3 POSTS=1
sampled idle WORKERS=3 TASKS=1 GIVES=1 STUCK=1
caught idle 'WORKERS=3 TASKS=1 GIVES=1 STUCK=1 WAKES_NEXT REVERSED' UNTOLD_GIFT
caught idle 'WORKERS=3 TASKS=1 GIVES=1 STUCK=0 WAKES_NEXT REVERSED' ENTERS_SLEEPERS
holds idle TASKS=2 LOOKOUT
holds idle TIMERS=1 LOOKOUT
sampled idle POSTS=1 TIMERS=1 LOOKOUT
caught idle 'TASKS=2 LOOKOUT REVERSED' UNCALLED RESTS_CALLED LOOKS_AWAY
holds idle TASKS=1 LIVE
holds idle POSTS=1 LIVE
caught idle 'TASKS=1 LIVE' NEVER_TAKES

holds readiness
holds readiness ASKS=1
holds readiness BACKS=1
holds readiness CLOSES
holds readiness MOVES
holds readiness MOVES ASKS=1 AMOUNT=1
holds readiness REACTORS=2
holds readiness OUT
holds readiness OUT ASKS=1 AMOUNT=1
holds readiness OUT CLOSES AMOUNT=1
caught readiness '' NOT_COMPARED COUNT_LATE RAISED_FIRST HUNG_IGNORED UNREGISTERED SHORT_UNWATCHED
caught readiness ASKS=1 ASKED_FIRST
caught readiness BACKS=1 BACK_FIRST TAKEN_UNCOUNTED
caught readiness OUT RAISES_ZERO
caught readiness CLOSES UNCOUNTED WOKEN_FIRST
caught readiness 'OUT CLOSES AMOUNT=1' MADE_CLOSED
caught readiness MOVES FAILS_SILENTLY TAKEN_ALONG
caught readiness 'MOVES ASKS=1' REGISTERED_FIRST

holds uring
holds uring SHORTS=1
holds uring REFUSES
caught uring '' ENDS_AT_ONCE BYTE_DROPPED TAKEN_AND_LEFT CANCEL_DROPPED NOT_TAKEN_BACK \
    CALLED_OFF_FIRST ENDED_CALLED_OFF
caught uring SHORTS=1 ASKED_ONCE POLL_KEPT
caught uring REFUSES CLOSED_ENTERED QUEUED_FORGOTTEN QUEUED_LEFT

holds shared_timer
holds shared_timer LAST=2
caught shared_timer '' CLEARED_LATE NEWS_UNSEEN CALLED_LATE UNCLAIMED DUE_LEFT UNTOLD
caught shared_timer LAST=2 NEXT_STAYS
holds shared_timer SLOW
caught shared_timer SLOW HOME_ASLEEP NO_HELP HELP_FORGOTTEN
holds shared_timer COMPUTES
caught shared_timer COMPUTES MOVED_UNSEEN
holds shared_timer STOPS=0
caught shared_timer STOPS=0 HOME_UNCHECKED HOME_LATE

holds semaphore
holds semaphore SMALL=1
holds semaphore GIVES_UP=1
holds semaphore GIVES_UP=3
caught semaphore '' MARKED_LATE SENT_FIRST MARK_KEPT
caught semaphore SMALL=1 SENT_UNASKED
caught semaphore GIVES_UP=1 FREED_UNASKED MARK_LEFT TURN_KEPT

holds reclaim
caught reclaim '' ASKED_FIRST SHORT_LATE RECORDED_LATE TRIED_ONCE LOOT_KEPT

holds stop
holds stop THREADS=1 CALLS=3 AGAIN=1
caught stop '' NO_HELD TIMERS_FIRST NO_COMPARE ONE_WORKER COUNTED_OUT SET_ELSEWHERE SET_UNHELD \
    TOLD_UNHELD STOP_UNCOUNTED

holds link LOST=0 RESTARTS=1
holds link
caught link '' DONE_UNOWNED LEASE_LEFT OWNER_LEFT FAILED_STAYS TAKEN_ANYWAY \
    TAKEN_IN_TWO_STEPS RENEWED_UNOWNED KEPT_UNNAMED
caught link REVERSED PUBLISHED_TWICE HANDED_ANYWAY
holds link LOST=0
caught link LOST=0 UNWOKEN BACK_UNWOKEN NOT_NOTED NEVER_RECLAIMED
holds link LOST=0 N=2 ITEMS=3
holds link LOST=0 N=2 PLACES=1
caught link 'LOST=0 RESTARTS=1' NEW_UNSEEN NEWS_UNNUMBERED
caught link 'LOST=0 RESTARTS=1 FARS=1' REFUSED_UNREADY
holds link SECOND=1 FARS=1
caught link 'SECOND=1 FARS=1' EPOCH_UNCHECKED OPENED_UNSEEN CONFIRMED_UNUSED
holds link SECOND=1 FARS=1 ITEMS=3 LOST=1 STALLS=0
caught link 'SECOND=1 FARS=1 ITEMS=3 LOST=1 STALLS=0' CONFIRMED_BACK

# ---- the end ----
if [ $runs = 0 ]; then
    echo "no run of ${only:-any model} is listed here"
    exit 1
fi
if [ $failures -gt 0 ]; then
    echo "$failures failed"
    exit 1
fi
[ "${LEAT_LONG-}" = all ] || exit 0
for model in "${!long[@]}"; do
    sed -i "/ $model\$/d" "$models/searched"
    record "$model" >>"$models/searched"
done
LC_ALL=C sort -k 2 -o "$models/searched" "$models/searched"
