# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# folioscope.bash - completion for bash. Words come from `folioscope --complete`, so that they are
# those of the program that is installed.

# The options of the verb before its CMD have ended at this word: the index of CMD, or nothing.
_folioscope_command()
{
	local i w

	for ((i = 2; i < COMP_CWORD; i++)); do
		w=${COMP_WORDS[i]}
		case $w in
		--)
			echo $((i + 1))
			return
			;;
		-[idnsotf] | --input | --interval | --count | --sort | --output | --seconds | \
			--filter | --top | --record | --hook | --backend | --require | --btf | --memory | \
			--sample | --folios)
			# Its value: "--sort x", or "--sort = x" as bash splits words.
			[[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
			((i++))
			# pid=1 is split, too.
			[[ ${COMP_WORDS[i + 1]} != = ]] || ((i += 2))
			;;
		--json | --explain)
			[[ ${COMP_WORDS[i + 1]} != = ]] || ((i += 2))
			;;
		-*) ;;
		*)
			echo "$i"
			return
			;;
		esac
	done
}

_folioscope_offer()
{
	local words

	words=$("${COMP_WORDS[0]}" "--complete${1:+=$1}" 2>/dev/null) || return
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

_folioscope_files()
{
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

# The value of option $1. Status 1: it takes none.
_folioscope_value()
{
	case $1 in
	-s | --sort)		_folioscope_offer --sort ;;
	--format | --require | --explain) _folioscope_offer "$1" ;;
	--backend | --hook | -f | --filter)
		[[ $1 != -f ]] || set -- --filter
		compopt -o nospace 2>/dev/null
		_folioscope_offer "$1"
		;;
	-i | --input | -o | --output | --record | --textfile | --btf) _folioscope_files ;;
	-t | --seconds | -d | --interval | -n | --count | --top | --memory | --max-series) ;;
	*)	return 1 ;;
	esac
}

# Behind SIGNAL= or path=: bash has split the word at the =.
_folioscope_split_value()
{
	local opt=$1 key=$2

	case $opt=$key in
	--filter=path | -f=path | --filter=cgroup | -f=cgroup) _folioscope_files ;;
	--backend=*)
		mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" --complete=--backend 2>/dev/null |
			sed -n "s/^${key//./\\.}=//p" | grep -F -- "$cur")
		;;
	esac
}

_folioscope()
{
	local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} prev opt at

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W '--help --version --explain' -- "$cur")
		else
			_folioscope_offer ''
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W help -- "$cur")
		fi
		return
	fi
	if [[ $verb == help ]]; then
		_folioscope_offer ''
		return
	fi

	if [[ $verb == run || $verb == record ]]; then
		at=$(_folioscope_command)
		if [[ -n $at ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$at"
			elif ((COMP_CWORD == at)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				_folioscope_files
			fi
			return
		fi
	fi

	# "--json=F" comes as three words, "--filter path=/x" as four.
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	[[ $cur != = ]] || { prev='=' cur=''; }
	if [[ $prev == = ]]; then
		at=$((COMP_CWORD - 1))
		[[ ${COMP_WORDS[at]} == = ]] || at=$COMP_CWORD
		opt=${COMP_WORDS[at - 1]}
		case $opt in
		--json)	_folioscope_files ;;
		-*)	_folioscope_value "$opt" || true ;;
		*)
			prev=${COMP_WORDS[at - 2]}
			[[ $prev != = ]] || prev=${COMP_WORDS[at - 3]}
			_folioscope_split_value "$prev" "$opt"
			;;
		esac
		return
	fi
	if [[ $cur == -* ]]; then
		_folioscope_offer "$verb"
	elif [[ $prev == --json && $verb != heat ]]; then
		_folioscope_files
	elif ! _folioscope_value "$prev"; then
		case $verb in
		heat)		_folioscope_files ;;
		run | record)	mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
		esac
	fi
}

complete -F _folioscope folioscope
