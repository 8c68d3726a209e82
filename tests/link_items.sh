#!/usr/bin/env bash
# The items of a remote stage: failures, losses, leases, order, ends.
. "$(dirname "$0")/link_common.bash"
exec python3 link_items.py "$@"
