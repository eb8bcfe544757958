// Names of the variables that a service makes by itself: SERVICE_<COMMAND>_<NAME>.

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
  /** `NAME`: a container's own name, which is given at the start. `null`: none that we know, so it stays empty. */
  | { readonly command: "NAME" | null };

export interface MagicUrl {
  readonly command: "URL" | "FQDN";
  /** As in the variable: `MY_APP`. */
  readonly name: string;
  /** On which the container listens. */
  readonly port: number | null;
}

/** `undefined` for the name of any other variable. */
export function readMagic(key: string): Magic | undefined {
  if (!key.startsWith("SERVICE_")) return undefined;
  const [, urlCommand, urlRest] = /^SERVICE_(URL|FQDN)_(.+)$/.exec(key) ?? [];
  if (urlCommand !== undefined && urlRest !== undefined) {
    // The pattern admits only these two.
    return { command: urlCommand as "URL" | "FQDN", ...nameAndPort(urlRest) };
  }
  if (/^SERVICE_NAME_./.test(key)) return { command: "NAME" };
  const rest = key.slice("SERVICE_".length);
  // The longest that fits: a size belongs to the command.
  const fitting = MAGIC_COMMANDS.filter((command) => rest.startsWith(`${command}_`) && rest !== `${command}_`);
  return { command: fitting.toSorted((a, b) => b.length - a.length)[0] ?? null };
}

/** Whether the value of a variable of this name is made, whatever stands on the right of it. */
export const isMade = (key: string): boolean => (readMagic(key)?.command ?? null) !== null;

function nameAndPort(rest: string): Pick<MagicUrl, "name" | "port"> {
  const [, name, digits] = /^(.+)_(\d{1,5})$/.exec(rest) ?? [];
  const port = Number(digits);
  if (name === undefined || !(port >= 1 && port <= 65_535)) return { name: rest, port: null };
  return { name, port };
}

/** The keys of the variables that hold the same URL or its host. */
export function magicUrlOf(key: string): (MagicUrl & { readonly keys: readonly string[] }) | undefined {
  const magic = readMagic(key);
  if (magic === undefined || !("name" in magic)) return undefined;
  const plain = [`SERVICE_URL_${magic.name}`, `SERVICE_FQDN_${magic.name}`];
  const keys = magic.port === null ? plain : [...plain, ...plain.map((name) => `${name}_${magic.port}`)];
  return { ...magic, keys };
}
