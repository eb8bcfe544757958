import { join } from "node:path/posix";

/** Paths in the proxy's folder on the server, for every type. */
export const proxyPaths = (folder: string) => ({
  /** Sites as they were told last. */
  sites: join(folder, "sites"),
  /** Put there by the operator. */
  certificates: join(folder, "certificates"),
  /** Certificates that the proxy got itself, and its keys. */
  data: join(folder, "data"),
  config: join(folder, "config"),
  /** Slots, and a folder for each seat with its socket. */
  run: join(folder, "run"),
  /** What a rehearsal begins with. */
  rehearsal: join(folder, "rehearsal"),
});
