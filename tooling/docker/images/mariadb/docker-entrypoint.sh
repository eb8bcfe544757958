#!/bin/bash
# The settings of the image that users know, as MARIADB_* or MYSQL_*, also as *_FILE: ROOT_PASSWORD, DATABASE, USER,
# PASSWORD, ALLOW_EMPTY_ROOT_PASSWORD, RANDOM_ROOT_PASSWORD; /docker-entrypoint-initdb.d/*.{sh,sql}
set -eo pipefail
DATA=/var/lib/mysql
[ "${1:0:1}" = - ] && set -- mariadbd "$@"
[ "$1" = mysqld ] && shift && set -- mariadbd "$@"
[ "$1" = mariadbd ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p $DATA /run/mysqld
  chown -R mysql:mysql $DATA /run/mysqld
  exec setpriv --reuid=mysql --regid=mysql --init-groups "$0" "$@"
fi

# setting NAME: its value, or what its file holds.
setting() {
  local prefix value file
  for prefix in MARIADB MYSQL; do
    value=${prefix}_$1 file=${prefix}_$1_FILE
    if [ -n "${!file:-}" ]; then cat "${!file}" && return; fi
    if [ -n "${!value:-}" ]; then printf %s "${!value}" && return; fi
  done
}
quoted() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\'\'}"
}

statements() {
  local root=$1 database user
  database=$(setting DATABASE)
  user=$(setting USER)
  # One a line: that is what the server reads while it fills a database.
  echo "DELETE FROM mysql.global_priv WHERE Host <> 'localhost' OR User NOT IN ('root', 'mariadb.sys');"
  echo "FLUSH PRIVILEGES;"
  echo "CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED BY $(quoted "$root");"
  echo "GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;"
  echo "ALTER USER 'root'@'localhost' IDENTIFIED BY $(quoted "$root");"
  echo "CREATE USER 'healthcheck'@'127.0.0.1';"
  echo "CREATE USER 'healthcheck'@'localhost';"
  [ -z "$database" ] || echo "CREATE DATABASE IF NOT EXISTS \`$database\`;"
  [ -z "$user" ] || echo "CREATE USER $(quoted "$user")@'%' IDENTIFIED BY $(quoted "$(setting PASSWORD)");"
  [ -z "$user" ] || [ -z "$database" ] || echo "GRANT ALL ON \`$database\`.* TO $(quoted "$user")@'%';"
}

initialise() {
  local root log=/tmp/initialise.log
  root=$(setting ROOT_PASSWORD)
  if [ -n "$(setting RANDOM_ROOT_PASSWORD)" ]; then
    root=$(head -c 18 /dev/urandom | base64)
    echo "GENERATED ROOT PASSWORD: $root"
  fi
  if [ -z "$root$(setting ALLOW_EMPTY_ROOT_PASSWORD)$(setting ALLOW_EMPTY_PASSWORD)" ]; then
    echo "Database is uninitialized and password option is not specified: MARIADB_ROOT_PASSWORD, MARIADB_ALLOW_EMPTY_ROOT_PASSWORD or MARIADB_RANDOM_ROOT_PASSWORD" >&2
    exit 1
  fi
  mariadb-install-db --datadir=$DATA --skip-test-db --auth-root-authentication-method=normal --skip-name-resolve >/dev/null
  local bootstrap=(mariadbd --bootstrap --datadir=$DATA --skip-networking)
  statements "$root" | "${bootstrap[@]}" >$log 2>&1 || { cat $log && exit 1; }
  if compgen -G '/docker-entrypoint-initdb.d/*' >/dev/null; then run_scripts "$root"; fi
  echo "MariaDB init process done. Ready for start up."
}

# run_scripts PASSWORD: by a server that nobody takes for ready, since it has no address.
run_scripts() {
  local file server database client=(mariadb --user=root --password="$1")
  mariadbd --datadir=$DATA --skip-networking &
  server=$!
  until "${client[@]}" --execute="DO 1" 2>/dev/null; do
    kill -0 $server || exit 1
    sleep 0.1
  done
  database=$(setting DATABASE)
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) if [ -x "$file" ]; then "$file"; else . "$file"; fi ;;
      *.sql) "${client[@]}" ${database:+--database="$database"} <"$file" ;;
    esac
  done
  "${client[@]}" --execute=SHUTDOWN
  wait $server
}

[ -d $DATA/mysql ] || initialise
exec "$@"
