#!/bin/bash
# The settings of the image that users know: CLICKHOUSE_USER, CLICKHOUSE_PASSWORD
set -eo pipefail
DATA=/var/lib/clickhouse ETC=/etc/clickhouse-server
[ $# -eq 0 ] || [ "${1:0:1}" = - ] || exec "$@"

# The user is an element's name, and the password any text.
user=${CLICKHOUSE_USER:-default} password=${CLICKHOUSE_PASSWORD:-}
cat >$ETC/users.d/default-user.xml <<XML
<yandex><users>
  <default remove="remove"></default>
  <$user>
    <profile>default</profile><quota>default</quota>
    <networks><ip>::/0</ip></networks>
    <password><![CDATA[${password//]]>/]]]]><![CDATA[>}]]></password>
  </$user>
</users></yandex>
XML
chown clickhouse $ETC/users.d/default-user.xml
chmod 600 $ETC/users.d/default-user.xml
chown -R clickhouse:clickhouse $DATA
# It heeds this as an argument only.
exec setpriv --reuid=clickhouse --regid=clickhouse --clear-groups \
  clickhouse-server --config-file=$ETC/config.xml "$@" -- --listen_host=0.0.0.0
