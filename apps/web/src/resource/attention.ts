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
  if (server.is_reachable && server.is_usable) return [];
  const reason = server.is_reachable ? "cannot be used: validate it to see why" : "is out of reach";
  return [{ key: server.uuid, tone: "bad", reason, server }];
}

function ofResource(resource: Resource, now: Date): readonly Attention[] {
  const { uuid, status } = resource;
  const found: Attention[] = [];
  const { tone, word, reason } = stateOf(status);
  if (tone === "bad" || tone === "warn") {
    found.push({ key: uuid, tone, resource, reason: reason === undefined ? word : `${word}: ${reason}` });
  }
  if (resource.public_port_problem !== null) {
    found.push({ key: `${uuid}-port`, tone: "warn", resource, reason: resource.public_port_problem });
  }
  if (resource.url_problem !== null) {
    found.push({ key: `${uuid}-url`, tone: "bad", resource, reason: resource.url_problem });
  }
  if (resource.scale_problem !== null) {
    found.push({ key: `${uuid}-scale`, tone: "warn", resource, reason: resource.scale_problem });
  }
  const certificate = resource.certificate_expires_at;
  if (certificate !== null) {
    const days = Math.floor((Date.parse(certificate) - now.getTime()) / 86_400_000);
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
  // What runs well needs no attention, although a later deployment failed: it still answers.
  const last = resource.last_deployment;
  if (last?.status === "failed" && !status.startsWith("running:healthy")) {
    const reason = `Deployment failed: ${last.error ?? "its log says why"}`;
    found.push({ key: last.deployment_uuid, tone: "bad", resource, reason, deployment: last });
  }
  return found;
}
