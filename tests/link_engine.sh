#!/usr/bin/env bash
# Engines that are refused, that want a password, that go away, and that have changed.
. "$(dirname "$0")/link_common.bash"
exec python3 link_engine.py "$@"
