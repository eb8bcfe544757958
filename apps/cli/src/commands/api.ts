import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { type RestRequest, rest } from "../connection/rest.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { collected } from "../flags.ts";
import { inputStream } from "../input-stream.ts";
import type { Session } from "../session.ts";

interface ApiOptions {
  readonly field?: readonly string[];
  readonly rawField?: readonly string[];
  readonly query?: readonly string[];
  readonly input?: string;
  readonly contentType: string;
  readonly include?: boolean;
}

export function define(command: Command, bind: Bind): void {
  command
    .argument("<method>", "GET, POST, PUT, PATCH or DELETE")
    .argument("<path>", "below /api/v1, e.g. /applications")
    .option("-F, --field <key=value>", "a field; true, false, null and numbers are read as JSON", collected)
    .option("-f, --raw-field <key=value>", "a field whose value is a text", collected)
    .option("-q, --query <key=value>", "a query parameter, also beside a body", collected)
    .option("--input <file>", "the body: a file, or - for standard input")
    .option("--content-type <type>", "of the body", "application/json")
    .option("-i, --include", "print the status and headers of the answer first")
    .addHelpText("after", "\nFields are the JSON body, or with GET and DELETE the query.")
    .action(bind(request));
}

async function request(session: Session, method: string, path: string, options: ApiOptions): Promise<ExitCode> {
  const asked = await requestOf(session, method.toUpperCase(), path, options);
  const connection = await session.resolve();
  const response = await rest(connection, asked);
  const { stdout, stderr } = session.system;
  if (options.include) {
    stdout.write(`${response.status} ${response.statusText}\n`);
    for (const [name, value] of response.headers) stdout.write(`${name}: ${value}\n`);
    stdout.write("\n");
  }
  let last: Uint8Array | undefined;
  for await (const chunk of response.body ?? []) {
    last = chunk;
    if (!stdout.write(chunk)) await new Promise((drained) => stdout.once("drain", drained));
  }
  // Shells and `read` expect a final line end; parsers ignore it. After a refusal, a sentence follows on standard error.
  if ((stdout.isTTY || !response.ok) && last && last.at(-1) !== NEW_LINE) stdout.write("\n");
  if (response.ok) return EXIT.ok;
  stderr.write(`${asked.method} ${asked.path} answered ${response.status}.\n`);
  return EXIT.failed;
}

const NEW_LINE = 10;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

async function requestOf({ system }: Session, method: string, path: string, options: ApiOptions): Promise<RestRequest> {
  if (!METHODS.includes(method)) throw usage(`${method} is not an HTTP method. Use one of ${METHODS.join(", ")}.`);
  const [pathname = "", search = ""] = path.replace(/^\/?(api\/v1\/?)?/, "/").split("?", 2);
  const query = new URLSearchParams(search);
  for (const [key, value] of pairs(options.query)) query.append(key, value);
  const raw = pairs(options.rawField);
  const typed = pairs(options.field);
  const isQuery = method === "GET" || method === "DELETE" || method === "HEAD";
  if (options.input !== undefined) {
    if (isQuery || raw.length + typed.length > 0)
      throw usage("--input is the whole body: no fields beside it, no GET or DELETE.");
    return {
      method,
      path: pathname,
      query,
      body: await inputStream(system, options.input),
      contentType: options.contentType,
    };
  }
  if (isQuery) {
    for (const [key, value] of [...raw, ...typed]) query.append(key, value);
    return { method, path: pathname, query };
  }
  const fields = Object.fromEntries([...raw, ...typed.map(([key, value]) => [key, typedValue(value)] as const)]);
  const hasFields = Object.keys(fields).length > 0;
  if (!hasFields) return { method, path: pathname, query };
  return { method, path: pathname, query, body: JSON.stringify(fields), contentType: "application/json" };
}

function pairs(texts: readonly string[] = []): readonly (readonly [string, string])[] {
  return texts.map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw usage(`"${text}" is not a field. Write it as key=value.`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
}

function typedValue(text: string): unknown {
  return /^(true|false|null|-?\d{1,15}(\.\d+)?)$/.test(text) ? JSON.parse(text) : text;
}
