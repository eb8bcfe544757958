import { DomainError, isDomainError } from "@berth/core";
import type Docker from "dockerode";
import { pull, pullFailure } from "./pull.ts";
import { reasonOf } from "./status.ts";

/**
 * Pulls an image that Berth itself runs on a server. Not logged and not abortable: it ends with the start that needs
 * it.
 * @throws DomainError `setup.failed`, `engine.unreachable`
 */
export async function pullOwnImage(
  { docker, server }: { readonly docker: Docker; readonly server: string },
  image: string,
): Promise<void> {
  const io = { signal: new AbortController().signal, onLine: () => undefined };
  try {
    await pull({ docker, server, logins: new Map() }, image, io);
  } catch (cause) {
    if (isDomainError(cause) || !(cause instanceof Error)) throw cause;
    throw new DomainError("setup.failed", pullFailure(image, reasonOf(cause)).message, { cause });
  }
}
