#!/usr/bin/env bash
# libleat-link over TLS: certificates that are and are not trusted, ports without TLS, connections
# that are cut, and leat map with a worker.
. "$(dirname "$0")/link_common.bash"
command -v openssl >/dev/null || skip 'openssl is missing'
redis-server --tls-port 0 --port 0 --check-nothing 2>&1 | grep -q 'tls-port' &&
    skip 'this redis-server has no TLS'
exec python3 link_tls.py "$@"
