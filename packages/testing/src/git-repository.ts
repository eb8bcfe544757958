import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Content by path; `null` removes the file, `{ link }` makes a symbolic link, `{ script }` an executable file. */
export type RepositoryFiles = Readonly<
  Record<string, string | Uint8Array | null | { readonly link: string } | { readonly script: string }>
>;

/** A real git repository with a working tree. */
export interface TestRepository {
  readonly folder: string;
  /** Its `file://` address. */
  readonly url: string;
  /** Writes files and commits them. Returns the commit's full id. */
  commit(files: RepositoryFiles, message?: string): string;
  /** Runs git in the repository and returns its trimmed output. */
  git(...args: string[]): string;
}

/** @param folder Created when missing. */
export function createRepository(folder: string, options: { readonly branch?: string } = {}): TestRepository {
  mkdirSync(folder, { recursive: true });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "protocol.file.allow=always", ...args], {
      cwd: folder,
      env: GIT_ENV,
      encoding: "utf8",
    }).trim();
  git("init", "--quiet", `--initial-branch=${options.branch ?? "main"}`);
  return {
    folder,
    url: `file://${folder}`,
    git,
    commit(files, message = "Change files") {
      for (const [path, content] of Object.entries(files)) writeEntry(join(folder, path), content);
      git("add", "--all", "--force", ".");
      git("commit", "--quiet", "--allow-empty", "--message", message);
      return git("rev-parse", "HEAD");
    },
  };
}

/** Ignores the git configuration of this machine. */
const GIT_ENV = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};

function writeEntry(path: string, content: RepositoryFiles[string]): void {
  rmSync(path, { recursive: true, force: true });
  if (content === null || content === undefined) return;
  mkdirSync(dirname(path), { recursive: true });
  if (typeof content === "string" || content instanceof Uint8Array) writeFileSync(path, content);
  else if ("link" in content) symlinkSync(content.link, path);
  else {
    writeFileSync(path, content.script);
    chmodSync(path, 0o755);
  }
}
