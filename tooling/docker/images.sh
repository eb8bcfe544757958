#!/usr/bin/env bash
# Images under the names that users write, made from Debian packages and npm: tests need no registry. Whatever has
# such a name already stays as it is, unless it was made here from other files than there are now.
#   images.sh [name...]      all of them when none is named, except the compilers
#   images.sh languages      the compilers (Go, Rust, Elixir, Java): gigabytes, which take minutes
#   IMAGE_PREFIX=trial/      makes trial/alpine:3 and so on, beside what there is
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/debian.sh"
export DOCKER_BUILDKIT=0 DEBIAN_FRONTEND=noninteractive IMAGE_PREFIX=${IMAGE_PREFIX:-}
SUITE=trixie
CADDY_SUITE=sid # Upstreams in files need Caddy 2.11, and trixie has 2.6.
MYSQL_SUITE=sid # No release has it.
NODE=24
JOBS=2       # Each is one busy core or one download.
SECONDS_MAX=300
COMPILER_SECONDS_MAX=1200
LABEL=berth.stand-in
NAMES="debian apt alpine busybox caddy registry node python php ruby bun deno nginx redis postgres mariadb mysql clickhouse server"
# Not made unless they are asked for. `programs` and `jre` are what the compiled programs run in.
LANGUAGES="go rust elixir maven jre programs"

tags() {
  case $1 in
    debian) echo debian:$SUITE-slim debian:stable-slim ;;
    apt) echo stand-in/apt:latest ;;
    alpine) echo alpine:3 alpine:latest ;;
    busybox) echo busybox:stable busybox:latest ;;
    caddy) echo caddy:2 caddy:2-alpine ;;
    registry) echo registry:2 ;;
    node) echo node:$NODE-alpine node:lts-alpine ;;
    python) echo python:3.13-slim ;;
    php) echo dunglas/frankenphp:1-php8.4 ;;
    # The version that Debian has, whatever the tag says.
    ruby) echo ruby:3.4 ;;
    bun) echo oven/bun:1 ;;
    deno) echo denoland/deno:2 ;;
    # The versions that Debian has, whatever the tags say.
    go) echo golang:1-trixie ;;
    rust) echo rust:1-trixie ;;
    elixir) echo elixir:1.18 ;;
    maven) echo maven:3-eclipse-temurin-17 maven:3-eclipse-temurin-21 ;;
    jre) echo eclipse-temurin:17-jre eclipse-temurin:21-jre ;;
    programs) echo buildpack-deps:trixie-curl ;;
    nginx) echo nginx:alpine nginx:1-alpine nginx:latest ;;
    redis) echo redis:8-alpine redis:7.2 ;;
    postgres) echo postgres:17-alpine postgres:16-alpine ;;
    mariadb) echo mariadb:11 ;;
    # The version that Debian has, whatever the tag says.
    mysql) echo mysql:8 ;;
    # Of 2018, the newest that Debian has: far from what the tag says, yet the same commands and variables.
    clickhouse) echo clickhouse/clickhouse-server:25.11 ;;
    server) echo server:debian13 ;;
    *) return 1 ;;
  esac
}

# What an image was made from: its own files and this one.
recipe() { cat "$here/images.sh" "$here/images/$1"/* 2>/dev/null | sha256sum | cut -c 1-16; }
exists() { docker image inspect "$1" >/dev/null 2>&1; }
# Whether a tag may stay: another's image, or ours and of today.
is_current() {
  local made
  made=$(docker image inspect -f "{{index .Config.Labels \"$LABEL\"}}" "$1" 2>/dev/null) || return 1
  [ -z "$made" ] || [ "$made" = "$(recipe "$2")" ]
}
is_done() {
  local tag
  for tag in $(tags "$1"); do is_current "$IMAGE_PREFIX$tag" "$1" || return 1; done
}

# make NAME: the image and its tags.
make() (
  set -e
  name=$1
  context=$(mktemp -d)
  trap 'rm -rf "$context"' EXIT
  image=${IMAGE_PREFIX}stand-in/$name:made
  if [ "$name" = debian ]; then
    debian_root $SUITE ca-certificates,passwd | docker import -c 'CMD ["bash"]' -c "LABEL $LABEL=$(recipe debian)" - "$image" >/dev/null
  else
    cp -r "$here/images/$name/." "$context"
    case $name in
      caddy)
        unpack $CADDY_SUITE "$context/root" caddy
        ;;
      registry)
        unpack $SUITE "$context/root" docker-registry
        ;;
      mysql)
        # Its libraries are of that release, so all of it is.
        debian_root $MYSQL_SUITE ca-certificates,passwd,mysql-server-core,mysql-client-core >"$context/root.tar"
        ;;
      node) npm_root "node@npm:node-linux-$(machine arm64)@$NODE" npm@11 ;;
      bun) npm_root "@oven/bun-linux-$(machine aarch64)@1" ;;
      deno) npm_root "@deno/linux-$(machine arm64)-glibc@2" ;;
    esac
    docker build -q --build-arg "PREFIX=$IMAGE_PREFIX" --label "$LABEL=$(recipe "$name")" -t "$image" "$context" >/dev/null
  fi
  for tag in $(tags "$name"); do
    is_current "$IMAGE_PREFIX$tag" "$name" || docker tag "$image" "$IMAGE_PREFIX$tag"
  done
)

# npm_root PACKAGES: installed into the context of the image that is made.
npm_root() { npm install --prefix "$context/root" --silent --no-audit --no-fund --ignore-scripts "$@"; }
# machine ARM: the machine's name in names of packages, where ARM is that of arm64.
machine() { uname -m | sed "s/x86_64/x64/; s/aarch64/$1/"; }

# debian_root SUITE PACKAGES: the files of a small Debian, as a tar. It trusts the authorities that this machine trusts.
debian_root() {
  command -v mmdebstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap; } >/dev/null
  mmdebstrap -q --variant=apt --include="$2" \
    --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Dir::Cache::pkgcache ""' --aptopt='Dir::Cache::srcpkgcache ""' \
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --customize-hook='copy-in /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs' \
    "$1" - "$(debian_mirror)"
}

# made NAME: `make` with a time of its own, in a process of its own, and one line about it.
made() {
  is_done "$1" && return 0
  local start=$SECONDS log seconds_max=$SECONDS_MAX
  log=$(mktemp)
  case " $LANGUAGES " in *" $1 "*) seconds_max=$COMPILER_SECONDS_MAX ;; esac
  if timeout "$seconds_max" "$0" --make "$1" >"$log" 2>&1; then
    echo "image $1: $((SECONDS - start)) s"
    rm -f "$log"
  else
    local code=$?
    [ $code = 124 ] && echo "not within $seconds_max s" >>"$log"
    echo "image $1 failed: $(grep . "$log" | tail -n 1) (see $log)" >&2
    return 1
  fi
}

if [ "${1:-}" = --make ]; then
  make "$2"
  exit
fi

wanted=${*:-$NAMES}
[ "$wanted" != languages ] || wanted=$LANGUAGES
for name in $wanted; do
  tags "$name" >/dev/null || { echo "No such image: $name. There are: $NAMES $LANGUAGES" >&2; exit 2; }
done
failed=0
all_done=1
for name in $wanted; do is_done "$name" || all_done=0; done
[ $all_done = 1 ] && exit 0
# Everything else is made from these, in this order.
for name in debian apt alpine; do made $name || exit 1; done
for name in $wanted; do
  while [ "$(jobs -rp | wc -l)" -ge $JOBS ]; do wait -n || failed=1; done
  made "$name" &
done
while [ "$(jobs -p | wc -l)" -gt 0 ]; do wait -n || failed=1; jobs >/dev/null; done
echo "images: $SECONDS s"
exit $failed
