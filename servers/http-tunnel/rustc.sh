#!/bin/sh
# Compiles traitobject.rs in the place of the crate of that name in http-tunnel's lock file, which compilers refuse by now.
# cargo calls it with the compiler's name and arguments.
set -eu
for word; do
  case $word in */traitobject-0.1.0/src/lib.rs) word=/src/traitobject.rs ;; esac
  set -- "$@" "$word"
  shift
done
exec "$@"
