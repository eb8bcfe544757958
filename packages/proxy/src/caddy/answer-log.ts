import { join } from "node:path/posix";
import type { Host } from "@berth/host";
import { fileNameOf, type HostRoute, type RoutedSite } from "../server/routed-site.ts";
import { CADDY_PATHS } from "./paths.ts";

/**
 * Caddy's own metrics know servers and hosts, not sites, begin again with each reload and cost every request of the
 * server. So an access log of each counted site counts: one short line for each answered request.
 */
export function answerLogs(sites: readonly RoutedSite[]) {
  const counted = sites.filter(isCounted);
  if (counted.length === 0) return { default: DEFAULT_LOG };
  const own = counted.map((site) => [loggerOf(site), logOf(site)] as const);
  // All other requests to the hosts of counted sites go to no log.
  return { default: { ...DEFAULT_LOG, exclude: [ACCESS] }, ...Object.fromEntries(own) };
}

/** Settings of a Caddy server whose requests to these hosts can be logged; others cost nothing. */
export const loggedHosts = (hosts: readonly string[]) =>
  hosts.length === 0
    ? {}
    : { logs: { skip_unmapped_hosts: true, logger_names: Object.fromEntries(hosts.map((host) => [host, [""]])) } };

/** Before the error pages, which answer instead of an upstream. */
export const UNCOUNTED = { handler: "vars", log_skip: true };

/**
 * Directly before the request is forwarded. The line is written when a request ends, and connections that change their
 * protocol end many at once, when an application or Caddy stops: they are not counted.
 */
export const countedRoute = (site: RoutedSite) => ({
  match: [{ not: [{ header: { Upgrade: ["*"] } }, { method: ["CONNECT"] }] }],
  handle: [{ handler: "vars", access_logger_names: [loggerOf(site)] }],
});

export const hasCounted = (routes: readonly HostRoute[]): boolean => routes.some(({ site }) => isCounted(site));

export const isCounted = (site: RoutedSite): boolean => site.isCounted === true;

/** Numbers of lines in the logs of these sites, by site. Sites without a log are left out. */
export async function countAnswers(
  host: Host,
  folder: string,
  sites: readonly RoutedSite[],
): Promise<ReadonlyMap<string, number>> {
  if (sites.length === 0) return new Map();
  const paths = sites.map((site) => join(folder, fileOf(site)));
  const { output } = await host.run(["wc", "-l", "--", ...paths], { env: ENV });
  const lines = output.split("\n").map((line) => /^\s*(\d+) (\/.*)$/.exec(line));
  const counts = new Map(lines.flatMap((found) => (found === null ? [] : [[found[2], Number(found[1])] as const])));
  return new Map(
    sites.flatMap((site, index) => {
      const count = counts.get(paths[index]);
      return count === undefined ? [] : [[site.id, count] as const];
    }),
  );
}

function logOf(site: RoutedSite) {
  return {
    level: "INFO",
    include: [`${ACCESS}.${loggerOf(site)}`],
    writer: {
      output: "file",
      filename: join(CADDY_PATHS.answered, fileOf(site)),
      mode: "0644",
      // Five million lines. A rotation costs one sample.
      roll_size_mb: 16,
      roll_keep: 1,
      roll_gzip: false,
    },
    encoder: {
      format: "filter",
      wrap: { format: "json", ...Object.fromEntries(KEYS.map((key) => [`${key}_key`, ""])) },
      fields: Object.fromEntries(FIELDS.map((field) => [field, { filter: "delete" }])),
    },
  };
}

/** Dots would make one logger a part of another. */
const nameOf = ({ id }: RoutedSite): string => fileNameOf(id).replaceAll(".", "_");
const fileOf = (site: RoutedSite): string => `${nameOf(site)}.log`;
const loggerOf = (site: RoutedSite): string => `answered-${nameOf(site)}`;

const DEFAULT_LOG = { level: "WARN" };
const ACCESS = "http.log.access";
const KEYS = ["message", "level", "time", "name", "caller", "stacktrace"];
const FIELDS = ["request", "bytes_read", "user_id", "duration", "size", "status", "resp_headers", "uuid"];
const ENV = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
