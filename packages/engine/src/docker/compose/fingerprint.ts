import { createHash } from "node:crypto";
import { recordOf } from "@berth/core/compose";

type Service = Readonly<Record<string, unknown>>;

/**
 * Fingerprint of what a container is made from: of two with the same one, the older may be kept in place of the newer.
 * What only says which deployment made it is left out.
 * @param image Of the image itself, not the name that a deployment gives it.
 * @param more What is put into it.
 */
export function fingerprint(
  service: Service,
  image: { readonly id?: string; readonly isBuilt: boolean },
  more: unknown,
) {
  const { container_name: _n, image: name, environment, labels, ...rest } = service;
  const { BERTH_DEPLOYMENT_UUID: _d, SOURCE_COMMIT: commit, ...env } = recordOf(environment);
  const { "berth.deployment": _l, ...own } = recordOf(labels);
  // A pulled image does not depend on the commit of the source.
  const source = image.isBuilt ? commit : undefined;
  const text = JSON.stringify([sorted({ ...rest, env, own, source, image: image.id ?? name }), more]);
  return createHash("sha256").update(text).digest("hex");
}

/** The order of keys says nothing. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
