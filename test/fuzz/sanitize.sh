#!/usr/bin/env bash
# npm run sanitize -- <command> ... - runs a command on a copy of the tree whose addon was built with
# AddressSanitizer and UndefinedBehaviorSanitizer, for instance:
#   npm run sanitize -- ava test/dataplane/native
#   npm run sanitize -- node test/fuzz/fuzz.ts descriptors --seconds 600
# What the command adds to the corpus is brought back.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar -c --exclude=node_modules --exclude=.git --exclude=dataplane/native/build . | tar -x -C "$copy"
ln -s "$root/node_modules" "$copy/node_modules"
cd "$copy"
flags='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1'
CXXFLAGS=$flags LDFLAGS='-fsanitize=address,undefined' npm run -s build:native
test -e dataplane/native/build/Release/postern.node
status=0
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 "$@" || status=$?
cp -rn test/fuzz/corpus/. "$root/test/fuzz/corpus/"
exit $status
