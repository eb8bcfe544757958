import { addKey, cipher, loadKeyFile, migrate, openDatabase, reencrypt, requireKey } from "@berth/db";
import type { Config } from "./config.ts";
import { dataFolder } from "./data-folder.ts";
import type { Progress } from "./progress.ts";

/**
 * Adds a key to the key file and encrypts every secret with it. No server may run meanwhile, since it would not know
 * the new key. After an interruption, run it again. Old keys stay in the file, since older database backups need them.
 *
 * @throws DomainError `setup.failed`
 */
export async function rotateKey(config: Config, progress: Progress): Promise<void> {
  const folder = dataFolder(config.dataFolder);
  const database = await openDatabase({
    url: config.databaseUrl,
    dataFolder: folder.root,
    embedded: config.embedded,
    onNotice: (line) => progress.line(line),
  });
  try {
    await migrate(database);
    await requireKey(database, cipher(await loadKeyFile(folder.keyFile)));
    await addKey(folder.keyFile);
    const keys = await loadKeyFile(folder.keyFile);
    const count = await reencrypt(database, cipher(keys));
    progress.line(`${count} secrets are now sealed with key ${keys.length} of ${folder.keyFile}.`);
    progress.line("Back that file up. Servers that share this database need a copy of it before they start.");
  } finally {
    await database.close();
  }
}
