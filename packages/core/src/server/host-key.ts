import { z } from "zod";

/** As `ssh-keygen -lf` shows it. */
export const HostKey = z
  .string()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, "Must be a fingerprint as `ssh-keygen -lf` shows it: SHA256 and 43 characters.");

interface Reached {
  readonly ip: string;
  readonly port: number;
  readonly host_key: string | null;
}

/** Which host key holds after a change: another address may be another machine, which shows another one. */
export function hostKeyAfter(
  server: Reached,
  change: { readonly ip: string; readonly port: number; readonly host_key?: string | null | undefined },
): string | null {
  if (change.host_key !== undefined) return change.host_key;
  return change.ip === server.ip && change.port === server.port ? server.host_key : null;
}
