import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "./private-file.ts";

/**
 * Names this server's data folder to the command line of the same user.
 *
 * @param folder `runningServersFolder` of core. One that cannot be written changes nothing else.
 * @returns Takes the name away again.
 */
export function announceServer(folder: string, dataFolder: string): () => void {
  const file = join(folder, `${createHash("sha256").update(dataFolder).digest("hex").slice(0, 16)}.json`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // With another user's home, as of `sudo -E`, neither files nor links of that user's are touched.
    const found = lstatSync(folder);
    if (found.uid !== process.getuid?.() || !found.isDirectory()) return () => undefined;
    for (const name of readdirSync(folder)) if (ANNOUNCEMENT.test(name)) removeUnlessRunning(join(folder, name));
    writePrivateFile(file, `${JSON.stringify({ data_folder: dataFolder })}\n`);
    return () => rmSync(file, { force: true });
  } catch {
    // Its user has no home, or one that is read-only. BERTH_DATA names the folder then.
    return () => undefined;
  }
}

const ANNOUNCEMENT = /^[0-9a-f]{16}\.json$/;

/** A server that was killed leaves its file. */
function removeUnlessRunning(file: string): void {
  try {
    // Written by this function's caller, in any version.
    const { data_folder } = JSON.parse(readFileSync(file, "utf8")) as { readonly data_folder: string };
    process.kill(Number(readFileSync(join(data_folder, "server.pid"), "utf8")), 0);
  } catch {
    rmSync(file, { force: true });
  }
}
