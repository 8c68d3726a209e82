# link_common.bash: what the tests of libleat-link need; sourced, not run.

skip() {
    echo "skipped: $*"
    exit 77
}

[ -x "${LEAT_PROGRAMS:?}/link_near" ] || skip 'libleat-link is not built'
for needed in redis-server python3 setpriv; do
    command -v $needed >/dev/null || skip "$needed is missing"
done
cd "$(dirname "$0")" || exit 1
export PYTHONDONTWRITEBYTECODE=1
