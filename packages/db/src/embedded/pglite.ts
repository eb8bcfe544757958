import { mkdir } from "node:fs/promises";
import type { PGlite } from "@electric-sql/pglite";
import { channels, type Notifier } from "../notifier.ts";

/**
 * PostgreSQL compiled to WebAssembly, within this process: for machines on which its programs do not run.
 *
 * @param folder `undefined`: in memory.
 */
export async function openPglite(folder: string | undefined): Promise<PGlite> {
  // Imported only when used, since it costs some 20 MB.
  const { PGlite, types } = await import("@electric-sql/pglite");
  if (folder !== undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
  return await PGlite.create({
    ...(folder === undefined ? {} : { dataDir: folder }),
    parsers: { [types.INT8]: Number },
  });
}

export function pgliteNotifier(pglite: PGlite): Notifier {
  const known = channels();
  return {
    async listen(channel, listener) {
      if (known.add(channel, listener)) await pglite.listen(channel, (payload) => known.emit(channel, payload));
      return () => known.remove(channel, listener);
    },
    close: async () => undefined,
  };
}
