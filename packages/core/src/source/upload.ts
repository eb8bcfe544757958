/** Limits of an upload. The server refuses more, and the CLI checks them before it sends anything. */
export const UPLOAD_LIMITS = {
  archiveBytes: 512 * 2 ** 20,
  unpackedBytes: 4 * 2 ** 30,
  entries: 200_000,
} as const;
