import { DomainError } from "@berth/core";
import { memoryBytes } from "@berth/core/deploy";

/** What Swarm keeps of a folder in memory. */
export interface TmpfsMount {
  readonly ReadOnly?: true;
  readonly TmpfsOptions?: { readonly SizeBytes?: number; readonly Mode?: number };
}

/**
 * The options of `--tmpfs PATH:OPTIONS` for a mount of Swarm, which has fewer.
 * @throws DomainError `deploy.start_failed` for one that would be lost, such as a limit in percent
 */
export function tmpfsMount(target: string, options: string): TmpfsMount {
  const words = options.split(",").map((word) => word.trim());
  const sizes = words.filter((word) => word.startsWith("size="));
  const modes = words.filter((word) => word.startsWith("mode="));
  const size = memoryBytes(sizes.at(-1)?.slice("size=".length) ?? "");
  const mode = Number.parseInt(modes.at(-1)?.slice("mode=".length) ?? "", 8);
  const lost = words.filter((word) => {
    if (word.startsWith("size=")) return size === null;
    if (word.startsWith("mode=")) return Number.isNaN(mode);
    return word !== "ro" && !USUAL.has(word);
  });
  if (lost.length > 0) {
    const message = `Docker Swarm does not support ${lost.join(", ")} for the tmpfs ${target}. Use size in bytes or with k, m or g, mode and ro; or deploy to a server with Docker.`;
    throw new DomainError("deploy.start_failed", message);
  }
  const kept = { ...(size === null ? {} : { SizeBytes: size }), ...(Number.isNaN(mode) ? {} : { Mode: mode }) };
  return {
    ...(words.includes("ro") ? { ReadOnly: true } : {}),
    ...(Object.keys(kept).length === 0 ? {} : { TmpfsOptions: kept }),
  };
}

/** What a mount of Swarm has anyway, or nothing. */
const USUAL: ReadonlySet<string> = new Set(["", "rw", "defaults", "noexec", "nosuid", "nodev", "relatime"]);
