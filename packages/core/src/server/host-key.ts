import { z } from "zod";

/** In the notation of `ssh-keygen -lf`. */
export const HostKey = z
  .string()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, "Must be a fingerprint as `ssh-keygen -lf` shows it: SHA256 and 43 characters.");

interface Reached {
  readonly ip: string;
  readonly port: number;
  readonly host_key: string | null;
}

/** The expected host key after a change: another address may be another machine with another key. */
export function hostKeyAfter(
  server: Reached,
  change: { readonly ip: string; readonly port: number; readonly host_key?: string | null | undefined },
): string | null {
  if (change.host_key !== undefined) return change.host_key;
  return change.ip === server.ip && change.port === server.port ? server.host_key : null;
}
