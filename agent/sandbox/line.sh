# Runs one line inside the sandbox. $1 is the word of the marks, $2 the folder below
# /work, $3 the line. Standard error joins standard output.
#
# Marks: \0WORD B\0 it begins; \0WORD D<folder>\0 where the shell ended up; \0WORD E<code>\0 it ended.
exec 2>&1
printf '\0%s B\0' "$1"
ulimit -c 0
ulimit -n 4096 2>/dev/null # refused where it is less already
shell=sh
command -v bash >/dev/null 2>&1 && shell=bash
if ! cd -- "/work/$2" 2>/dev/null; then
	cd /work || exit 126
	printf 'ash: the folder %s is not there; this runs in the top folder.\n' "$2"
fi
# The end of the line's own shell is told from within; what the line may have done to its output does not matter to descriptor 9.
ASH_WORD="$1" "$shell" -c '
ash_word=$ASH_WORD
unset ASH_WORD
trap '\''printf "\0%s D%s\0" "$ash_word" "$(pwd -P 2>/dev/null)" >&9'\'' EXIT
ash_line=$1
set --
eval "$ash_line"' ash "$3" 9>&1
code=$?
printf '\0%s E%s\0' "$1" "$code"
exit "$code"
