/**
 * An output of Fluent Bit as far as Berth delivers to it: a request with the lines as JSON (`http`), or a push to Loki
 * (`loki`).
 */
export interface FluentBitOutput {
  readonly plugin: "http" | "loki";
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isCompressed: boolean;
  readonly format: "json" | "json_lines" | "json_stream";
  /** Key of a record's time; `null`: none. */
  readonly dateKey: string | null;
  readonly dateFormat: "double" | "iso8601" | "epoch" | "epoch_ms";
  /** Labels of a stream of Loki. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Why a configuration is refused, with the number of its line. */
export class FluentBitProblem extends Error {}

interface Entry {
  readonly number: number;
  /** In lower case. */
  readonly key: string;
  readonly value: string;
}

interface Section {
  readonly number: number;
  /** In upper case. */
  readonly name: string;
  readonly entries: readonly Entry[];
}

/**
 * Reads the output of a configuration in Fluent Bit's classic format. `docs/log-drains.md` lists what is accepted.
 * @throws FluentBitProblem
 */
export function readFluentBitOutput(text: string): FluentBitOutput {
  const outputs = sectionsOf(text).filter((section) => !isWithoutEffect(section));
  const [output, second] = outputs;
  if (output === undefined) throw problemIn(1, "There is no [OUTPUT] section", ONE_OUTPUT);
  if (second !== undefined) throw problemIn(second.number, "A second [OUTPUT] section is not supported", ONE_OUTPUT);
  return outputOf(output);
}

/** @throws FluentBitProblem unless it has only sections that define parsers, which have no effect without a filter. */
export function checkFluentBitParsers(text: string): void {
  for (const { name, number } of sectionsOf(text)) {
    if (!PARSERS.has(name)) throw problemIn(number, `A section [${name}] is not supported here`, ONLY_PARSERS);
  }
}

function sectionsOf(text: string): readonly Section[] {
  const sections: { number: number; name: string; entries: Entry[] }[] = [];
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const number = at + 1;
    // A control character could end a header or begin another one.
    if (CONTROL.test(raw)) throw problemIn(number, "It has a control character", "Remove it.");
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith("@")) throw problemIn(number, `${firstWord(line)} is not supported`, "Write the value itself.");
    if (line.includes("${")) {
      throw problemIn(number, "Variables of Fluent Bit's environment are not supported", "Write the value itself.");
    }
    const name = /^\[\s*([A-Za-z_]+)\s*\]$/.exec(line)?.[1]?.toUpperCase();
    if (name !== undefined) {
      sections.push({ number, name, entries: [] });
      continue;
    }
    const section = sections.at(-1);
    if (section === undefined) throw problemIn(number, "It is outside of a section", ONE_OUTPUT);
    const [, key = "", value = ""] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
    section.entries.push({ number, key: key.toLowerCase(), value });
  }
  return sections;
}

/** Fluent Bit's own intervals, and where it gets its records from: Berth itself reads the lines. */
function isWithoutEffect({ name, number, entries }: Section): boolean {
  if (name === "OUTPUT") return false;
  if (name === "SERVICE" || PARSERS.has(name)) return true;
  const plugin = entries.find(({ key }) => key === "name");
  if (name === "INPUT" && plugin?.value.toLowerCase() === "forward") return true;
  const title = name === "INPUT" && plugin !== undefined ? `[INPUT] with Name ${shown(plugin.value)}` : `[${name}]`;
  throw problemIn(plugin?.number ?? number, `A section ${title} is not supported`, ONE_OUTPUT);
}

function outputOf({ number, entries }: Section): FluentBitOutput {
  const named = entries.find(({ key }) => key === "name");
  if (named === undefined) throw problemIn(number, "[OUTPUT] has no Name", "Set Name to http or loki.");
  const plugin = named.value.toLowerCase();
  if (plugin !== "http" && plugin !== "loki") {
    throw problemIn(named.number, `An output ${shown(named.value)} is not supported`, "Set Name to http or loki.");
  }
  const values = valuesOf(plugin, entries);
  const isSecure = flagOf(values.get("tls"), false);
  const verify = values.get("tls.verify");
  if (!flagOf(verify, true) && verify !== undefined) {
    throw problemIn(verify.number, "A certificate is always checked", "Set tls.verify to On, or remove it.");
  }
  const format = chosen(values.get("format"), ["json", "json_lines", "json_stream"] as const);
  if (plugin === "http" && format === undefined) {
    throw problemIn(number, "Fluent Bit's own format msgpack is not supported", "Set Format to json or json_lines.");
  }
  const dateKey = values.get("json_date_key")?.value ?? "date";
  return {
    plugin,
    url: urlOf(plugin, { number, values, isSecure }),
    headers: headersOf(entries, values),
    isCompressed: chosen(values.get("compress"), ["gzip"] as const) === "gzip",
    format: format ?? "json",
    dateKey: dateKey.toLowerCase() === "false" ? null : dateKey,
    dateFormat: chosen(values.get("json_date_format"), DATE_FORMATS) ?? "double",
    labels: plugin === "loki" ? labelsOf(values.get("labels")) : {},
  };
}

type Values = ReadonlyMap<string, Entry>;

function valuesOf(plugin: "http" | "loki", entries: readonly Entry[]): Values {
  const supported = [...KEYS, ...KEYS_OF[plugin]];
  const values = new Map<string, Entry>();
  for (const entry of entries) {
    const { key, value, number } = entry;
    if (!supported.includes(key)) {
      throw problemIn(number, `${shown(key)} is not supported`, `Supported for ${plugin}: ${supported.join(", ")}.`);
    }
    if (value === "") throw problemIn(number, `${key} has no value`, "Set one, or remove the line.");
    if (key === "header") continue;
    if (values.has(key)) throw problemIn(number, `${key} is set twice`, "Remove one of the lines.");
    values.set(key, entry);
  }
  const match = values.get("match");
  if (match !== undefined && match.value !== "*") {
    throw problemIn(match.number, "Lines have no tags to select by", "Set Match to *.");
  }
  return values;
}

interface Address {
  readonly number: number;
  readonly values: Values;
  readonly isSecure: boolean;
}

function urlOf(plugin: "http" | "loki", { number, values, isSecure }: Address): string {
  const host = values.get("host");
  if (host === undefined) throw problemIn(number, "[OUTPUT] has no Host", "Set Host to a host name or an address.");
  if (!/^([A-Za-z0-9._-]{1,253}|\[?[0-9A-Fa-f:.]{2,45}\]?)$/.test(host.value)) {
    throw problemIn(host.number, "Host is not a host name or an address", "Write the path after URI.");
  }
  const port = values.get("port");
  const portNumber = port === undefined ? DEFAULT_PORTS[plugin] : Number(port.value);
  if (port !== undefined && !(/^\d{1,5}$/.test(port.value) && portNumber >= 1 && portNumber <= 65_535)) {
    throw problemIn(port.number, "Port is not a number from 1 to 65535", "Change it.");
  }
  const uri = values.get("uri");
  if (uri !== undefined && !/^\/[\x21-\x7e]*$/.test(uri.value)) {
    throw problemIn(uri.number, "URI is not a path", "Begin it with / and write it without spaces.");
  }
  const name = host.value.includes(":") && !host.value.startsWith("[") ? `[${host.value}]` : host.value;
  const url = `${isSecure ? "https" : "http"}://${name}:${portNumber}${uri?.value ?? DEFAULT_PATHS[plugin]}`;
  if (!URL.canParse(url)) throw problemIn(host.number, "Host is not a host name or an address", "Change it.");
  return url;
}

function headersOf(entries: readonly Entry[], values: Values): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  const user = values.get("http_user");
  const password = values.get("http_passwd");
  if (user === undefined && password !== undefined) {
    throw problemIn(password.number, "http_passwd needs http_user", "Set both.");
  }
  if (user !== undefined) headers.authorization = `Basic ${base64(`${user.value}:${password?.value ?? ""}`, user)}`;
  const bearer = values.get("bearer_token");
  if (bearer !== undefined) headers.authorization = `Bearer ${headerValue(bearer, bearer.value)}`;
  const tenant = values.get("tenant_id");
  if (tenant !== undefined) headers["x-scope-orgid"] = headerValue(tenant, tenant.value);
  for (const entry of entries.filter(({ key }) => key === "header")) {
    const [, name = "", value = ""] = /^(\S+)\s+(.+)$/.exec(entry.value) ?? [];
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) {
      throw problemIn(entry.number, "Header needs a name and a value", "Write: Header X-Name value");
    }
    if (OWN_HEADERS.has(name.toLowerCase())) {
      throw problemIn(entry.number, `The header ${name} is set by Berth itself`, "Remove the line.");
    }
    headers[name.toLowerCase()] = headerValue(entry, value);
  }
  return headers;
}

function headerValue({ number }: Entry, value: string): string {
  if (/^[\x20-\x7e]+$/.test(value)) return value;
  throw problemIn(number, "A header has only characters of ASCII", "Remove the others.");
}

function base64(text: string, { number }: Entry): string {
  if (!/^[\x20-\x7e]+$/.test(text))
    throw problemIn(number, "A login has only characters of ASCII", "Remove the others.");
  return btoa(text);
}

/** `job=shop, env=production`. A record's own fields are labels only where Berth sets them. */
function labelsOf(entry: Entry | undefined): Readonly<Record<string, string>> {
  if (entry === undefined) return { job: "fluent-bit" };
  const labels = entry.value.split(",").map((text) => {
    const [, name = "", value = ""] = /^([a-zA-Z_][a-zA-Z0-9_]{0,99})\s*=\s*([^$\s][^$]*)$/.exec(text.trim()) ?? [];
    if (name === "") {
      throw problemIn(
        entry.number,
        `The label ${shown(text.trim())} is not supported`,
        "Write: labels job=shop, env=live",
      );
    }
    return [name, value] as const;
  });
  return Object.fromEntries(labels);
}

function flagOf(entry: Entry | undefined, isDefault: boolean): boolean {
  const word = entry?.value.toLowerCase();
  if (entry === undefined || word === undefined) return isDefault;
  if (["on", "true", "yes"].includes(word)) return true;
  if (["off", "false", "no"].includes(word)) return false;
  throw problemIn(entry.number, `${entry.key} is neither On nor Off`, "Change it.");
}

function chosen<const Word extends string>(entry: Entry | undefined, words: readonly Word[]): Word | undefined {
  if (entry === undefined) return undefined;
  const found = words.find((word) => word === entry.value.toLowerCase());
  if (found !== undefined) return found;
  throw problemIn(
    entry.number,
    `${entry.key} ${shown(entry.value)} is not supported`,
    `Supported: ${words.join(", ")}.`,
  );
}

const problemIn = (number: number, problem: string, remedy: string) =>
  new FluentBitProblem(`Line ${number}: ${problem}. ${remedy}`);

const firstWord = (line: string) => shown(line.split(/\s/, 1)[0] ?? "");

/** A value may be a secret that was written in the wrong place, or very long. */
const shown = (text: string): string => (text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);

const SHOWN_LENGTH_MAX = 40;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds.
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]/;
const PARSERS: ReadonlySet<string> = new Set(["PARSER", "MULTILINE_PARSER"]);
const DATE_FORMATS = ["double", "iso8601", "epoch", "epoch_ms"] as const;
const DEFAULT_PORTS = { http: 80, loki: 3100 } as const;
const DEFAULT_PATHS = { http: "/", loki: "/loki/api/v1/push" } as const;
/** `match`, `retry_limit` and `workers` have no effect: Berth sends all lines, one batch after the other, until they are accepted. */
const KEYS = [
  "name",
  "match",
  "host",
  "port",
  "uri",
  "tls",
  "tls.verify",
  "header",
  "http_user",
  "http_passwd",
  "compress",
  "retry_limit",
  "workers",
] as const;
const KEYS_OF: Readonly<Record<"http" | "loki", readonly string[]>> = {
  http: ["format", "json_date_key", "json_date_format"],
  loki: ["labels", "tenant_id", "bearer_token"],
};
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const ONE_OUTPUT =
  "Supported: one [OUTPUT] with Name http or loki; beside it [SERVICE] and [INPUT] with Name forward, which have no effect.";
const ONLY_PARSERS = "Supported: [PARSER] and [MULTILINE_PARSER].";
