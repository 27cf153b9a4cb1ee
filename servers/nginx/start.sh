set -eu
sed -e "s/@ADDRESS@/$LISTEN_ADDRESS/" -e "s/@PORT@/$1/" -e "s/@THREADS@/$2/" /src/nginx.conf.in > /tmp/nginx.conf
exec nginx -c /tmp/nginx.conf
