set -eu
sed -e "s/@PORT@/$1/" -e "s/@THREADS@/$2/" /src/nginx.conf.in > /tmp/nginx.conf
exec nginx -c /tmp/nginx.conf
