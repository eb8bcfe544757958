import { join } from "node:path/posix";

/** Paths in the proxy's folder on the server, the same for every type. */
export const proxyPaths = (folder: string) => ({
  /** Site files. */
  sites: join(folder, "sites"),
  /** The operator's certificates. */
  certificates: join(folder, "certificates"),
  /** Certificates that the proxy obtained, with their keys. */
  data: join(folder, "data"),
  config: join(folder, "config"),
  /** Slots, and a folder for each seat with its socket. */
  run: join(folder, "run"),
  /** Configuration of a rehearsal. */
  rehearsal: join(folder, "rehearsal"),
});
