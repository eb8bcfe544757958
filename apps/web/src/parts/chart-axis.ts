const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
/** A longer axis names days: its times of day would repeat. */
const TIMES_HOURS_MAX = 36;

/** Labels of marks on an axis of time. @param marks Seconds since 1970, in order. */
export function timeLabels(marks: readonly number[]): string[] {
  const hours = ((marks.at(-1) ?? 0) - (marks[0] ?? 0)) / 3600;
  const format = hours > TIMES_HOURS_MAX ? DAY : TIME;
  return eachOnce(marks.map((seconds) => format.format(seconds * 1000)));
}

/** Marks that lie too close for the precision of their labels have one label. */
export const eachOnce = (labels: readonly string[]): string[] =>
  labels.map((label, index) => (label === labels[index - 1] ? "" : label));
