/**
 * Parses PostgreSQL's `2026-01-02 03:04:05.678+00`. With a `T` inserted, the platform's parser accepts it, which is
 * several times faster than the driver's, which also supports years BC and infinity.
 */
export function parseTimestamp(text: string): Date {
  const hours = /[+-]\d\d$/.test(text) ? ":00" : "";
  return new Date(`${text.replace(" ", "T")}${hours}`);
}
