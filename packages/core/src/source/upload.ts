/** How much one upload may hold: the server refuses more, and the command line says so before it sends anything. */
export const UPLOAD_LIMITS = {
  archiveBytes: 512 * 2 ** 20,
  unpackedBytes: 4 * 2 ** 30,
  entries: 200_000,
} as const;
