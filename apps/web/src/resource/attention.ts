import type { Outputs } from "../api/client.ts";
import { stateOf, type Tone } from "../parts/state.tsx";

export type Resource = Outputs["resources"]["list"][number];
export type Server = Outputs["servers"]["list"][number];

export interface Attention {
  readonly key: string;
  readonly tone: Tone;
  readonly reason: string;
  readonly resource?: Resource;
  readonly server?: Server;
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
  if ("public_port_problem" in resource && resource.public_port_problem !== null) {
    found.push({ key: `${uuid}-port`, tone: "warn", resource, reason: resource.public_port_problem });
  }
  const certificate = "certificate_expires_at" in resource ? resource.certificate_expires_at : null;
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
  for (const backup of ("backup_configs" in resource && resource.backup_configs) || []) {
    if (backup.latest_log?.status !== "failed") continue;
    const why = backup.latest_log.message ?? "its log says why";
    found.push({ key: `${uuid}-${backup.uuid}`, tone: "bad", resource, reason: `The last backup failed: ${why}` });
  }
  return found;
}
