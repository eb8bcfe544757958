import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { EnvCreate, type EnvironmentVariable, readEnvFile } from "@berth/core";
import type { Command } from "commander";
import { ProblemError, problemIn } from "../connection/problem.ts";
import { Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Bind } from "../program.ts";
import { ask, readInput } from "../prompt.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface Options {
  readonly app?: string;
  readonly preview?: boolean;
}

const APP = ["--app <app>", "name or uuid; default: the application of this folder"] as const;
const PREVIEW = ["--preview", "those of preview deployments"] as const;

const FLAGS = flagsFor(EnvCreate.omit({ key: true, value: true, is_preview: true }));

export function define(command: Command, bind: Bind): void {
  command
    .command("list", { isDefault: true })
    .description("List environment variables, without their values.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .option(...APP)
    .option(...PREVIEW)
    .option("--show", "with their values")
    .action(bind(list));
  const set = command
    .command("set")
    .description("Create or change environment variables: all of them or none.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .argument("[variables...]", "KEY=VALUE, or one KEY whose value is asked for or read from standard input")
    .option(...APP)
    .option(...PREVIEW)
    .option("--file <file>", "read a file in env format, with its comments; - for standard input");
  addFlags(set, FLAGS, "For all of them:");
  set.action(bind(setVariables));
  command
    .command("rm")
    .description("Remove environment variables.")
    .argument("<keys...>", "their names")
    .option(...APP)
    .option(...PREVIEW)
    .action(bind(remove));
}

async function list(
  session: Session,
  wanted: string | undefined,
  { app, preview = false, show = false }: Options & { readonly show?: boolean },
): Promise<void> {
  const { output, system } = session;
  const api = await session.connect();
  const { uuid, name } = await targetApplication(api, system, wanted ?? app);
  const all = await api.client.applications.envs.list.query({ uuid });
  output.show(show ? all : all.map(withoutValue), () => {
    const envs = all.filter(({ is_preview }) => is_preview === preview);
    if (envs.length === 0) return output.line(`${printable(name)} has no ${preview ? "preview " : ""}variables.`);
    const rows = envs.map((env) => [cell(env.key), valueText(env, show, output), usedBy(env), cell(env.comment)]);
    output.table(["KEY", "VALUE", "FOR", "COMMENT"], rows);
  });
}

/** What a script prints ends in its log. */
const withoutValue = ({ value: _value, real_value: _real, ...env }: EnvironmentVariable) => env;

function valueText({ value, is_shown_once }: EnvironmentVariable, isShown: boolean, { colors }: Output): string {
  if (!isShown) return colors.dim("hidden");
  if (value === undefined) return colors.dim(is_shown_once ? "shown once" : "not for this token");
  // As in an env file: what is no plain text is quoted, so that a table row stays one.
  return value === null ? "" : /^[^\s"'\\\p{C}][^"'\\\p{C}]*$/u.test(value) ? value : JSON.stringify(value);
}

function usedBy({ is_runtime, is_buildtime }: EnvironmentVariable): string {
  return [is_buildtime ? "build" : "", is_runtime ? "run" : ""].filter((text) => text !== "").join(", ") || "-";
}

type SetOptions = Options & { readonly file?: string; readonly [flag: string]: unknown };

async function setVariables(
  session: Session,
  first: string | undefined,
  others: readonly string[],
  options: SetOptions,
): Promise<void> {
  const { output, system } = session;
  const { app, file, preview } = options;
  const { wanted, texts } = split(first, others, options);
  const variables = [
    ...(file === undefined ? [] : await fromFile(session, file)),
    ...(await Promise.all(texts.map((text) => variable(session, text, texts.length === 1 && file === undefined)))),
  ];
  const named = wanted ?? app;
  if (variables.length === 0) {
    throw usage("There is nothing to set.", ["Write KEY=VALUE, or --file FILE with at least one variable in it."]);
  }
  const api = await session.connect();
  const { uuid, name } = await targetApplication(api, system, named);
  const shared = valuesOf(FLAGS, options);
  const data = variables.map((each) => ({ ...each, ...shared, ...(preview ? { is_preview: true } : {}) }));
  const answer = await api.client.applications.envs.updateBulk.mutate({ uuid, data }).catch((error: unknown) => {
    throw byKey(error, data);
  });
  output.show(answer, () => {
    output.line(`${printable(name)}: set ${data.map(({ key }) => printable(key)).join(", ")}.`);
    output.line(`It holds from the next deployment on: berth restart${named === undefined ? "" : ` ${named}`}`);
  });
}

/** The API numbers what is wrong in a list; people know it by its key. */
function byKey(error: unknown, data: readonly Variable[]): unknown {
  const problem = problemIn(error);
  if (!problem?.errors) return error;
  const errors = Object.entries(problem.errors).map(([field, texts]) => {
    const [, index, rest] = /^data\.(\d+)\.(.+)$/.exec(field) ?? [];
    const key = data[Number(index)]?.key;
    return [key === undefined ? field : `${key} (${rest})`, texts] as const;
  });
  return new ProblemError({ ...problem, errors: Object.fromEntries(errors) });
}

/** The first argument names the application when it is no variable and something else is to be set. */
function split(first: string | undefined, others: readonly string[], { app, file }: SetOptions) {
  const all = first === undefined ? [] : [first, ...others];
  const isApp = first !== undefined && !first.includes("=") && (others.length > 0 || file !== undefined);
  if (isApp && app !== undefined) throw usage(`"${printable(first)}" is no variable. Write it as KEY=VALUE.`);
  return isApp ? { wanted: first, texts: others } : { wanted: undefined, texts: all };
}

interface Variable {
  readonly key: string;
  readonly value: string;
  readonly comment?: string | null;
  readonly is_multiline?: boolean;
}

async function variable({ system }: Session, text: string, mayAsk: boolean): Promise<Variable> {
  const at = text.indexOf("=");
  if (at >= 1) return shaped({ key: text.slice(0, at), value: text.slice(at + 1) });
  if (at === 0 || !mayAsk) throw usage(`"${printable(text)}" is no variable. Write it as KEY=VALUE.`);
  // A secret need not be typed where a shell keeps its history.
  const value = system.stdin.isTTY
    ? await ask(system, `Value of ${printable(text)}: `, { isSecret: true })
    : await readInput(system);
  return shaped({ key: text, value });
}

async function fromFile({ system }: Session, file: string): Promise<readonly Variable[]> {
  const path = resolve(system.cwd, file);
  const text =
    file === "-"
      ? await readInput(system)
      : await readFile(path, "utf8").catch((cause: unknown) => {
          throw new Failure(`${path} cannot be read.`, { cause });
        });
  const { entries, unreadLines } = readEnvFile(text);
  // Left out in silence, it would be missed when the application runs.
  if (unreadLines.length > 0) {
    const lines = `${unreadLines.length === 1 ? "Line" : "Lines"} ${unreadLines.join(", ")}`;
    const what = `${lines} of ${file === "-" ? "standard input" : printable(file)}`;
    throw usage(`${what} cannot be read as KEY=VALUE. Nothing was set.`);
  }
  return entries.map(({ key, value, comment }) => shaped({ key, value, ...(comment === null ? {} : { comment }) }));
}

const shaped = (each: Variable): Variable => (each.value.includes("\n") ? { ...each, is_multiline: true } : each);

async function remove(session: Session, keys: readonly string[], { app, preview = false }: Options): Promise<void> {
  const { output, system } = session;
  const api = await session.connect();
  const { uuid, name } = await targetApplication(api, system, app);
  const envs = (await api.client.applications.envs.list.query({ uuid })).filter((env) => env.is_preview === preview);
  // All are looked up before any is removed.
  const found = keys.map((key) => envs.find((env) => env.key === key) ?? key);
  const missing = found.filter((each) => typeof each === "string");
  if (missing.length > 0) {
    const what = missing.length === 1 ? "variable" : "variables";
    throw usage(`${printable(name)} has no ${what} ${missing.map(printable).join(", ")}.`);
  }
  for (const env of found) {
    if (typeof env === "string") continue;
    const answer = await api.client.applications.envs.delete.mutate({ uuid, env_uuid: env.uuid });
    output.json(answer);
    output.line(`${printable(name)}: removed ${printable(env.key)}.`);
  }
}
