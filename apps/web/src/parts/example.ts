import { isSecretName } from "./field.ts";

/** An operation in the API description. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
}
export type Language = "berth" | "curl" | "TypeScript";

interface Call {
  readonly route: Route;
  /** Its name in the typed client, e.g. `applications.update`. */
  readonly client: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly origin: string;
}

/** Example code for calls one after the other, ready to paste. */
export function exampleOf(language: Language, ...calls: readonly Call[]): string {
  if (language === "TypeScript") return typeScript(calls);
  const commands = calls.map((call) => {
    const { method, path, body } = request(call);
    return language === "berth" ? berth(method, path, body) : curl(call.origin, method, path, body);
  });
  return commands.join("\n\n");
}

function request({ route, input }: Call) {
  const inQuery = new Set(route.parameters.filter((each) => each.in === "query").map(({ name }) => name));
  // Where the body has a `uuid` of its own, the typed client names that of the path `owner_uuid`.
  const keyOf = (name: string) => (`owner_${name}` in input ? `owner_${name}` : name);
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => keyOf(name));
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(input[keyOf(name)] ?? name.toUpperCase())),
  );
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    if (inPath.includes(name)) continue;
    if (inQuery.has(name)) query.set(name, String(value));
    else body[name] = hidden(name, value);
  }
  const search = query.size === 0 ? "" : `?${query}`;
  return { method: route.method, path: path + search, body };
}

/** Replaces a secret by a placeholder, if it is sent at all. */
function hidden(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => hidden("", each));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hidden(key, inner)]));
  }
  return isSecretName(name) && typeof value === "string" && value !== "" ? `<${name}>` : value;
}

const quoted = (text: string): string => (/^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function berth(method: string, path: string, body: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(body);
  const lines = [`berth api ${method} ${quoted(path)}`];
  if (fields.some(([, value]) => typeof value === "object" && value !== null)) {
    return `echo ${quoted(JSON.stringify(body))} |\n  ${lines[0]} --input -`;
  }
  for (const [name, value] of fields) {
    lines.push(typeof value === "string" ? `-f ${quoted(`${name}=${value}`)}` : `-F ${quoted(`${name}=${value}`)}`);
  }
  return lines.join(" \\\n  ");
}

function curl(origin: string, method: string, path: string, body: Readonly<Record<string, unknown>>): string {
  const lines = [`curl -X ${method} ${quoted(`${origin}/api/v1${path}`)}`, '-H "Authorization: Bearer $BERTH_TOKEN"'];
  if (Object.keys(body).length > 0) {
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  }
  return lines.join(" \\\n  ");
}

function typeScript(calls: readonly Call[]): string {
  const statements = calls.map(({ client, input, route }) => {
    const call = route.method === "GET" ? "query" : "mutate";
    const shown = Object.keys(input).length === 0 ? "" : JSON.stringify(hidden("", input), null, 2);
    return `await berth.${client}.${call}(${shown});`;
  });
  return [
    'import { createClient } from "@berth/client";',
    "",
    `const berth = createClient({ url: ${JSON.stringify(calls[0]?.origin)}, token: process.env.BERTH_TOKEN });`,
    ...statements,
  ].join("\n");
}
