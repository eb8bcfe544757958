import { DomainError } from "@berth/core";
import type { CloudProviders } from "@berth/core/ports";
import {
  type CloudServer,
  type HetznerOptions,
  type HetznerServer,
  startDigitalOcean,
  startHetzner,
} from "@berth/testing";
import { cloudProviders } from "./providers.ts";

export const TOKEN = "good-t0ken";
export const NOW = new Date("2026-01-01T00:00:00.000Z");

/** The adapters, connected to test servers with the providers' APIs. */
export interface CloudBench extends CloudProviders {
  readonly hetznerServer: HetznerServer;
  readonly digitaloceanServer: CloudServer;
  close(): Promise<void>;
}

export async function cloudBench(
  options: Partial<HetznerOptions> & { readonly secondsMax?: number } = {},
): Promise<CloudBench> {
  const { secondsMax = 5, ...hetzner } = options;
  const hetznerServer = await startHetzner({ token: TOKEN, ...hetzner });
  const digitaloceanServer = await startDigitalOcean(TOKEN);
  return {
    ...cloudProviders({
      allowedPrivateHosts: ["127.0.0.1"],
      secondsMax,
      now: () => NOW,
      urls: { hetzner: hetznerServer.url, digitalocean: digitaloceanServer.url },
    }),
    hetznerServer,
    digitaloceanServer,
    async close() {
      await hetznerServer.close();
      await digitaloceanServer.close();
    },
  };
}

/** The domain error of a refusal; fails if the work succeeds or throws anything else. */
export async function refusalOf(work: Promise<unknown>): Promise<DomainError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof DomainError) return error;
  throw new Error("It was not refused.", { cause: error });
}
