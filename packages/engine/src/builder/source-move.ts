import { cp, lchown, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DomainError } from "@berth/core";
import type { HostUser } from "@berth/host";

/**
 * Moves a checkout to the release's folder and makes `user` its owner. The owner changes before the move, where only
 * we can enter, so that no link can redirect the change. Links themselves change their owner, never their targets.
 * @param target Exists and is empty. Its parent belongs to us.
 * @throws DomainError `deploy.interrupted` when the checkout is missing.
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
 * Copies to another file system. Running processes of the same user may enter the release's folder and could put links
 * in the way, so the copy is made beside it, where only we can enter, and moved when complete.
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
  new DomainError("deploy.interrupted", "The source of this deployment no longer exists. Deploy again to fetch it.", {
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
