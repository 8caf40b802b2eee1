#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# gen-figures.sh FOLIOSCOPE - rewrite the FIGURES of folioscope.8 from `FOLIOSCOPE --explain`.
#
# figures.c has the texts; test_docs fails when the page does not hold one of them.
set -eu

page=$(dirname "$0")/folioscope.8
new=$page.new
trap 'rm -f "$new"' EXIT

figures()
{
	"$1" --explain | awk '
	function flush_field() {
		if (label == "")
			return
		# A new sentence begins a new line.
		gsub(/`/, "\\(ga", text)
		gsub(/\. [A-Z]/, "&\001", text)
		while (match(text, /\. [A-Z]\001/))
			text = substr(text, 1, RSTART) "\n" substr(text, RSTART + 2, 1) substr(text, RSTART + 4)
		if (label != "meaning")
			printf ".br\n.I %s:\n", toupper(substr(label, 1, 1)) substr(label, 2)
		print text
		label = ""
	}
	/^[^ ]/ {
		flush_field()
		unit = $0
		sub(/^[^ ]* /, "", unit)
		printf ".TP\n.BR %s \" %s\"\n", $1, unit
		next
	}
	/^    [a-z]/ {
		flush_field()
		label = substr($0, 5, 10)
		sub(/ *$/, "", label)
		text = substr($0, 15)
		next
	}
	/^ / {
		sub(/^ */, "")
		text = text (label == "metric" ? ", " : " ") $0
		next
	}
	END { flush_field() }' | fold -s -w 98 | sed 's/ $//'
}

{
	sed '/^\.\\" BEGIN FIGURES/q' "$page"
	figures "$1"
	sed -n '/^\.\\" END FIGURES/,$p' "$page"
} >"$new"
mv "$new" "$page"
