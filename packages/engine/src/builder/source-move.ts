import { cp, lchown, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DomainError } from "@berth/core";
import type { HostUser } from "@berth/host";

/**
 * Makes a checkout the release's folder, owned by its user. It is given away before it is moved: where it lies, nobody
 * but us can enter, so no link can be put in our way. Links themselves change their owner, never what they lead to.
 * @param target Exists and is empty. Its parent belongs to us.
 * @throws DomainError `deploy.interrupted` when there is no checkout any more.
 */
export async function moveSource(source: string, target: string, user: HostUser | undefined): Promise<void> {
  if (user !== undefined) await giveTo(source, user);
  try {
    await rename(source, target);
  } catch (cause) {
    if (!hasCode(cause, "EXDEV")) throw cause;
    await copySource(source, target, user);
  }
}

/**
 * To another file system. The release's folder may be entered by what runs already as the same user, which could put
 * links in the way of the copy: so it is made beside it, where only we can enter, and moved when it is whole.
 */
async function copySource(source: string, target: string, user: HostUser | undefined): Promise<void> {
  const staging = join(dirname(target), `.incoming-${basename(target)}`);
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { mode: 0o700 });
  try {
    const copy = join(staging, "source");
    await cp(source, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    if (user !== undefined) await giveTo(copy, user);
    await rename(copy, target);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

export const missingSource = (cause: unknown) =>
  new DomainError("deploy.interrupted", "The source of this deployment is gone. Deploy again to fetch it anew.", {
    cause,
  });

export const hasCode = (cause: unknown, code: string): boolean =>
  cause instanceof Error && "code" in cause && cause.code === code;

async function giveTo(path: string, user: HostUser): Promise<void> {
  await lchown(path, user.uid, user.gid);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) await giveTo(inner, user);
    else await lchown(inner, user.uid, user.gid);
  }
}
