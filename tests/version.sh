#!/usr/bin/env bash
# The headers, the command, the list of changes and the Debian packages have the same version.
set -euo pipefail

header=$(sed -n 's/^#define LEAT_VERSION_[A-Z]* //p' "$LEAT_SOURCE_DIR/include/leat/base.h" |
    paste -sd.)
command=$("$LEAT_BIN" --version)
changes=$(sed -n 's/^## //p' "$LEAT_SOURCE_DIR/CHANGELOG.md" | sed q)
debian=$(sed -n '1s/^leat (\(.*\)) .*/\1/p' "$LEAT_SOURCE_DIR/debian/changelog")
echo "header $header, command $command, changes $changes, debian $debian"
[ "$command" = "leat $header" ]
[ "$changes" = "$header" ]
[ "$debian" = "$header" ]
