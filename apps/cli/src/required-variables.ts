import type { Client } from "./connection/api.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

interface Variable {
  readonly key: string;
  readonly value?: string | null | undefined;
  readonly is_required: boolean;
}

/**
 * Keys of variables that a compose file requires with a sentence, which other tools print as an error and this API family
 * takes for the first value: as a password it would be known to everybody who has the file.
 */
export const withSentences = (variables: readonly Variable[]): readonly string[] => [
  ...new Set(
    variables.flatMap(({ key, value, is_required }) => (is_required && /\S\s+\S/.test(value ?? "") ? [key] : [])),
  ),
];

/** Warns of them, with the command that sets them. */
export async function warnOfSentences(
  client: Client,
  output: Output,
  { uuid, name }: { readonly uuid: string; readonly name: string },
): Promise<void> {
  const keys = withSentences(await client.services.envs.list.query({ uuid })).map(printable);
  if (keys.length === 0) return;
  const set = keys.map((key) => `${key}=VALUE`).join(" ");
  output.warn(
    `The compose file requires ${keys.join(", ")}; until you set it, its value is the file's message for that.`,
  );
  output.warn(`Set it with: berth env set --service ${printable(name)} ${set}`);
}
