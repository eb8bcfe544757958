import type { EnvironmentEntry } from "./environment.ts";
import { magicUrlOf } from "./magic-key.ts";
import { recordOf } from "./record.ts";
import { withDefaults } from "./reference.ts";
import type { ComposeService } from "./schema.ts";

/** Last parts of the names of images that are databases, of any publisher. */
const DATABASE_IMAGES: ReadonlySet<string> = new Set([
  ...["postgres", "postgresql", "postgis", "pgvector", "timescaledb", "timescaledb-ha", "pgvecto-rs"],
  ...["mysql", "mysql-server", "mariadb", "mariadb-galera", "percona", "percona-server"],
  ...["mongo", "mongodb", "mongodb-community-server", "percona-server-mongodb", "ferretdb"],
  ...["redis", "redis-stack", "redis-stack-server", "valkey", "keydb", "dragonfly", "memcached"],
  ...["clickhouse", "clickhouse-server", "influxdb", "cassandra", "scylla", "cockroach", "couchdb"],
  ...["neo4j", "arangodb", "rethinkdb", "edgedb", "gel", "surrealdb", "questdb", "victoria-metrics"],
]);

/** The last part of an image's name, whoever publishes it: `postgres` of `docker.io/library/postgres:17`. */
export function imageName(image: string | null): string {
  const path = withDefaults(image ?? "")
    .replace(/@.*$/, "")
    .split("/");
  return path.at(-1)?.replace(/:.*$/, "").toLowerCase() ?? "";
}

/**
 * Whether a container is shown as a database: it then has no URLs. Some databases are used by a browser, which shows in
 * variables that ask for a URL and in a health check over HTTP.
 */
export function isDatabase({ image, healthcheck }: ComposeService, entries: readonly EnvironmentEntry[]): boolean {
  if (!DATABASE_IMAGES.has(imageName(image ?? null)) || entries.some(({ key }) => magicUrlOf(key) !== undefined))
    return false;
  const test = [recordOf(healthcheck).test].flat().join(" ");
  return !/\b(curl|wget)\b|\bhttps?:\/\//i.test(test);
}
