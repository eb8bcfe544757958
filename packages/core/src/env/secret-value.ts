/** The fields of a variable that decide whether its value may appear in a log. */
export interface NamedValue {
  readonly key: string;
  readonly value: string | null;
  /** Its owner marked the value as never readable again. */
  readonly is_shown_once?: boolean | undefined;
}

/**
 * Whether a value must not appear in a log: the variable is marked as a secret, its name says so, or the value looks
 * like one. Ordinary words, numbers, addresses and paths stay visible.
 *
 * @param ownWords Names, images, hosts and paths of the resource, which appear in every other line.
 */
export function isSecretValue({ key, value, is_shown_once }: NamedValue, ownWords: ReadonlySet<string>): boolean {
  const text = value?.trim() ?? "";
  if (text.length < LENGTH_MIN || COMMON.has(text.toLowerCase()) || /^\d{1,5}$/.test(text)) return false;
  if (ownWords.has(text)) return false;
  return is_shown_once === true || saysSecret(key) || LOGIN.test(text) || !isOrdinary(text);
}

/** Whether a name indicates a secret: `DB_PASSWORD`, `apiKey`, `--requirepass`; not `KEYCLOAK_USER`. */
export function saysSecret(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  // The value is a path, a name or public.
  if (words.some((word) => ["file", "path", "public", "length", "name"].includes(word))) return false;
  return words.some((word) => WORDS.has(word) || PARTS.test(word));
}

const WORDS: ReadonlySet<string> = new Set(["pass", "pwd", "pw", "key", "salt", "pat", "dsn", "credentials"]);
const PARTS = /passw|passphrase|requirepass|masterauth|secret|token|credential|apikey|privatekey/;

/**
 * Secrets within a text of instructions, such as a Dockerfile or labels: values assigned to names that indicate
 * secrets, passwords in URLs, and keys. The rest stays visible in logs.
 */
export function secretsInText(text: string): readonly string[] {
  const assigned = [...text.matchAll(ASSIGNED), ...text.matchAll(DECLARED)].flatMap(
    ([, name = "", quoted, single, bare]) => (saysSecret(name) ? [quoted ?? single ?? bare ?? ""] : []),
  );
  const passwords = [...text.matchAll(URL_PASSWORD)].flatMap(([, password]) => password ?? []);
  const drawn = [...text.matchAll(DRAWN)].map(([word]) => word);
  const found = [...assigned, ...passwords].filter((value) => isSecretValue({ key: "secret", value }, new Set()));
  return [...new Set([...found, ...drawn])];
}

const ASSIGNED = /(?<![\w.-])([A-Za-z_][\w.-]{0,100})=(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"']+))/g;
/** `ENV NAME value`, the older form. */
const DECLARED = /^[ \t]*ENV[ \t]+([A-Za-z_]\w*)[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|(\S+))[ \t]*$/gim;
// Matches only the end of the scheme: matching all of it would be quadratic for a long word.
const URL_PASSWORD = /(?<=[a-z0-9+.-]):\/\/[^\s:/?#@]*:([^\s/?#@]+)@/gi;
/** Lower case, upper case and digits mixed: a random key, not a digest, version or name. */
const DRAWN = /(?<![\w-])(?=[\w-]{0,200}[a-z])(?=[\w-]{0,200}[A-Z])(?=[\w-]{0,200}\d)[A-Za-z\d][\w-]{23,199}(?![\w-])/g;

/** Whether a person would write this: all parts are words or numbers. */
function isOrdinary(text: string): boolean {
  if (text.length > ORDINARY_LENGTH_MAX) return false;
  return text
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, "")
    .split(/[\s/.,:;!?@_()&='"-]+/)
    .every((part) => part === "" || WORD.test(part) || NUMBER.test(part));
}

/** A password in a URL, or the beginning of a private key. */
const LOGIN = /:\/\/[^\s/?#@]*:[^\s/?#]*@|-----BEGIN/;

/** One case except for the first letter, and too short to be random; may end with digits: `web2`, `postgres17`. */
const WORD = /^(?:[A-Za-z]?[a-z]{0,15}|[A-Z]{1,16})\d{0,2}$/;
const NUMBER = /^v?\d{1,5}$/;
const ORDINARY_LENGTH_MAX = 200;
const LENGTH_MIN = 4;

/** Values that appear in logs anyway, whatever the variable's name. */
const COMMON: ReadonlySet<string> = new Set([
  ...["true", "false", "null", "none", "undefined", "auto", "enabled", "disabled"],
  ...["production", "development", "staging", "test", "testing", "local", "default"],
  ...["debug", "info", "warn", "warning", "error", "silent", "verbose", "trace"],
  ...["localhost", "127.0.0.1", "0.0.0.0", "http", "https", "node", "utf8", "utf-8", "en_us.utf-8", "c.utf-8"],
]);
