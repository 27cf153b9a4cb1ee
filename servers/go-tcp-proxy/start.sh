set -eu
exec /build/tcp-proxy -l "$LISTEN_ADDRESS:$1" -r "$BACKEND_ADDRESS:$2" > /dev/null
