#!/usr/bin/env bash
# Starts a Docker engine, with compose and buildx, on a Debian machine: root, no systemd, no registry. Does nothing
# where one answers already. On failure: one line that says why, exit code 1.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/debian.sh"
export DEBIAN_FRONTEND=noninteractive
PLUGINS=/usr/local/lib/docker/cli-plugins
PLUGIN_SUITE=sid # Compose 2.40 and buildx 0.29, which need no newer libraries than Debian 12 has.
LOG=/var/log/berth-dockerd.log
APT_SECONDS=180 PLUGIN_SECONDS=120 START_SECONDS=60

fail() {
  echo "No Docker engine: $*" >&2
  exit 1
}
answers() { timeout 5 docker version >/dev/null 2>&1; }
has_plugins() { docker compose version >/dev/null 2>&1 && docker buildx version >/dev/null 2>&1; }

install_engine() {
  local packages=()
  command -v dockerd >/dev/null || packages+=(docker.io)
  command -v iptables >/dev/null || packages+=(iptables)
  [ ${#packages[@]} -gt 0 ] || command -v docker >/dev/null || packages+=(docker-cli)
  [ ${#packages[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || return 1
  # No package starts a service here: dockerd is started below, also where no systemd runs.
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
    trap "rm -f $policy" RETURN
  fi
  timeout $APT_SECONDS apt-get update -qq
  # Since Debian 13 the program `docker` is a package of its own.
  if apt-cache show docker-cli >/dev/null 2>&1; then packages+=(docker-cli); fi
  timeout $APT_SECONDS apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

install_plugins() {
  local folder
  folder=$(mktemp -d)
  trap "rm -rf $folder" RETURN
  export -f unpack debian_mirror
  timeout $PLUGIN_SECONDS bash -c 'unpack "$@"' - $PLUGIN_SUITE "$folder" docker-compose docker-buildx || return 1
  install -D -m 755 -t $PLUGINS "$folder"/usr/libexec/docker/cli-plugins/docker-{compose,buildx}
}

# Version 1 of control groups, where no systemd mounted them.
mount_cgroups() {
  [ ! -e /sys/fs/cgroup/cgroup.controllers ] && ! mountpoint -q /sys/fs/cgroup || return 0
  mount -t tmpfs -o mode=0755 cgroup /sys/fs/cgroup || return 1
  local controller
  for controller in $(awk '!/^#/ && $4 == 1 { print $1 }' /proc/cgroups); do
    mkdir -p "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" || rmdir "/sys/fs/cgroup/$controller"
  done
}

start_engine() {
  # The file of an engine that died stops a new one from starting.
  local pid_file=/var/run/docker.pid
  [ -s $pid_file ] && ! kill -0 "$(cat $pid_file)" 2>/dev/null && rm -f $pid_file
  mount_cgroups || return 1
  setsid nohup dockerd >$LOG 2>&1 </dev/null &
  local engine=$! end=$((SECONDS + START_SECONDS))
  until answers; do
    kill -0 $engine 2>/dev/null || return 1
    if [ $SECONDS -ge $end ]; then
      kill $engine
      return 1
    fi
    sleep 0.1
  done
}

if ! answers; then
  [ "$(id -u)" = 0 ] || fail "starting one needs root"
  install_engine || fail "the packages docker.io and iptables could not be installed"
  start_engine || fail "dockerd did not start: $(grep -v level=info $LOG | tail -n 1)"
fi
has_plugins || { [ "$(id -u)" = 0 ] && install_plugins; } || fail "compose and buildx could not be installed"
echo "Docker engine $(docker version --format '{{.Server.Version}} (API {{.Server.APIVersion}})'), $SECONDS s"
