import { type MagicCommand, magicUrlOf, readMagic } from "./magic-key.ts";
import type { ComposeVariable } from "./variables.ts";
import { comparable, type WantedUrl } from "./wanted-urls.ts";

/** Random values and signatures, passed in so that core stays pure. */
export interface MagicSource {
  /** Cryptographically random letters and digits. */
  secret(length: number): string;
  /** Cryptographically random. */
  bytes(length: number): Uint8Array;
  hmacSha256(key: string, text: string): Uint8Array;
}

export interface MagicContext {
  readonly source: MagicSource;
  readonly now: Date;
  /** Existing values, which are not replaced. */
  readonly existing: ReadonlyMap<string, string | null>;
}

/** The secret that signs the Supabase tokens. */
const JWT_SECRET_KEY = "SERVICE_PASSWORD_JWT";
const SYMBOLS = "!@%^*()-_.,?:;+=~[]{}"; // Symbols without a meaning in shells, quoted values and compose files.
const JWT_YEARS = 100;

type Make = (source: MagicSource) => string;

const letters =
  (length: number): Make =>
  ({ secret }) =>
    secret(length);
const base64 =
  (length: number): Make =>
  ({ bytes }) =>
    base64Of(bytes(length));
/** @param length Number of digits, two per byte. */
const hex =
  (length: number): Make =>
  ({ bytes }) =>
    [...bytes(length / 2)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const MAKERS: Readonly<Record<Exclude<MagicCommand, "SUPABASEANON" | "SUPABASESERVICE">, Make>> = {
  PASSWORD: letters(32),
  PASSWORD_64: letters(64),
  PASSWORDWITHSYMBOLS: withSymbols(32),
  PASSWORDWITHSYMBOLS_64: withSymbols(64),
  USER: letters(16),
  LOWERCASEUSER: (source) => source.secret(16).toLowerCase(),
  // In this API family the word means text of these characters, not an encoding.
  BASE64: letters(32),
  BASE64_32: letters(32),
  BASE64_64: letters(64),
  BASE64_128: letters(128),
  REALBASE64: base64(32),
  REALBASE64_32: base64(32),
  REALBASE64_64: base64(64),
  REALBASE64_128: base64(128),
  HEX_32: hex(32),
  HEX_64: hex(64),
  HEX_128: hex(128),
};

const ROLES: Readonly<Partial<Record<string, string>>> = { SUPABASEANON: "anon", SUPABASESERVICE: "service_role" };

/** Generated values by key, for the variables of a service that have no value yet. `urlValues` makes those of URLs. */
export function magicValues(variables: readonly ComposeVariable[], context: MagicContext): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const isNew = ({ key }: ComposeVariable) => !context.existing.has(key) && magicUrlOf(key) === undefined;
  // Tokens come last, since they are signed with generated secrets.
  for (const { key } of variables.filter(isNew)) {
    const command = readMagic(key)?.command;
    if (command !== null && command !== undefined && command in MAKERS) {
      // The line above checked that it is a key of MAKERS.
      values.set(key, MAKERS[command as keyof typeof MAKERS](context.source));
    }
  }
  for (const { key } of variables.filter(isNew)) {
    const role = ROLES[readMagic(key)?.command ?? ""];
    if (role !== undefined) values.set(key, supabaseToken(role, jwtSecret(values, context), context));
  }
  return values;
}

function jwtSecret(values: Map<string, string>, { existing, source }: MagicContext): string {
  const known = existing.get(JWT_SECRET_KEY) ?? values.get(JWT_SECRET_KEY);
  if (known !== undefined) return known;
  const made = MAKERS.PASSWORD(source);
  values.set(JWT_SECRET_KEY, made);
  return made;
}

/** HS256 (RFC 7519). */
function supabaseToken(role: string, secret: string, { source, now }: MagicContext): string {
  const iat = Math.floor(now.getTime() / 1000);
  const exp = iat + JWT_YEARS * 365 * 24 * 60 * 60;
  const part = (value: object) => base64UrlOf(new TextEncoder().encode(JSON.stringify(value)));
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iss: "supabase", iat, exp, role })}`;
  return `${signed}.${base64UrlOf(source.hmacSha256(secret, signed))}`;
}

/**
 * Replaces at least one letter or digit by a symbol, at random places. The first and the last character stay, since a
 * value that begins with `-` or `,`, or ends with `:`, means something else to a command line or in YAML.
 */
function withSymbols(length: number): Make {
  return (source) => {
    const characters = [...source.secret(length)];
    const chances = source.bytes(length * 2);
    const isInside = (index: number) => index > 0 && index < length - 1;
    const replaced = characters.map((character, index) =>
      isInside(index) && (chances[index] ?? 0) % 4 === 0 ? symbolOf(chances[length + index]) : character,
    );
    const certain = 1 + ((chances[0] ?? 0) % (length - 2));
    return replaced.with(certain, symbolOf(chances[length + certain])).join("");
  };
}

const symbolOf = (chance: number | undefined): string => SYMBOLS.charAt((chance ?? 0) % SYMBOLS.length);

const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

const base64UrlOf = (bytes: Uint8Array): string =>
  base64Of(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

interface LeadingUrl {
  readonly wanted: WantedUrl;
  /** `null`: its container has no URL. */
  readonly url: string | null;
}

/** The URL of each of these variables, by key. */
export function heldUrls<Url extends LeadingUrl>(
  urls: readonly Url[],
  keys: Iterable<string>,
): ReadonlyMap<string, Url> {
  const ofVariable = new Map(urls.flatMap((url) => (url.wanted.variable ? [[url.wanted.variable, url] as const] : [])));
  const named = Map.groupBy(
    urls.filter(({ wanted }) => wanted.variable === undefined),
    ({ wanted }) => comparable(wanted.name),
  );
  const held = new Map<string, Url>();
  for (const key of keys) {
    const magic = magicUrlOf(key);
    const all = magic === undefined ? [] : (named.get(comparable(magic.name)) ?? []);
    const main = all.find(({ wanted }) => wanted.path === "") ?? all[0];
    const ofPort = magic?.port == null ? undefined : all.find(({ wanted }) => wanted.port === magic.port);
    const url = ofVariable.get(key) ?? ofPort ?? main;
    if (url !== undefined) held.set(key, url);
  }
  return held;
}

/**
 * The value of a variable that holds a URL or its host: what a person can open, so never with the container's port.
 * @param publicUrl How a URL is reached: with the port of the server's proxy where it is not the usual one.
 */
export function urlValue(key: string, url: string | null, publicUrl: (url: string) => string): string | null {
  if (url === null) return null;
  const { protocol, host, pathname } = new URL(publicUrl(url));
  return magicUrlOf(key)?.command === "FQDN" ? host : `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}
