# Sourced by the scripts beside it: Debian packages without a trace on the machine.

# Where this machine's own package sources get Debian from.
debian_mirror() {
  local mirrors
  mirrors=$(grep -rhoE '^(URIs:|deb ).*https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
    grep -oE 'https?://[^ ]+') || true
  [ -n "$mirrors" ] || { echo "no Debian mirror in the package sources of this machine" >&2 && return 1; }
  echo "${mirrors%%$'\n'*}"
}

# unpack SUITE FOLDER PACKAGE...: unpacks packages of any Debian release into a folder; nothing is installed.
# A configuration of its own keeps that release out of the machine's package lists.
unpack() (
  set -e
  suite=$1 folder=$2
  shift 2
  mirror=$(debian_mirror)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  mkdir -p lists/partial cache/archives/partial state none
  : >status
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >sources.list
  cat >apt.conf <<CONF
Dir::Etc::main "/dev/null"; Dir::Etc::parts "$work/none";
Dir::Etc::sourcelist "$work/sources.list"; Dir::Etc::sourceparts "$work/none";
Dir::State "$work/state"; Dir::State::lists "$work/lists"; Dir::State::status "$work/status"; Dir::Cache "$work/cache";
Acquire::Languages "none"; Acquire::Check-Valid-Until "false"; APT::Sandbox::User "root";
CONF
  export APT_CONFIG=$work/apt.conf
  apt-get update -qq
  apt-get download -qq "$@"
  for package in *.deb; do dpkg-deb -x "$package" "$folder"; done
)
