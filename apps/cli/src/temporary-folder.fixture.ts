import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** A text is a file, `{ link }` a symbolic link; folders are made as needed. A name with `/` at its end is a folder. */
  write(files: Readonly<Record<string, string | { readonly link: string }>>): void;
}

export function temporaryFolder(files: Parameters<TemporaryFolder["write"]>[0] = {}): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "berth-cli-"));
  const write: TemporaryFolder["write"] = (wanted) => {
    for (const [name, content] of Object.entries(wanted)) {
      const file = join(path, name);
      mkdirSync(name.endsWith("/") ? file : dirname(file), { recursive: true });
      if (name.endsWith("/")) continue;
      if (typeof content === "string") writeFileSync(file, content);
      else symlinkSync(content.link, file);
    }
  };
  write(files);
  return { path, write, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
