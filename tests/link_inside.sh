#!/usr/bin/env bash
# What both ends of a remote stage take: no threads, no password in a dump, bounded memory.
. "$(dirname "$0")/link_common.bash"
exec python3 link_inside.py "$@"
