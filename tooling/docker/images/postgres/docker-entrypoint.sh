#!/bin/bash
# The settings of the image that users know: POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB (also as *_FILE),
# POSTGRES_INITDB_ARGS, POSTGRES_HOST_AUTH_METHOD, PGDATA, /docker-entrypoint-initdb.d/*.{sh,sql,sql.gz}
set -eo pipefail
[ "${1:0:1}" = - ] && set -- postgres "$@"
[ "$1" = postgres ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chmod 700 "$PGDATA"
  chmod 2775 /var/run/postgresql
  chown -R postgres:postgres "$PGDATA" /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

# setting NAME: its value, or what its file holds.
setting() {
  local file=POSTGRES_$1_FILE value=POSTGRES_$1
  if [ -n "${!file:-}" ]; then cat "${!file}"; else printf %s "${!value:-}"; fi
}

initialise() {
  local user database password method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256} file
  user=$(setting USER)
  user=${user:-postgres}
  database=$(setting DB)
  database=${database:-$user}
  password=$(setting PASSWORD)
  if [ -z "$password" ] && [ "$method" != trust ]; then
    echo "Error: Database is uninitialized and superuser password is not specified. Set POSTGRES_PASSWORD to a non-empty value." >&2
    exit 1
  fi
  # shellcheck disable=SC2086 # Several arguments, as in the image that users know.
  initdb --username="$user" --pwfile=<(printf '%s\n' "${password:-x}") --auth-host="$method" --no-sync \
    ${POSTGRES_INITDB_ARGS:-} >/dev/null
  printf '\nhost all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"
  # On no address: nobody takes it for ready.
  PGUSER=$user pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -c fsync=off" -w start >/dev/null
  local psql=(psql -v ON_ERROR_STOP=1 --username "$user" --no-password --no-psqlrc -q)
  [ "$database" = postgres ] || "${psql[@]}" -d postgres -v db="$database" -f - <<<'CREATE DATABASE :"db";'
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) if [ -x "$file" ]; then "$file"; else . "$file"; fi ;;
      *.sql) "${psql[@]}" -d "$database" -f "$file" ;;
      *.sql.gz) gunzip -c "$file" | "${psql[@]}" -d "$database" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -m fast -w stop >/dev/null
  echo "PostgreSQL init process complete; ready for start up."
}

[ -s "$PGDATA/PG_VERSION" ] || initialise
exec "$@"
