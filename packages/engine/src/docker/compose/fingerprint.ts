import { createHash } from "node:crypto";
import { recordOf } from "@berth/core/compose";

type Service = Readonly<Record<string, unknown>>;

/**
 * Hash of everything that a container is made from: a container with the same hash need not be replaced. The
 * deployment's own uuid is left out.
 * @param image Id of the image itself, not the name that a deployment gives it.
 * @param more Files that are copied into the container.
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

/** Sorts keys, since their order has no meaning. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
