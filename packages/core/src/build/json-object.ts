import { DomainError } from "../errors.ts";

/** @throws DomainError `deploy.build_failed` when a file of the source is not a JSON object. */
export function parseJsonObject(text: string, file: string): Record<string, unknown> {
  try {
    // npm also accepts a byte order mark.
    const json: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (!isShallow(json, DEPTH_MAX)) throw new Error(`it is nested deeper than ${DEPTH_MAX} levels`);
    if (isObject(json)) return json;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `${file} is not valid JSON: ${reason.slice(0, 200)}. Correct it.`;
    throw new DomainError("deploy.build_failed", message, { cause });
  }
  throw new DomainError("deploy.build_failed", `${file} is not a JSON object. Correct it.`);
}

/** What walks through it would exhaust the stack. */
const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => isShallow(part, levels - 1)));

const DEPTH_MAX = 64;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
