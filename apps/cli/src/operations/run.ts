import { takesEffectAtOnce } from "@berth/core/application";
import { changesDatabaseUrl, needsDatabaseRestart } from "@berth/core/database";
import { z } from "zod";
import { problemError, problemIn } from "../connection/problem.ts";
import { type RestRequest, rest } from "../connection/rest.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { valuesOf } from "../flags.ts";
import { waitForJob } from "../follow/job.ts";
import { inputStream } from "../input-stream.ts";
import { printable } from "../printable.ts";
import { ask, readInput } from "../prompt.ts";
import type { Session } from "../session.ts";
import { attachedCommands } from "../variable-effect.ts";
import { showAnswer } from "./answer.ts";
import type { DescribedOperation } from "./description.ts";
import { type Ask, fieldValues, filledPath, pathValues } from "./names.ts";
import { secretsFromFiles } from "./secret-files.ts";

/** @param args Commander's arguments: the path's parameters, the options, the command. */
export async function runOperation(
  session: Session,
  operation: DescribedOperation,
  args: readonly unknown[],
): Promise<ExitCode> {
  const typed = operation.pathParameters.map((_, n) => String(args[n]));
  // The options follow the arguments.
  const options = (args[operation.pathParameters.length] ?? {}) as Readonly<Record<string, unknown>>;
  if (operation.method === "DELETE" && options.yes !== true) await confirm(session, operation, typed);
  const parameters = await pathValues(asker(session), operation, typed);
  const request = await requestOf(session, operation, parameters, options);
  const interruption = new AbortController();
  const release = session.system.onInterrupt(() => interruption.abort());
  try {
    const response = await rest(await session.resolve(), { ...request, signal: interruption.signal });
    if (!response.ok) throw problemError(response.status, await response.text());
    if (operation.isStream) await showStream(session, response);
    else if (isFile(response)) await sendOut(session, response);
    else {
      const asked = { options, request, parameters };
      return await answered(session, operation, answerOf(response, await response.text()), asked);
    }
    return EXIT.ok;
  } catch (cause) {
    if (interruption.signal.aborted) return EXIT.interrupted;
    throw cause;
  } finally {
    release();
  }
}

const Started = z.looseObject({ job_uuid: z.string() });

interface Asked {
  readonly options: Readonly<Record<string, unknown>>;
  readonly request: RestRequest;
  /** Of the path: names are replaced by uuids. */
  readonly parameters: readonly string[];
}

async function answered(
  session: Session,
  operation: DescribedOperation,
  answer: unknown,
  { options, request, parameters }: Asked,
): Promise<ExitCode> {
  if (operation.method === "PATCH" && typeof request.body === "string") {
    const changed = Object.keys(JSON.parse(request.body) as object);
    session.output.line(`Changed ${wordsOf(changed)}`);
    const name = operation.words.join(" ");
    if (name === "applications update") sayWhen(session, changed);
    if (name === "databases update") {
      await sayWhenOfDatabase(session, parameters[0] ?? "", changed).catch((error) => {
        // The change is made: a token that may not read is told no more.
        if (problemIn(error)?.status !== 403) throw error;
      });
    }
  }
  const started = operation.startsJob && options.wait !== false ? Started.safeParse(answer).data : undefined;
  if (started === undefined) {
    showAnswer(session.output, answer);
    return EXIT.ok;
  }
  const { job_uuid, ...rest } = started;
  session.output.show(answer, () => showAnswer(session.output, rest));
  return waitForJob(session, job_uuid);
}

const wordsOf = (fields: readonly string[]): string =>
  fields.map((key) => printable(key.replaceAll("_", " "))).join(", ");

/** When a change of an application takes effect, unless a deployment of it was asked for too. */
function sayWhen({ output }: Session, changed: readonly string[]): void {
  if (changed.includes("instant_deploy")) return;
  const settings = changed.filter((field) => field !== "force_domain_override");
  const [atOnce, later] = [settings.filter(takesEffectAtOnce), settings.filter((field) => !takesEffectAtOnce(field))];
  if (atOnce.length > 0) output.line(`Takes effect within a second: ${wordsOf(atOnce)}`);
  if (later.length > 0) output.line(`Takes effect with the next deployment: ${wordsOf(later)}`);
}

/** The commands after which a change of a database takes effect, also in what uses its URL. */
async function sayWhenOfDatabase(session: Session, uuid: string, changed: readonly string[]): Promise<void> {
  const { output } = session;
  const api = await session.connect();
  const { client } = api;
  const { name } = await client.databases.get.query({ uuid });
  const later = changed.filter(needsDatabaseRestart);
  if (later.length > 0) {
    output.line(
      `Takes effect with the next start: ${wordsOf(later)}. Start it with: berth db restart ${printable(name)}`,
    );
  }
  if (!changed.some(changesDatabaseUrl)) return;
  const users = await client.databases.attachments.list.query({ uuid });
  const effects = await Promise.all(users.map((user) => attachedCommands(api, user)));
  const commands = new Set(effects.map(({ deploy, restart }) => deploy ?? restart));
  if (commands.size === 0) return;
  output.line(`${later.length > 0 ? "After that, give" : "Give"} its new URL to what uses it:`);
  for (const command of commands) output.line(`  ${printable(command)}`);
}

async function confirm(
  { system, output }: Session,
  operation: DescribedOperation,
  parameters: readonly string[],
): Promise<void> {
  const name = parameters.at(-1) ?? "";
  if (!system.stdin.isTTY) throw usage(`${operation.summary}: confirm it with --yes.`);
  output.line(`${operation.summary}: ${printable(name)}. This cannot be undone.`);
  const typed = await ask(system, "Continue? [y/N] ");
  if (!/^y(es)?$/i.test(typed)) throw new Failure("Nothing was done.");
}

async function requestOf(
  session: Session,
  operation: DescribedOperation,
  parameters: readonly string[],
  options: Readonly<Record<string, unknown>>,
): Promise<RestRequest> {
  const { system } = session;
  const { method, queryFlags, bodyFlags, hasBody, fileType } = operation;
  const path = filledPath(operation, parameters);
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(valuesOf(queryFlags, options))) {
    for (const each of Array.isArray(value) ? value : [value]) query.append(key, String(each ?? ""));
  }
  const base = { method, path, query };
  if (fileType !== undefined) {
    return { ...base, body: await inputStream(system, String(options.file)), contentType: fileType };
  }
  if (!hasBody) return base;
  const inQuery = new Set(queryFlags.map(({ key }) => key));
  const fields = valuesOf(
    bodyFlags.filter(({ key }) => !inQuery.has(key)),
    options,
  );
  const given = options.input === undefined ? {} : await jsonInput(system, String(options.input));
  const secrets = await secretsFromFiles(system, bodyFlags, options);
  const body = { ...given, ...secrets, ...(await fieldValues(asker(session), fields)) };
  if (Object.keys(body).length === 0) {
    if (method === "DELETE") return base;
    requireFields(bodyFlags);
  }
  return { ...base, body: JSON.stringify(body), contentType: "application/json" };
}

/** A refused list gives `undefined`: the operation itself will then report the problem. */
function asker(session: Session): Ask {
  return async (request) => {
    const response = await rest(await session.resolve(), request);
    const text = await response.text();
    return response.ok ? answerOf(response, text) : undefined;
  };
}

/** The server would only say that no field was given; the flags show which ones exist. */
function requireFields(flags: DescribedOperation["bodyFlags"]): void {
  const names = flags.filter(({ isRequired }) => isRequired).map(({ name }) => `--${name}`);
  if (names.length > 0) throw usage(`Required: ${names.join(", ")}; or all fields as JSON by --input.`);
}

/** Fields given as flags override those in the file. */
async function jsonInput(system: Session["system"], file: string): Promise<object> {
  const text = await readInput({ stdin: await inputStream(system, file) });
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Reported below.
  }
  throw usage(`${file === "-" ? "Standard input" : file} does not contain a JSON object.`);
}

function answerOf(response: Response, text: string): unknown {
  return /json/.test(response.headers.get("content-type") ?? "") && text !== "" ? JSON.parse(text) : text || undefined;
}

const isFile = ({ headers }: Response): boolean => (headers.get("content-disposition") ?? "").startsWith("attachment");

/** A file is written as it arrives, with or without --json. */
async function sendOut({ system: { stdout } }: Session, response: Response): Promise<void> {
  if (stdout.isTTY) throw usage("A file is not printed on a terminal. Redirect the output to a file.");
  for await (const chunk of response.body ?? [])
    await new Promise<void>((done, failed) => stdout.write(chunk, (error) => (error ? failed(error) : done())));
}

/** Prints the data of each event as a line of JSON, with or without --json. */
async function showStream({ system: { stdout } }: Session, response: Response): Promise<void> {
  let rest = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) stdout.write(`${printable(line.slice(5).trim())}\n`);
  }
}
