import { z } from "zod";

/** `2026-01-02T03:04:05.678000Z`, the format that clients of this API family parse. */
export const timestamp = (date: Date): string => `${date.toISOString().slice(0, -1)}000Z`;

export const timestampOrNull = (date: Date | null): string | null => (date === null ? null : timestamp(date));

/** `2026-01-02 03:04:05`, in UTC: for the few fields without a zone. */
export const plainTimestamp = (date: Date): string => date.toISOString().slice(0, 19).replace("T", " ");

/** `2026-01-02T03:04:05+00:00`: in the list of a schedule's backups. */
export const offsetTimestamp = (date: Date): string => date.toISOString().replace(/\.\d{3}Z$/, "+00:00");

/** Schema of `timestamp`. */
export const Timestamp = z.string().meta({ format: "date-time", examples: ["2026-01-02T03:04:05.678000Z"] });
/** Schema of `plainTimestamp`. */
export const PlainTimestamp = z.string().meta({ examples: ["2026-01-02 03:04:05"] });
/** Schema of `offsetTimestamp`. */
export const OffsetTimestamp = z.string().meta({ format: "date-time", examples: ["2026-01-02T03:04:05+00:00"] });
