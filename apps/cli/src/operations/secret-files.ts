import { type Command, Option } from "commander";
import { usage } from "../failure.ts";
import type { Flag } from "../flags.ts";
import { inputStream } from "../input-stream.ts";
import { readInput } from "../prompt.ts";
import type { System } from "../system.ts";

const SECRET = /(^|_)(private_key|api_key|license_key|user_key|password|secret|token)$/;

/** Text fields whose values other users of the machine should not find in its list of processes. */
export const secretsOf = (flags: readonly Flag[]): readonly Flag[] =>
  flags.filter(({ key, type }) => type === "text" && SECRET.test(key));

const fileFlag = ({ name }: Flag): Option =>
  new Option(`--${name}-file <file>`, `--${name} from a file, or - for standard input`);

/** Adds a flag for the file of each secret. */
export function addSecretFiles(command: Command, flags: readonly Flag[], heading: string): void {
  for (const flag of secretsOf(flags)) command.addOption(fileFlag(flag).helpGroup(heading));
}

/** The fields whose values are read from files, by their names in the schema. */
export async function secretsFromFiles(
  system: Pick<System, "cwd" | "stdin">,
  flags: readonly Flag[],
  options: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, string>>> {
  const given = secretsOf(flags).flatMap((flag) => {
    const file = options[fileFlag(flag).attributeName()];
    return file === undefined ? [] : [{ key: flag.key, file: String(file) }];
  });
  const piped = given.filter(({ file }) => file === "-").length + (options.input === "-" ? 1 : 0);
  if (piped > 1) throw usage("Standard input can be read for one value only. Give the others by files.");
  const fields: Record<string, string> = {};
  for (const { key, file } of given) fields[key] = await readInput({ stdin: await inputStream(system, file) });
  return fields;
}
