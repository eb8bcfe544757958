import { cut } from "@berth/core/notification";

/** Seconds; a date is rare, and the usual pause does then. */
export function retryAfterOf(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : undefined;
}

/** Words of a service's answer, from the usual fields of an error or its text; and Telegram's time to wait. */
export function saidBy(text: string): { readonly words: string; readonly retryAfterSeconds: number | undefined } {
  const { message, description, error, errors, parameters } = jsonObject(text);
  const found = [message, description, error, Array.isArray(errors) ? errors.join(" ") : undefined];
  const said = found.find((one): one is string => typeof one === "string" && one !== "") ?? text;
  return { words: wordsOf(said), retryAfterSeconds: retryAfterOf(String(jsonField(parameters, "retry_after"))) };
}

/** One short line, without control characters, which would disturb a record or a log. Pages of HTML are left out. */
export function wordsOf(text: string): string {
  const words = text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  return words.startsWith("<") ? "" : cut(words, WORDS_LENGTH_MAX);
}

const WORDS_LENGTH_MAX = 200;

export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

const jsonField = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
