#!/usr/bin/env bash
# A stage over far ends that are killed and stopped, with an engine and a near end that are killed,
# and a network that fails. In full with LEAT_LONG, in a build that is neither sanitized nor harsh.
. "$(dirname "$0")/link_common.bash"
exec python3 link_kill.py
