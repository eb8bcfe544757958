import { join } from "node:path/posix";

/** Paths in the proxy's folder on the server, the same for every type. */
export const proxyPaths = (folder: string) => ({
  /** Site files, as written last. */
  sites: join(folder, "sites"),
  /** Certificates of the operator. */
  certificates: join(folder, "certificates"),
  /** Certificates that the proxy obtained, and their keys. */
  data: join(folder, "data"),
  config: join(folder, "config"),
  /** Slots, and a folder for each seat with its socket. */
  run: join(folder, "run"),
  /** What a rehearsal begins with. */
  rehearsal: join(folder, "rehearsal"),
});
