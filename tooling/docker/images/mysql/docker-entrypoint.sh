#!/bin/bash
# The settings of the image that users know, also as *_FILE: MYSQL_ROOT_PASSWORD, MYSQL_DATABASE, MYSQL_USER,
# MYSQL_PASSWORD, MYSQL_ALLOW_EMPTY_PASSWORD; /docker-entrypoint-initdb.d/*.sql
set -eo pipefail
DATA=/var/lib/mysql
[ "${1:0:1}" = - ] && set -- mysqld "$@"
[ "$1" = mysqld ] || exec "$@"

if [ "$(id -u)" = 0 ]; then
  mkdir -p $DATA /run/mysqld
  chown -R mysql:mysql $DATA /run/mysqld
  exec setpriv --reuid=mysql --regid=mysql --init-groups "$0" "$@"
fi

# setting NAME: its value, or what its file holds.
setting() {
  local value=MYSQL_$1 file=MYSQL_$1_FILE
  if [ -n "${!file:-}" ]; then cat "${!file}"; else printf %s "${!value:-}"; fi
}
quoted() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\'\'}"
}

statements() {
  local root=$1 database user
  database=$(setting DATABASE)
  user=$(setting USER)
  echo "CREATE USER 'root'@'%' IDENTIFIED BY $(quoted "$root");"
  echo "GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;"
  [ -z "$database" ] || echo "CREATE DATABASE IF NOT EXISTS \`$database\`;"
  [ -z "$user" ] || echo "CREATE USER $(quoted "$user")@'%' IDENTIFIED BY $(quoted "$(setting PASSWORD)");"
  [ -z "$user" ] || [ -z "$database" ] || echo "GRANT ALL ON \`$database\`.* TO $(quoted "$user")@'%';"
  echo "ALTER USER 'root'@'localhost' IDENTIFIED BY $(quoted "$root");"
}

initialise() {
  local root file server database
  root=$(setting ROOT_PASSWORD)
  if [ -z "$root$(setting ALLOW_EMPTY_PASSWORD)" ]; then
    echo "Database is uninitialized and password option is not specified: MYSQL_ROOT_PASSWORD or MYSQL_ALLOW_EMPTY_PASSWORD" >&2
    exit 1
  fi
  mysqld --initialize-insecure --datadir=$DATA
  mysqld --skip-networking --datadir=$DATA &
  server=$!
  until mysqladmin --user=root ping --silent 2>/dev/null; do
    kill -0 $server || exit 1
    sleep 0.1
  done
  statements "$root" | mysql --user=root
  database=$(setting DATABASE)
  for file in /docker-entrypoint-initdb.d/*.sql; do
    [ -e "$file" ] || continue
    MYSQL_PWD=$root mysql --user=root ${database:+--database="$database"} <"$file"
  done
  MYSQL_PWD=$root mysqladmin --user=root shutdown
  wait $server
  echo "MySQL init process done. Ready for start up."
}

[ -d $DATA/mysql ] || initialise
exec "$@"
