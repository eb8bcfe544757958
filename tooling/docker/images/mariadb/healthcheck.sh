#!/bin/sh
# healthcheck.sh --connect --innodb_initialized: over TCP, where the server that fills the database does not listen.
exec mariadb-admin --protocol=tcp --disable-ssl-verify-server-cert -h 127.0.0.1 -u healthcheck ping >/dev/null 2>&1
