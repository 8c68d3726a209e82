#!/usr/bin/env bash
# leat names each variable of the environment that it does not know, once. It knows all variables
# that it, its command or a test reads.
set -euo pipefail

program=$LEAT_PROGRAMS/modest
failed=0

# said VARIABLE: what a program prints because the variable is set.
said() {
    env "$1=" "$program" 2>&1 >/dev/null | grep "$1" || true
}

for name in LEAT_WORKRES LEAT_ LEAT_WORKERS2; do
    [ "$(said "$name")" = "leat: $name: leat knows no such variable" ] ||
        { echo "$name: says: $(said "$name")"; failed=1; }
done
[ -z "$(said LEATWORKERS)" ] || { echo 'a variable that is not for leat is named'; failed=1; }

cd "$LEAT_SOURCE_DIR"
mapfile -t read_here < <(
    grep -rhoE '\b(getenv|lt_env|lt_env_number|read_word|read_ms)\("LEAT_[A-Z_]+' src cmd link \
        tests bench |
        grep -o 'LEAT_.*' | sort -u
)
[ ${#read_here[@]} -ge 12 ] || { echo "only ${#read_here[@]} variables found"; failed=1; }
for name in "${read_here[@]}" LEAT_BIN LEAT_BUILD_DIR LEAT_SANITIZE LEAT_SOURCE_DIR \
    LEAT_PROGRAMS; do
    [ -z "$(said "$name")" ] || { echo "$name: $(said "$name")"; failed=1; }
done
exit $failed
