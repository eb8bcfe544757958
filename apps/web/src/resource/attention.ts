import type { Outputs } from "../api/client.ts";
import { stateOf, type Tone } from "../parts/state.tsx";

export type Resource = Outputs["resources"]["summaries"][number];
export type Server = Outputs["servers"]["list"][number];

export interface Attention {
  readonly key: string;
  readonly tone: Tone;
  readonly reason: string;
  readonly resource?: Resource;
  readonly server?: Server;
  /** That failed. */
  readonly deployment?: NonNullable<Resource["last_deployment"]>;
}

const EXPIRES_SOON_DAYS = 14;
/** A month of backups that nobody tried to restore. */
const DRILL_OLD_DAYS = 30;
/** A new schedule has a week for its first drill. */
const UNDRILLED_DAYS = 7;

/** Problems that need attention, the worst first. */
export function attentionOf(
  resources: readonly Resource[],
  servers: readonly Server[],
  now: Date,
): readonly Attention[] {
  const found = [...servers.flatMap(ofServer), ...resources.flatMap((resource) => ofResource(resource, now))];
  return found.sort((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

function ofServer(server: Server): readonly Attention[] {
  const found: Attention[] = [];
  if (!server.is_reachable || !server.is_usable) {
    const reason = server.is_reachable ? "cannot be used: validate it to see why" : "is out of reach";
    found.push({ key: server.uuid, tone: "bad", reason, server });
  }
  if (server.high_disk_usage_notification_sent) {
    const reason = `Its disk is more than ${server.settings.server_disk_usage_notification_threshold} % full. Clean it up.`;
    found.push({ key: `${server.uuid}-disk`, tone: "warn", reason, server });
  }
  return found;
}

function ofResource(resource: Resource, now: Date): readonly Attention[] {
  const { uuid, status, status_problem } = resource;
  const found: Attention[] = [];
  const { tone, word, reason } = stateOf(status, status_problem);
  if (tone === "bad" || tone === "warn") {
    found.push({ key: uuid, tone, resource, reason: reason === undefined ? word : `${word}: ${reason}` });
  }
  if (resource.public_port_problem !== null) {
    found.push({ key: `${uuid}-port`, tone: "warn", resource, reason: resource.public_port_problem });
  }
  if (resource.url_problem !== null) {
    found.push({ key: `${uuid}-url`, tone: "bad", resource, reason: resource.url_problem });
  }
  const { certificate_problem: certificateProblem } = resource;
  // Where nothing answers, the reason of that comes first.
  if (certificateProblem !== null && resource.url_problem === null) {
    const tone = certificateProblem.is_refused ? "bad" : "warn";
    found.push({ key: `${uuid}-url-certificate`, tone, resource, reason: certificateProblem.reason });
  }
  if (resource.scale_problem !== null) {
    found.push({ key: `${uuid}-scale`, tone: "warn", resource, reason: resource.scale_problem });
  }
  const certificate = resource.certificate_expires_at;
  if (certificate !== null) {
    const days = daysBetween(now, new Date(certificate));
    if (days < EXPIRES_SOON_DAYS) {
      found.push({
        key: `${uuid}-certificate`,
        tone: "warn",
        resource,
        reason: `Its certificate ends in ${days} days. Restart it for a new one.`,
      });
    }
  }
  for (const [index, why] of resource.failed_backups.entries()) {
    found.push({ key: `${uuid}-backup-${index}`, tone: "bad", resource, reason: `The last backup failed: ${why}` });
  }
  found.push(...ofDrill(resource, now));
  const last = resource.last_deployment;
  if (last?.status === "failed") {
    // What runs well still answers, but not with what was to be deployed.
    const isAnswering = status.startsWith("running:healthy");
    const why = last.error ?? "its log says why";
    const reason = isAnswering
      ? `The last deployment failed, the release before it still runs: ${why}`
      : `Deployment failed: ${why}`;
    found.push({ key: last.deployment_uuid, tone: isAnswering ? "warn" : "bad", resource, reason, deployment: last });
  }
  return found;
}

function ofDrill(resource: Resource, now: Date): readonly Attention[] {
  const drill = resource.last_drill;
  const key = `${resource.uuid}-drill`;
  if (drill === null) {
    const { undrilled_since: since } = resource;
    const undrilledDays = since === undefined ? 0 : daysBetween(new Date(since), now);
    if (undrilledDays < UNDRILLED_DAYS) return [];
    const reason = `It has had backups for ${undrilledDays} days, and none was ever restored in a drill. Run one.`;
    return [{ key, tone: "warn", resource, reason }];
  }
  if (drill.status === "failed") {
    const reason = `The last drill of its backups failed: ${drill.message ?? "its log says why"}`;
    return [{ key, tone: "bad", resource, reason }];
  }
  const days = daysBetween(new Date(drill.finished_at), now);
  if (days < DRILL_OLD_DAYS) return [];
  return [{ key, tone: "warn", resource, reason: `The last drill of its backups was ${days} days ago. Run another.` }];
}

const daysBetween = (from: Date, to: Date): number => Math.floor((to.getTime() - from.getTime()) / 86_400_000);
