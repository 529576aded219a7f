#!/usr/bin/env bash
# test/packages.sh [release] - installs the Debian packages that the tests need and the machine lacks,
# with `release` those of `npm run release:check`, too. Needs root. Where two of it run at the same
# time, the second one waits for the first.
set -euo pipefail

packages=(wireguard-go wireguard-tools iproute2 iputils-ping iperf3 nftables tcpdump tshark nfdump python3 mariadb-server procps chromium-headless-shell prometheus
  podman runc netavark debootstrap iptables openssl systemd systemd-container caddy curl galera-4 rsync lsof libfaketime
  debian-archive-keyring reprepro gpg gpg-agent apt docker-compose passt exim4-daemon-light
  # Shells that complete commands, and a strict reader of manual pages.
  zsh fish mandoc
  # Identity providers, and what they leave out unless it is asked for.
  lemonldap-ng starman liblasso-perl libglib-perl libio-string-perl libstring-random-perl libxml-simple-perl
  libcrypt-openssl-bignum-perl simplesamlphp php-cli php-xml php-mbstring)
# What checks a whole release: another machine's compiler and emulator, what checks packages, what
# signs.
if [ "${1:-}" = release ]; then
  packages+=(g++-aarch64-linux-gnu qemu-user-static lintian minisign busybox-static mmdebstrap)
  command -v kubectl >/dev/null || { echo 'kubectl is missing: kubernetes.io/docs/tasks/tools' >&2; exit 1; }
fi

exec 9>/run/lock/postern-test-packages
flock 9

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit

printf '\n== installing %s\n' "${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Packages must not start services: the tests start their own MariaDB and nothing else.
policy=/usr/sbin/policy-rc.d made=
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
  made=yes
fi
trap 'if [ -n "$made" ]; then rm -f $policy; fi' EXIT
# Processes that a package starts must not keep the lock.
apt-get update -qq 9>&-
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 9>&-
