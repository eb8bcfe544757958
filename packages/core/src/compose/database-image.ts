import type { EnvironmentEntry } from "./environment.ts";
import { magicUrlOf } from "./magic-key.ts";
import { recordOf } from "./record.ts";
import { withDefaults } from "./reference.ts";
import type { ComposeService } from "./schema.ts";

/** Last parts of the names of database images, of any publisher. */
const DATABASE_IMAGES: ReadonlySet<string> = new Set([
  ...["postgres", "postgresql", "postgis", "pgvector", "timescaledb", "timescaledb-ha", "pgvecto-rs"],
  ...["mysql", "mysql-server", "mariadb", "mariadb-galera", "percona", "percona-server"],
  ...["mongo", "mongodb", "mongodb-community-server", "percona-server-mongodb", "ferretdb"],
  ...["redis", "redis-stack", "redis-stack-server", "valkey", "keydb", "dragonfly", "memcached"],
  ...["clickhouse", "clickhouse-server", "influxdb", "cassandra", "scylla", "cockroach", "couchdb"],
  ...["neo4j", "arangodb", "rethinkdb", "edgedb", "gel", "surrealdb", "questdb", "victoria-metrics"],
]);

/** The last part of an image's name, without its publisher: `postgres` of `docker.io/library/postgres:17`. */
export function imageName(image: string | null): string {
  const path = withDefaults(image ?? "")
    .replace(/@.*$/, "")
    .split("/");
  return path.at(-1)?.replace(/:.*$/, "").toLowerCase() ?? "";
}

/**
 * Whether a container counts as a database and therefore gets no URL. Images that also serve a web interface do not
 * count when they ask for a URL or have a health check over HTTP.
 */
export function isDatabase({ image, healthcheck }: ComposeService, entries: readonly EnvironmentEntry[]): boolean {
  if (!DATABASE_IMAGES.has(imageName(image ?? null)) || entries.some(({ key }) => magicUrlOf(key) !== undefined))
    return false;
  const test = [recordOf(healthcheck).test].flat().join(" ");
  return !/\b(curl|wget)\b|\bhttps?:\/\//i.test(test);
}
