import { renameSync, writeFileSync } from "node:fs";

/** Atomically writes a file that only we may read. */
export function writePrivateFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, file);
}
