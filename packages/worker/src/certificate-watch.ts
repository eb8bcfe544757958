import type { ServerRecord } from "@berth/core/ports";
import type { CertificateLooksDeps } from "./certificate-looks.ts";
import { createLoops, type Loops } from "./loop.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";

export interface CertificateWatchDeps extends CertificateLooksDeps, Pick<WorkerDeps, "ownsServer"> {
  adaptersOf(server: ServerRecord): ServerAdapters;
}

/**
 * Watches the certificates of the URLs that are routed on each server of this control plane. Most of it is loaded with
 * the first https URL; before, and while none is due, nothing is asked.
 */
export function createCertificateWatch(deps: CertificateWatchDeps): Loops {
  const { stores, ownsServer, adaptersOf, settings } = deps;
  const watch = async () => new (await import("./certificate-looks.ts")).CertificateLooks(deps);
  let looks: ReturnType<typeof watch> | undefined;
  const round = async (stopping: AbortSignal) => {
    const servers = await stores.servers.list();
    const own = servers.filter((server) => server.removing_at === null && ownsServer(server)).map(adaptersOf);
    if (looks === undefined && !own.some(hasHttps)) return;
    looks ??= watch();
    await (await looks).round(own, servers, stopping);
  };
  return createLoops(deps.logger, [
    { title: "The watch over certificates", work: round, seconds: () => settings.certificateSeconds },
  ]);
}

const hasHttps = ({ router }: ServerAdapters): boolean =>
  [...router.sites().values()].some(({ routes }) => routes.some(({ isHttps }) => isHttps));
