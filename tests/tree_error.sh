#!/usr/bin/env bash
# The tree examples name the file that failed, and print no digest then.
set -uo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p tree/folder
for i in $(seq 50); do echo "$i" >"tree/folder/$i"; done
chmod 000 tree/folder/17
chmod 755 .
as=()
# The superuser can read every file.
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --clear-groups)
"${as[@]}" true 2>/dev/null || exit 77

failed=0
fails() { # ARGUMENT WORDS
    local said status
    said=$("${as[@]}" ./program "$1" 2>&1)
    status=$?
    if [ "$status" != 1 ] || [ "$said" != "$2" ]; then
        echo "tree_$kind $1: status $status, said: $said"
        failed=1
    fi
}

for kind in serial parallel bounded; do
    cp "$LEAT_BUILD_DIR/examples/example-tree_$kind" program 2>/dev/null || exit 77
    fails tree 'tree/folder/17: Permission denied'
    fails nowhere 'nowhere: No such file or directory'
done
exit $failed
