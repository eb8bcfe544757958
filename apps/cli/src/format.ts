/** `850 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `512 B`, `1.5 kB`, `20.0 MB`: in steps of 1000, as usual for disks and downloads. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${count} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** `3 min ago`; `never` without a time. */
export function ago(time: string | null | undefined, now: Date): string {
  if (!time) return "never";
  const seconds = Math.round((now.getTime() - new Date(time).getTime()) / 1000);
  if (Number.isNaN(seconds)) return time;
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${plural(Math.floor(seconds / 86_400), "day", "days")} ago`;
}

export const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;
