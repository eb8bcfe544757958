import { invalid } from "@berth/core";

/** A position in a container's log: after the nth frame with a given timestamp. Neither order nor timestamps change. */
export interface LogCursor {
  /** Docker's timestamp with nine fractional digits, which sorts as text. */
  readonly moment: string;
  readonly count: number;
}

/** Before the first frame. */
export const LOG_START: LogCursor = { moment: "1970-01-01T00:00:00.000000000Z", count: 0 };

/** The position before the first frame of a timestamp. @param moment An RFC 3339 time in UTC. */
export const cursorAt = (moment: string): LogCursor => ({
  moment: new Date(moment).toISOString().replace("Z", "000000Z"),
  count: 0,
});

export const cursorText = ({ moment, count }: LogCursor): string => `${moment}/${count}`;

/** @throws DomainError `request.invalid` */
export function readCursor(text: string): LogCursor {
  const [, moment, count] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z)\/(\d{1,9})$/.exec(text) ?? [];
  if (moment === undefined || Number.isNaN(Date.parse(moment))) {
    throw invalid({ after: ["This is not a cursor of this log."] });
  }
  return { moment, count: Number(count) };
}

/** Whether it is later by more than the two streams of a container can be out of order. */
export const isWellAfter = (moment: string, other: string): boolean =>
  Date.parse(moment) - Date.parse(other) > SKEW_SECONDS * 1000;

/** The time from which to read, so that the frame of the cursor is included. */
export function sinceOf({ moment }: LogCursor): string {
  const seconds = Math.floor(Date.parse(moment) / 1000) - SKEW_SECONDS;
  return seconds <= 0 ? "0" : String(seconds);
}

/** Standard output and error are written independently, so their timestamps may be out of order. */
const SKEW_SECONDS = 2;
