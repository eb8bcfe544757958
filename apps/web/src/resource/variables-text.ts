import { readEnvFile } from "@berth/core/env";

interface Variable {
  readonly key: string;
  readonly value?: string | null | undefined;
}

/** A line with quotes that preserve the value exactly; `undefined` if no quotes do. */
function lineOf({ key, value }: Variable): string | undefined {
  const text = value ?? "";
  const ways = [text, `'${text}'`, `"${text}"`, `\`${text}\``];
  return ways.map((way) => `${key}=${way}`).find((line) => readEnvFile(line).entries[0]?.value === text);
}

/** Whether the variable can be edited as text. */
export const isWritable = (variable: Variable): boolean => lineOf(variable) !== undefined;

export const textOfVariables = (variables: readonly Variable[]): string =>
  variables
    .map(lineOf)
    .filter((line) => line !== undefined)
    .join("\n");

export function variablesOfText(text: string) {
  const { entries, unreadLines } = readEnvFile(text);
  const wrong = unreadLines.length === 0 ? undefined : `Line ${unreadLines[0]} is not of the form KEY=value.`;
  return { wrong, entries: entries.map(({ key, value }) => ({ key, value })) };
}
