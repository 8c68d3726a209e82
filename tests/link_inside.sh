#!/usr/bin/env bash
# The needs of both ends of a remote stage: no threads, no password in a dump, bounded memory.
. "$(dirname "$0")/link_common.bash"
exec python3 link_inside.py "$@"
