import { invalid } from "@berth/core";

/** A place in a container's log: behind the nth frame of a moment. Frames keep their order and their moments for ever. */
export interface LogCursor {
  /** As Docker writes it, with nine digits of a second: moments sort as texts. */
  readonly moment: string;
  readonly count: number;
}

/** Before the first frame. */
export const LOG_START: LogCursor = { moment: "1970-01-01T00:00:00.000000000Z", count: 0 };

/** Before the first frame of a moment. @param moment Any RFC 3339 text in UTC. */
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

/** Whether it is later than a moment by more than the two streams of a container get out of order. */
export const isWellAfter = (moment: string, other: string): boolean =>
  Date.parse(moment) - Date.parse(other) > SKEW_SECONDS * 1000;

/** From when on to read, so that the frame of the cursor is among what is read. */
export function sinceOf({ moment }: LogCursor): string {
  const seconds = Math.floor(Date.parse(moment) / 1000) - SKEW_SECONDS;
  return seconds <= 0 ? "0" : String(seconds);
}

/** Standard output and error have a writer each: their lines may stand in the log in another order than their moments. */
const SKEW_SECONDS = 2;
