import type { ServerRecord } from "@berth/core/ports";
import type { CertificateChecksDeps } from "./certificate-checks.ts";
import { createLoops, type Loops } from "./loop.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";

export interface CertificateWatchDeps extends CertificateChecksDeps, Pick<WorkerDeps, "ownsServer"> {
  adaptersOf(server: ServerRecord): ServerAdapters;
}

/**
 * Watches the certificates of the URLs that are routed on each server of this control plane. Most of it is loaded with
 * the first https URL. A round reads the list of servers, and nothing else while no certificate is due.
 */
export function createCertificateWatch(deps: CertificateWatchDeps): Loops {
  const { stores, ownsServer, adaptersOf, settings } = deps;
  const load = async () => new (await import("./certificate-checks.ts")).CertificateChecks(deps);
  let checks: ReturnType<typeof load> | undefined;
  const round = async (stopping: AbortSignal) => {
    const servers = await stores.servers.list();
    const own = servers.filter((server) => server.removing_at === null && ownsServer(server)).map(adaptersOf);
    if (checks === undefined && !own.some(hasHttps)) return;
    checks ??= load();
    (await checks).begin(own, servers, stopping);
  };
  const loops = createLoops(deps.logger, [
    { title: "The watch over certificates", work: round, seconds: () => settings.certificateSeconds },
  ]);
  return {
    ...loops,
    async stop() {
      const ended = checks?.then((loaded) => loaded.ended());
      await Promise.allSettled([loops.stop(), ended]);
    },
  };
}

const hasHttps = ({ router }: ServerAdapters): boolean =>
  [...router.sites().values()].some(({ routes }) => routes.some(({ isHttps }) => isHttps));
