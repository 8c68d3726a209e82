#!/usr/bin/env bash
# How runs of a remote stage end, and how they are opened again.
. "$(dirname "$0")/link_common.bash"
exec python3 link_ends.py "$@"
