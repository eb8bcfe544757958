import type { SystemCertificateProblemStore } from "@berth/core/ports";
import type { StoreContext } from "./context.ts";

/** Loaded with the first check of a certificate. */
const rows = () => import("./certificate-rows.ts");

export const systemCertificateProblemStore = (context: StoreContext): SystemCertificateProblemStore => ({
  owners: async (serverId, hosts) => (await rows()).owners(context, serverId, hosts),
  record: async (found) => (await rows()).record(context, found),
});
