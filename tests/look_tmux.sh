#!/usr/bin/env bash
# leat look on a terminal: keys, lists, sizes, the program's end and return, and what it leaves.
. "$(dirname "$0")/look_common.bash"
command -v tmux >/dev/null || skip 'there is no tmux'
locale -a | grep -qix 'C.utf-\?8' || skip 'there is no C.UTF-8'
export LC_ALL=C.UTF-8

tmux() {
    command tmux -S "$work/tmux" -f /dev/null "$@"
}
clean_up() {
    tmux kill-server 2>/dev/null
    [ -z "$server" ] || kill "$server" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
screen() {
    tmux capture-pane -p
}
# has PATTERN, lacks PATTERN: lines of the screen
has() {
    screen | grep -qE -- "$1"
}
lacks() {
    ! has "$1"
}
# sees WHAT PATTERN: waits for it; without it the rest would wait in vain, too
sees() {
    wait_for has "$2" && return
    fail "$1: no $2 in"
    screen
    finish
}
press() {
    tmux send-keys "$@"
}
# The shell's prompt has the status of the last command; a new number shows that it is new.
command_number=0
run() {
    command_number=$((command_number + 1))
    press "clear; $1; echo end $command_number: \$?" Enter
}
ended() {
    sees "$1" "^end $command_number: $2\$"
}
first_line() {
    screen | sed -n "$1p"
}

answer ok 30
serve
tmux new-session -d -x 120 -y 24 'PS1="\$ " bash --norc --noprofile' ||
    skip 'tmux does not start'
run "stty -a >'$out/before'"
ended 'the shell' 0
look="'$leat' look -d 0.1 '$at'"

# ---- lists and keys ----

run "$look"
sees 'the first list' '^parties: 37, by since +1 parties  2 channels  3 scopes '
sees 'the head' '^mill [0-9]+, up .* members, leat 0.2.0$'
sees 'workers' '^worker 0 +\[\|{3} +\]  25%'
sees 'the first row' '^k9 +callback +waiting +2:00:00'
sees 'control characters' 'runs t36 evil\?\[31m\?next\?\?$'
sees 'the foot' '^q quit  Tab list'
press End
sees 'End' '^t36 .* evil'
press PageUp PageUp PageUp
sees 'PgUp' '^k9 '
press Home
press 2
sees 'a number' 'by rate'
sees 'a rate' '^c34 +open +0 +0 +2 +0 +[1-9][0-9]+ '
press Tab
sees 'Tab' '^    s40 +0 +open'
press BTab Tab Tab
sees 'Tab, again' '^waits: [0-9]+, by since'
press 5
sees 'stages' '^p1 +pipeline +open +2 +3 +4 +5 +[1-9][0-9.k]* +s33 +parse '
sees 'an operator has no rate' '^p2 +merge +waiting +- +- +- +- +- +s33 '
press 6
sees 'stacks' '^ +1 +t37 .*mill\+0xa166'
press 7
sees 'descriptors' '^d7 +open +1 +0 +s1'
press Enter
sees 'a descriptor' '^descriptor +d7$'
press Enter 8
sees 'batchers' '^g1 +open +1 +1 .* log$'
press Enter
sees 'a batcher' '^batcher +g1 log$'
press Enter 2 Enter
sees 'a channel' '^channel +c34 quotes$'
sees 'a receiver' '^receiver +t37 reader \(mill.c:30\)$'
press Enter 3 Down Enter
sees 'a scope' '^around it +s1$'
sees 'its members' '^task +t38 größe 世界$'
press Enter Home Enter
sees 'the scope around it' '^scope inside +s33$'
press Enter 5 Enter
sees 'a stage' '^in flight +4 of 5$'
sees 'its channel' '^to +c35 log$'
press Enter 9
sees 'counts' '^sleeps +[0-9]+ +[0-9.]+ +a worker found nothing'
sees 'a line of loads' '^worker 1 +\[\|+\] 100% +█{3,20} ready'
press 1
press s
sees 's' '37, by more '
press r
sees 'r' '37, by more, reversed '
press s s s s s
sees 's, again' '37, by waits '
press s
sees 's, around' '37, by id '
sees 'by id' '^b7f '
press / r e a d e r
sees 'typing' '^filter: reader'
sees 'a filter' " 1 of 37 with 'reader', by id"
press BSpace BSpace BSpace BSpace BSpace BSpace 世
sees 'a filter of a character' " 1 of 37 with '世', by id"
sees 'wide characters' '^t38 .* größe 世界'
press BSpace r e a d e r Enter
sees 'a filter that stays' " 1 of 37 with 'reader', by id"
press Enter
sees 'details' '^t37$'
sees 'a wait' '^waits to +receive c34 quotes$'
sees 'a call' '^calls +mill\+0xa166 next_quote\+0x26$'
sees 'control characters in a call' '^ +mill\+0xb000 main\?\+0x1$'
sees 'the request for stacks' '^worker'
wait_for grep -q '^GET /json?stacks=1 ' "$out/mode.request"
press Escape
sees 'Esc from details' " 1 of 37 with 'reader', by id"
press Escape
sees 'Esc from a filter' ': 37, by id'
wait_for grep -q '^GET /json ' "$out/mode.request"
press j j Enter
sees 'j' '^m1$'
press Enter k Enter
sees 'k' '^k9$'
press Enter Down Down Up Enter
sees 'arrows' '^m1$'
press Enter h
sees 'help' '^PgUp PgDn +one page$'
press '?'
sees 'no help' ': 37, by id'
# The cursor stays with its party when the order changes.
press s s s Enter
sees 'the cursor stays' '^m1$'
press Escape p
sees 'paused' 'by since, paused'
before=$(first_line 1)
press j
is 'a paused head' "$before" "$(first_line 1)"
press p
lacks_pause() { lacks 'paused'; }
wait_for lacks_pause

# ---- sizes ----

tmux resize-window -x 20 -y 24
sees '20 columns' '^switches [0-9]+.*$'
narrow() {
    ! screen | grep -q '.\{21\}' &&
        has '^worker 1   100% '
}
wait_for narrow
press 1
for size in '1 1' '2 3' '5 2' '20 3' '200 60' '7 7'; do
    # shellcheck disable=SC2086
    set -- $size
    tmux resize-window -x "$1" -y "$2"
done
tmux resize-window -x 120 -y 24
sees 'back' '^parties: 37, by since +1 parties  2 channels  3 scopes '
sees 'the foot is back' '^q quit  Tab list'
is 'one head' 1 "$(screen | grep -c '^mill')"

# ---- the program goes and comes back ----

end_server
sees 'gone' '^mill [0-9]+ is gone: (No such file or directory|Connection refused); trying again$'
sees 'the last screen stays' '^k9 +callback'
answer ok 3
serve
sees 'back again' ': 10, by since'
answer 500 0
sees 'trouble' '^mill [0-9]+: 500: Trouble Here; trying again$'
answer mad 3
answer ok 4
sees 'no trouble' ': 11, by since'

# ---- ends ----

# restored WHAT: the terminal is as before, and shows the shell's screen
restored() {
    press "stty -a >'$out/after'; echo; echo stty \$?" Enter
    sees "$1: the shell" '^stty 0$'
    same "$1: the terminal" "$out/before" "$out/after"
    lacks '^mill' || fail "$1: the screen"
    is "$1: the cursor" 1 "$(tmux display-message -p '#{cursor_flag}')"
    is "$1: the alternate screen" 0 "$(tmux display-message -p '#{alternate_on}')"
}
pid_of_look() {
    pgrep -f -x "$leat look -d 0.1 $at"
}
tmux_size() { [ "$(tmux display-message -p '#{window_width}')" = 120 ]; }
wait_for tmux_size
press q
ended 'q' 0
run true
ended 'true' 0
restored 'q'
for end in TERM:143 HUP:129 QUIT:131; do
    run "(ulimit -c 0; exec $look)"
    sees "$end" '^parties: '
    kill -s "${end%:*}" "$(pid_of_look)"
    ended "$end" "${end#*:}"
    run true
    ended 'true' 0
    restored "$end"
done
run "$look"
sees 'before Ctrl-C' '^parties: '
press C-c
# A shell that gets SIGINT leaves the rest of its line.
sees 'the prompt' '^\$ ?$'
press 'echo status $?' Enter
sees 'Ctrl-C' '^status 130$'
restored 'Ctrl-C'

run "$look"
sees 'before Ctrl-Z' '^parties: '
press C-z
sees 'Ctrl-Z' 'Stopped'
restored 'Ctrl-Z'
press 'clear; bg' Enter
# In the background it may not use the terminal, and stops again.
stops_again() {
    press 'clear; jobs' Enter
    sleep 0.2
    has '^\[1\].*Stopped'
}
wait_for stops_again
restored 'bg'
press 'clear; fg' Enter
sees 'fg' '^parties: '
press 2
sees 'keys after fg' 'by rate'
press q
sees 'q after fg' '^\$ ?$'
restored 'q after fg'

# ---- the first look ----

# 31 to 33 are the colours.
coloured() {
    tmux capture-pane -ep | grep -qE $'\033\\[([0-9]+;)*3[1-3]m'
}

end_server
run "'$leat' look '$at'"
sees 'nobody there' "^leat look: $at: (No such file or directory|Connection refused)"
ended 'nobody there' 2
restored 'nobody there'
answer 404 0
serve
run "$look"
ended 'an error' 2
answer ok 3
run "$look"
wait_for coloured
press q
ended 'colours' 0
run "NO_COLOR=1 $look"
sees 'NO_COLOR' '^parties: '
! coloured || fail 'colours with NO_COLOR'
press q
ended 'NO_COLOR' 0
run "TERM=dumb '$leat' look '$at' | head -n 1"
sees 'a pipe' '^mill [0-9]+, up'
run "TERM=dumb '$leat' look '$at'"
sees 'a dumb terminal' '^parties: 10, by since'
ended 'a dumb terminal' 0

finish
