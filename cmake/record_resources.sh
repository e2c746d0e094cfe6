#!/bin/sh
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a compiler (usage: record_resources.sh COMPILER ARGUMENTS…) and keeps what ptxas says about
# registers, shared memory and spills in OBJECT.resources; passes on all else that it says.
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
case $object in
  *.o) ;;
  *) exec "$@" ;;
esac
"$@" 2>"$object.resources"
status=$?
grep -v -e '^ptxas info' -e 'bytes stack frame' "$object.resources" >&2
exit $status
