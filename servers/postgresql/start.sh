# Makes a database in /data, which is empty, in memory and the sandbox's own, and becomes its server on port $1.
set -eu

port=$1
settings="-c config_file=/src/postgresql.conf -c hba_file=/src/pg_hba.conf"
as_superuser="psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --host=/run --username=postgres"

initdb --pgdata=/data --username=postgres --encoding=UTF8 --locale=C.UTF-8 --wal-segsize=1 --no-sync --auth=reject >/dev/null

# The superuser comes in by a socket inside the sandbox, while nobody else can, and never again.
private="$settings -c listen_addresses= -c unix_socket_directories=/run"
pg_ctl start --silent --wait --pgdata=/data --log=/run/prepare.log --options="$private" ||
  { cat /run/prepare.log >&2; exit 1; }
$as_superuser --command='CREATE DATABASE bench'
$as_superuser --dbname=bench --single-transaction --file=/contract/records.sql --file=/src/roles.sql
$as_superuser --dbname=bench --command='VACUUM (FREEZE, ANALYZE)'
pg_ctl stop --silent --wait --mode=fast --pgdata=/data

# On loopback, and where the servers are elsewhere, on the measured network, to CLIENT_ADDRESS alone.
{ cat /src/pg_hba.conf; echo "host bench bench $CLIENT_ADDRESS/32 trust"; } > /run/pg_hba.conf
[ "$LISTEN_ADDRESS" = 127.0.0.1 ] && addresses=127.0.0.1 || addresses="127.0.0.1,$LISTEN_ADDRESS"
exec postgres -D /data $settings -c hba_file=/run/pg_hba.conf -c listen_addresses="$addresses" -c port="$port"
