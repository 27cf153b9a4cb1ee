set -eu
exec /build/tcp-proxy -l "127.0.0.1:$1" -r "127.0.0.1:$2" > /dev/null
