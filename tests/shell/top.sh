#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# top.sh OUT - the live view in a real terminal (tmux): keys, sizes, signals, hostile names, and
# the terminal as it was afterwards. What the screen holds is test_view.c's; this is curses.
set -uo pipefail

out=$1
command -v tmux >/dev/null || { echo "SKIP top: tmux is missing"; exit 0; }
[[ $EUID -eq 0 ]] || { echo "SKIP top: not root"; exit 0; }

dir=$(mktemp -d)
socket=$dir/tmux
failed=0 checks=0
export LC_ALL=C.UTF-8
unset TMUX NO_COLOR

mux() { tmux -S "$socket" -f /dev/null "$@"; }

# shellcheck disable=SC2317	# by the trap
clean_up()
{
	mux kill-server 2>/dev/null
	rm -rf "$dir"
}
trap clean_up EXIT

fail()
{
	echo "top.sh: $*"
	failed=1
}

screen() { mux capture-pane -p -t top 2>/dev/null; }
keys() { mux send-keys -t top "$@"; }
state() { mux display-message -p -t top "$1"; }

# Waits until the screen has (or, with !, has not) a line with this pattern.
wait_for()
{
	local not=
	[[ $1 == '!' ]] && { not=1; shift; }
	for _ in $(seq 150); do
		if screen | grep -aqE -- "$1"; then
			[[ -n $not ]] || return 0
		else
			[[ -z $not ]] || return 0
		fi
		sleep 0.1
	done
	fail "waited for ${not:+no }'$1', saw:"
	screen
	return 1
}

# Runs a command line in the pane's shell.
shell()
{
	keys -l "$1"
	keys Enter
}

# The number of the running program; it is the shell's only child.
program() { pgrep -P "$(state '#{pane_pid}')"; }

# A shell in a new terminal; its settings are in $dir/before.
open_terminal()
{
	mux kill-session -t top 2>/dev/null
	mux new-session -d -s top -x 80 -y 24 "PS1='READY> ' exec bash --norc --noprofile"
	wait_for '^READY>'
	shell "stty -g >$dir/before; clear"
	wait_for '^READY>'
}

start_top()
{
	shell "$out/folioscope top -d 0.2 $*"
	wait_for 'hooks [0-9]+/' || return 1
	[[ $(state '#{alternate_on}') == 1 ]] || fail "no screen of its own"
}

# The shell is back with everything as it was.
check_restored()
{
	wait_for '^READY>' || return
	[[ $(state '#{alternate_on}') == 0 ]] || fail "$1: still on the other screen"
	[[ $(state '#{cursor_flag}') == 1 ]] || fail "$1: no cursor"
	[[ $(state '#{keypad_flag}') == 0 ]] || fail "$1: keypad mode stays on"
	shell "echo status \$?; stty -g >$dir/after; echo done $((++checks))"
	wait_for "^done $checks\$"
	cmp -s "$dir/before" "$dir/after" ||
		fail "$1: stty: $(cat "$dir/before") before, $(cat "$dir/after") after"
}

# As many lines as rows, the header on the first, the hints on the last.
check_frame()
{
	local rows lines
	rows=$(state '#{pane_height}')
	lines=$(screen | wc -l)
	[[ $lines -eq $rows ]] || fail "$1: $lines lines of $rows"
	screen | head -1 | grep -aq '^ folioscope' || fail "$1: no header: $(screen | head -1)"
	screen | tail -1 | grep -aq '^ q quit' || fail "$1: no footer: $(screen | tail -1)"
}

test_keys()
{
	open_terminal
	start_top || return
	check_frame start
	keys s; wait_for 'by pages'
	keys S; wait_for 'by accesses'
	keys r; wait_for 'least first'
	keys r; wait_for '!' 'least first'
	keys f; wait_for 'full paths'
	keys +; wait_for 'every 500ms'
	keys -; wait_for 'every 200ms'
	keys '?'; wait_for 'next, previous sort key'
	keys x; wait_for 'hooks [0-9]+/'
	keys p; wait_for PAUSED
	keys Down NPage End Up PPage Home
	keys Space; wait_for '!' PAUSED
	check_frame keys
	keys q
	check_restored q
	screen | grep -aq '^status 0' || fail "q: exit status: $(screen | grep -a ^status)"
}

test_sizes()
{
	local size
	open_terminal
	start_top || return
	for size in 1x1 2x2 10x3 40x10 200x50 80x8 500x200 120x40; do
		mux resize-window -t top -x "${size%x*}" -y "${size#*x}"
		sleep 0.1
	done
	for _ in $(seq 60); do
		mux resize-window -t top -x $((RANDOM % 200 + 1)) -y $((RANDOM % 60 + 1))
	done
	mux resize-window -t top -x 120 -y 40
	wait_for '\? help' && sleep 0.5 && check_frame sizes
	keys q
	check_restored sizes
}

test_signals()
{
	local sig pid
	for sig in TERM INT HUP QUIT; do
		open_terminal
		start_top || return
		kill -$sig "$(program)"
		check_restored "SIG$sig"
	done
	open_terminal
	start_top || return
	keys C-c
	check_restored C-c
	open_terminal
	start_top || return
	pid=$(program)
	keys C-z
	wait_for Stopped && check_restored C-z
	shell fg
	wait_for 'hooks [0-9]+/' && check_frame fg
	kill -STOP "$pid"
	sleep 0.2
	kill -CONT "$pid"
	wait_for '^READY>'
	shell fg
	wait_for 'hooks [0-9]+/' && check_frame cont
	keys q
	check_restored fg
}

test_names()
{
	local title load
	open_terminal
	title=$(state '#{pane_title}')
	"$out/folio-bench" evil-names --dir "$dir" --seconds 20 --quiet --unlink >/dev/null 2>&1 &
	load=$!
	# Sixty rows, so that all the names have room.
	mux resize-window -t top -x 160 -y 60
	start_top --filter "path=$dir" || { kill $load; return; }
	wait_for "$dir/.*\\\\x1B"
	wait_for "$dir/.*\\\\x0A"
	check_frame names
	screen | grep -aqP '[\x00-\x08\x0b-\x1f\x7f]' && fail "a control character on the screen"
	[[ $(state '#{pane_title}') == "$title" ]] || fail "a name changed the terminal's title"
	keys q
	check_restored names
	kill $load 2>/dev/null
	wait $load 2>/dev/null
}

test_batches()
{
	open_terminal
	"$out/folioscope" top -n 2 -d 0.1 >"$dir/pipe" || fail "pipe: exit status $?"
	[[ $(grep -c ^folioscope: "$dir/pipe") -eq 2 ]] || fail "pipe: not two batches"
	shell "TERM=dumb $out/folioscope top -n 2 -d 0.1 | tee $dir/x >/dev/null; clear; echo end 1"
	wait_for '^end 1'
	shell "TERM=dumb $out/folioscope top --once -d 0.1; echo end 2"
	wait_for '^end 2'
	[[ $(state '#{alternate_on}') == 0 ]] || fail "TERM=dumb: a screen"
	screen | grep -aq 'maps ' || fail "TERM=dumb: no batch"
	shell "clear; env -u TERM $out/folioscope top -n 1 -d 0.1; echo end 3"
	wait_for '^end 3'
	screen | grep -aq 'maps ' || fail "without TERM: no batch"
	shell "clear; TERM=nosuchterm $out/folioscope top -n 1 -d 0.1; echo end 4"
	wait_for '^end 4'
	screen | grep -aq 'maps ' || fail "unknown TERM: no batch"
	# -n on a screen: it ends by itself and leaves the last interval behind.
	shell "clear; $out/folioscope top -n 2 -d 0.1; echo end 5"
	wait_for '^end 5'
	screen | grep -aq 'maps ' || fail "-n: nothing is left"
	grep -qP '\x1b' "$dir/pipe" && fail "pipe: escapes"
}

test_recording()
{
	"$out/folioscope" record -o "$dir/rec" -n 3 -d 0.2 2>/dev/null || fail "record: $?"
	open_terminal
	start_top -i "$dir/rec"
	wait_for 'END OF RECORDING'
	keys s; wait_for 'by pages'
	keys q
	check_restored recording
	head -c $(($(stat -c %s "$dir/rec") - 30)) "$dir/rec" >"$dir/cut"
	open_terminal
	start_top -i "$dir/cut"
	wait_for 'END OF RECORDING'
	keys q
	check_restored 'cut recording'
	screen | grep -aq 'cut: ' || fail "cut recording: not told after the end"
	shell "clear; cat $dir/rec | $out/folioscope top -i -"
	wait_for 'END OF RECORDING'
	keys q
	check_restored stdin
}

# Ours, in ticks of 10 ms, over ten seconds at one interval a second: at most 1 % of a CPU.
test_idle()
{
	local pid before after
	open_terminal
	start_top -d 1 || return
	sleep 2
	pid=$(program)
	before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
	sleep 10
	after=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
	echo "idle: $((after - before)) ticks in 10 s"
	[[ $((after - before)) -le $(($(getconf CLK_TCK) / 10)) ]] || fail "idle: more than 1 % of a CPU"
	keys q
	check_restored idle
}

# The server ends with its last session, and the next must not meet it dying.
mux new-session -d -s hold -x 80 -y 24 'sleep 600'
test_keys
test_sizes
test_signals
test_names
test_batches
test_recording
test_idle
exit $failed
