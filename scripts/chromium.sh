#!/bin/sh
# Install Debian's Chromium, in which the tests open reports, unless there is one.
set -eu
fail() {
    echo "scripts/chromium.sh: $1" >&2
    exit 1
}
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
command -v apt-get >/dev/null || fail "there is no Chromium and no apt-get; install Chromium, so that \`chromium\` is on the PATH."
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    fail "there is no Chromium, and installing it needs root or sudo: run this script as root."
fi
export DEBIAN_FRONTEND=noninteractive
for try in 1 2 3; do
    if $as_root apt-get update -qq &&
        $as_root apt-get install -qq --yes --no-install-recommends chromium >/dev/null; then break; fi
    sleep $((10 * try))
done
command -v chromium >/dev/null || fail "apt-get installed no \`chromium\`; install one by hand."
