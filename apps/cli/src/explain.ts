import { connectionTrouble, NOT_BERTH, type Problem, problemIn } from "./connection/problem.ts";
import type { Connection } from "./connection/resolve.ts";
import { Failure } from "./failure.ts";
import { printable } from "./printable.ts";

export interface ExplainOptions {
  /** Connection of the command, if it was resolved. */
  readonly connection: Connection | undefined;
  readonly isVerbose: boolean;
  /** Names of the command's flags, which replace the API's field names. */
  readonly flagNames: ReadonlySet<string>;
}

/** Turns any error of a command into a message for its user. */
export function explain(error: unknown, options: ExplainOptions): Failure {
  if (error instanceof Failure) return error;
  const problem = problemIn(error);
  if (problem) return problemFailure(problem, error, options);
  const trouble = connectionTrouble(error);
  const { connection } = options;
  if (trouble && connection) {
    return new Failure(`${connection.url} cannot be reached: ${trouble}.`, {
      cause: error,
      details: [
        `The address comes from ${connection.origin}.`,
        "Check that the server is running, or choose another: berth context",
      ],
    });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new Failure(`This should not have happened: ${printable(message)}`, {
    cause: error,
    details: options.isVerbose && error instanceof Error && error.stack ? [error.stack] : ["--verbose tells more."],
  });
}

function problemFailure(problem: Problem, cause: unknown, options: ExplainOptions): Failure {
  const { connection, isVerbose } = options;
  const url = connection?.url ?? "The server";
  if (problem.code === NOT_BERTH) {
    const status = problem.status === undefined ? "" : ` (status ${problem.status})`;
    return new Failure(`${url} does not answer as a Berth server does${status}.`, {
      cause,
      details: ["Check the address."],
    });
  }
  const origin = connection ? ` (from ${connection.origin})` : "";
  const said = printable(inFlags(problem.message, options.flagNames));
  const message = problem.status === 401 ? `${url} does not know this token${origin}.` : said;
  return new Failure(message, {
    cause,
    details: [
      ...(problem.error === undefined ? [] : [printable(problem.error)]),
      ...fieldLines(problem, said, options.flagNames),
      ...(problem.conflicts ?? []).map((conflict) => printable(conflict.message)),
      ...nextSteps(problem),
      ...(isVerbose ? [`code ${problem.code ?? "none"}, request ${problem.request_id ?? "unknown"}`] : []),
    ],
  });
}

/** The API names the fields to send; here they are flags. */
export const inFlags = (message: string, flagNames: ReadonlySet<string>): string =>
  message
    .replace(/(send )?\b([a-z_]+)=true\b/g, (text: string, send: string | undefined, field: string) => {
      const flag = flagOf(field, flagNames);
      return flag === undefined ? text : `${send === undefined ? "" : "add "}${flag}`;
    })
    .replace(/\b(Correct|Set) ([a-z_]+)\b/g, (_text: string, verb: string, field: string) => {
      return `${verb} ${flagOf(field, flagNames) ?? field}`;
    })
    .replace(/\bwith `([a-z_]+)`/g, (text: string, field: string) => {
      const flag = flagOf(field, flagNames);
      return flag === undefined ? text : `with ${flag}`;
    })
    // A word of several parts is a field's name, and never a word of the sentence.
    .replace(/(?<![\w-])[a-z]+(?:_[a-z]+)+\b/g, (field: string) => flagOf(field, flagNames) ?? field);

/** Flags of `berth deploy`, which are shorter than the fields that they set. */
const SHORT_FLAGS: Readonly<Record<string, string>> = { git_repository: "git", git_branch: "branch" };

function flagOf(field: string, flagNames: ReadonlySet<string>): string | undefined {
  const name = [field.replaceAll("_", "-"), SHORT_FLAGS[field]].find((each) => flagNames.has(each ?? ""));
  return name === undefined ? undefined : `--${name}`;
}

/** Some messages repeat what is wrong, for clients that print nothing else: that is not said twice. */
function fieldLines({ errors = {} }: Problem, said: string, flagNames: ReadonlySet<string>): readonly string[] {
  return Object.entries(errors).flatMap(([field, texts]) => {
    const shown = flagOf(field, flagNames) ?? field;
    const lines = texts.map((text) => printable(inFlags(text, flagNames)));
    if (field === "_") return lines.filter((text) => !said.includes(text));
    return lines.filter((text) => text !== said).map((text) => `${printable(shown)}: ${text}`);
  });
}

/** Remedies by error code, else by field. */
function nextSteps({ code, status, message, errors }: Problem): readonly string[] {
  if (status === 401) return ["Log in again with: berth login URL"];
  switch (code) {
    case "auth.missing_ability":
      return [
        `Use a token with this ability. Somebody who has it can create one: berth tokens create NAME ${abilitiesWith(message)}`,
      ];
    case "domain.conflict":
      return ["--force-domain-override takes a URL over from another resource of your team."];
    case "queue.full":
    case "rate.limited":
      return ["Try again in a minute."];
    default:
      return [...urlSteps(Object.values(errors ?? {}).flat()), ...fieldSteps(errors)];
  }
}

/** Users write hosts as browsers show them. */
const urlSteps = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => {
    const [, host = ""] = /Invalid URL: ([\w.-]+\.[\w.:/-]+)$/.exec(text) ?? [];
    return host === "" || host.includes("://") ? [] : [`Write https:// in front of it: https://${host}`];
  });

const fieldSteps = (errors: Problem["errors"]): readonly string[] =>
  Object.entries(FIELD_STEPS).flatMap(([field, step]) => (errors?.[field] === undefined ? [] : [step]));

const FIELD_STEPS: Readonly<Record<string, string>> = {
  frequency: "A frequency is a word (hourly, daily, weekly, …) or five fields: '30 2 * * *' is each day at 02:30.",
  migrate_volumes: "To leave the data behind: berth move APP --server SERVER --without-data",
};

/** No ability implies another, so the ones that most commands need are suggested together with the missing one. */
function abilitiesWith(message: string): string {
  const missing = /permissions: ([\w:]+)/.exec(message)?.[1];
  const abilities = missing === "root" ? ["root"] : new Set(["read", "write", "deploy", ...(missing ? [missing] : [])]);
  return `--abilities ${[...abilities].join(",")}`;
}

/** Lines that a failure prints on standard error. */
export const failureLines = ({ message, details }: Failure): string =>
  [message, ...details.map((line) => `  ${line}`)].map((line) => `${line}\n`).join("");
