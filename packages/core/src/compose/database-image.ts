import { withDefaults } from "./reference.ts";

/** Last parts of the names of images that are databases, of any publisher. */
const DATABASE_IMAGES: ReadonlySet<string> = new Set([
  ...["postgres", "postgresql", "postgis", "pgvector", "timescaledb", "timescaledb-ha", "pgvecto-rs"],
  ...["mysql", "mysql-server", "mariadb", "mariadb-galera", "percona", "percona-server"],
  ...["mongo", "mongodb", "mongodb-community-server", "percona-server-mongodb", "ferretdb"],
  ...["redis", "redis-stack", "redis-stack-server", "valkey", "keydb", "dragonfly", "memcached"],
  ...["clickhouse", "clickhouse-server", "influxdb", "cassandra", "scylla", "cockroach", "couchdb"],
  ...["neo4j", "arangodb", "rethinkdb", "edgedb", "gel", "surrealdb", "questdb", "victoria-metrics"],
]);

/** Whether a container of this image is shown as a database: it then has no URLs. */
export function isDatabaseImage(image: string | null): boolean {
  if (image === null) return false;
  const path = withDefaults(image).replace(/@.*$/, "").split("/");
  const last = path.at(-1)?.replace(/:.*$/, "").toLowerCase() ?? "";
  return DATABASE_IMAGES.has(last);
}
