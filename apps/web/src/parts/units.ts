const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** `1.4 MB`; powers of 1000, as disks are sold. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export const percent = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} %`;

/** `41 s`, `3 min 5 s`, `2 h 4 min` */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `just now`, `5 min ago`, `3 days ago` */
export function age(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1000);
  if (seconds < 0) return `in ${spanOf(-seconds)}`;
  return seconds < 45 ? "just now" : `${spanOf(seconds)} ago`;
}

function spanOf(seconds: number): string {
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  const days = Math.round(seconds / 86_400);
  return days === 1 ? "1 day" : `${days} days`;
}

/** `git_commit_sha` → `Git commit sha` */
export function labelOf(field: string): string {
  const words = field.replace(/^is_/, "").replaceAll("_", " ");
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(
    /\b(url|ssl|gpu|cpus?|s3|ip|id|http|https|ssh|uuid|sha|spa|dns|pr)\b/gi,
    (word) => (word.toLowerCase() === "cpus" ? "CPUs" : word.toUpperCase()),
  );
}
