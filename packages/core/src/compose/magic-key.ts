// Names of the variables that Berth generates for a service: SERVICE_<COMMAND>_<NAME>.

/** Commands with their sizes: `SERVICE_PASSWORD_64_DB` is the command `PASSWORD_64`. */
export const MAGIC_COMMANDS = [
  "PASSWORD",
  "PASSWORD_64",
  "PASSWORDWITHSYMBOLS",
  "PASSWORDWITHSYMBOLS_64",
  "USER",
  "LOWERCASEUSER",
  "BASE64",
  "BASE64_32",
  "BASE64_64",
  "BASE64_128",
  "REALBASE64",
  "REALBASE64_32",
  "REALBASE64_64",
  "REALBASE64_128",
  "HEX_32",
  "HEX_64",
  "HEX_128",
  "SUPABASEANON",
  "SUPABASESERVICE",
] as const;
export type MagicCommand = (typeof MAGIC_COMMANDS)[number];

export type Magic =
  | { readonly command: MagicCommand }
  | MagicUrl
  /** `NAME`: the name of a container, known at the start. `null`: an unknown command, so the value stays empty. */
  | { readonly command: "NAME" | null };

export interface MagicUrl {
  readonly command: "URL" | "FQDN";
  /** As in the variable: `MY_APP`. */
  readonly name: string;
  /** The container's port. */
  readonly port: number | null;
}

/** `undefined` if the name is not that of a generated variable. */
export function readMagic(key: string): Magic | undefined {
  if (!key.startsWith("SERVICE_")) return undefined;
  const [, urlCommand, urlRest] = /^SERVICE_(URL|FQDN)_(.+)$/.exec(key) ?? [];
  if (urlCommand !== undefined && urlRest !== undefined) {
    // The pattern admits only these two.
    return { command: urlCommand as "URL" | "FQDN", ...nameAndPort(urlRest) };
  }
  if (/^SERVICE_NAME_./.test(key)) return { command: "NAME" };
  const rest = key.slice("SERVICE_".length);
  // The longest command that fits, since a size is part of the command.
  const fitting = MAGIC_COMMANDS.filter((command) => rest.startsWith(`${command}_`) && rest !== `${command}_`);
  return { command: fitting.toSorted((a, b) => b.length - a.length)[0] ?? null };
}

/** Whether Berth generates the value of a variable with this name, ignoring the value in the file. */
export const isMade = (key: string): boolean => (readMagic(key)?.command ?? null) !== null;

function nameAndPort(rest: string): Pick<MagicUrl, "name" | "port"> {
  const [, name, digits] = /^(.+)_(\d{1,5})$/.exec(rest) ?? [];
  const port = Number(digits);
  if (name === undefined || !(port >= 1 && port <= 65_535)) return { name: rest, port: null };
  return { name, port };
}

/** The keys of all variables with the same URL or its host. */
export function magicUrlOf(key: string): (MagicUrl & { readonly keys: readonly string[] }) | undefined {
  const magic = readMagic(key);
  if (magic === undefined || !("name" in magic)) return undefined;
  const plain = [`SERVICE_URL_${magic.name}`, `SERVICE_FQDN_${magic.name}`];
  const keys = magic.port === null ? plain : [...plain, ...plain.map((name) => `${name}_${magic.port}`)];
  return { ...magic, keys };
}
