import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { EnvCreate, readEnvFile } from "@berth/core/env";
import type { Command } from "commander";
import { nearest } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import { ProblemError, problemIn } from "../connection/problem.ts";
import { Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import { ask, readInput } from "../prompt.ts";
import type { Session } from "../session.ts";
import { warnOfProblems } from "../status-text.ts";
import { addOwnerFlags, isNamed, type OwnerOptions, ownerOf, type ShownVariable } from "./env-owner.ts";

interface EnvOptions extends OwnerOptions {
  readonly preview?: boolean;
}

const PREVIEW = ["--preview", "those of preview deployments"] as const;

const FLAGS = flagsFor(EnvCreate.omit({ key: true, value: true, is_preview: true }));

export function define(command: Command, bind: Bind): void {
  addOwnerFlags(command.command("list", { isDefault: true }))
    .description("List environment variables, or shared ones, without their values.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .option(...PREVIEW)
    .option("--show", "with their values")
    .action(bind(list));
  addOwnerFlags(command.command("get"))
    .description("Print the value of an environment variable, and nothing else.")
    .argument("<key>", "its name")
    .option(...PREVIEW)
    .action(bind(get));
  const set = addOwnerFlags(command.command("set"))
    .description("Create or change environment variables, or shared ones: all of them or none.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .argument("[variables...]", "KEY=VALUE, or one KEY whose value is asked for or read from standard input")
    .option(...PREVIEW)
    .option("--file <file>", "read a file in env format, with its comments; - for standard input");
  addFlags(set, FLAGS, "For all of them:");
  set.action(bind(setVariables));
  addOwnerFlags(command.command("rm").aliases(["unset", "remove", "delete"]))
    .description("Remove environment variables.")
    .argument("<keys...>", "their names")
    .option(...PREVIEW)
    .action(bind(remove));
}

async function list(
  session: Session,
  wanted: string | undefined,
  { preview = false, show = false, ...named }: EnvOptions & { readonly show?: boolean },
): Promise<void> {
  const { output } = session;
  const { name, isShared, list: read } = await ownerOf(session, wanted, named);
  requireNoPreview(isShared, preview);
  const all = await read();
  output.show(show ? all : all.map(withoutValue), () => {
    const envs = all.filter(({ is_preview = false }) => is_preview === preview);
    const which = isShared ? "shared " : preview ? "preview " : "";
    if (envs.length === 0) return output.line(`${printable(name)} has no ${which}variables.`);
    const rows = envs.map((env) => [
      cell(env.key),
      valueText(env, show, output),
      isShared ? cell(env.reference) : usedBy(env),
      cell(env.comment),
    ]);
    output.table(["KEY", "VALUE", isShared ? "REFERENCE" : "FOR", "COMMENT"], rows);
    warnOfReferences(output, envs);
  });
}

async function get(session: Session, key: string, { preview = false, ...named }: EnvOptions): Promise<void> {
  const { output } = session;
  const { name, isShared, list: read } = await ownerOf(session, undefined, named);
  requireNoPreview(isShared, preview);
  const envs = (await read()).filter(({ is_preview = false }) => is_preview === preview);
  const found = envs.find((env) => env.key === key);
  if (found === undefined) throw missing(name, [key], envs);
  if (found.value === undefined) {
    const because = found.is_shown_once ? "it is shown once" : "this token may not read secrets";
    throw new Failure(`The value of ${printable(key)} is not shown: ${because}.`);
  }
  // Unformatted, since scripts read it.
  output.show(found, () => output.line(found.value ?? ""));
}

function missing(name: string, keys: readonly string[], known: readonly { readonly key: string }[]) {
  const named = known.map(({ key }) => ({ name: key }));
  const near = [...new Set(keys.flatMap((key) => nearest(key, named).slice(0, 1)))].map((each) => printable(each.name));
  const hint = near.length === 0 ? "" : ` Did you mean ${near.join(", ")}?`;
  const which = `${keys.length === 1 ? "variable" : "variables"} ${keys.map(printable).join(", ")}`;
  return usage(`${printable(name)} has no ${which}.${hint}`);
}

function requireNoPreview(isShared: boolean, preview = false): void {
  if (isShared && preview) throw usage("Shared variables are the same for previews. Leave out --preview.");
}

/** Values are left out: a script's output often ends up in a log. */
const withoutValue = ({ value: _value, real_value: _real, ...env }: ShownVariable) => env;

function valueText({ value, is_shown_once }: ShownVariable, isShown: boolean, { colors }: Output): string {
  if (!isShown) return colors.dim("hidden");
  if (value === undefined) return colors.dim(is_shown_once ? "shown once" : "not for this token");
  // Quoted as in an env file unless it is a plain word, so that each variable stays on one line.
  return value === null ? "" : /^[^\s"'\\\p{C}][^"'\\\p{C}]*$/u.test(value) ? value : JSON.stringify(value);
}

function usedBy({ is_runtime, is_buildtime }: ShownVariable): string {
  return [is_buildtime ? "build" : "", is_runtime ? "run" : ""].filter((text) => text !== "").join(", ") || "-";
}

type SetOptions = EnvOptions & { readonly file?: string; readonly [flag: string]: unknown };

async function setVariables(
  session: Session,
  first: string | undefined,
  others: readonly string[],
  options: SetOptions,
): Promise<void> {
  const { output } = session;
  const { file, preview } = options;
  const { wanted, texts } = split(first, others, options);
  // Before a value is asked for that was typed already.
  const named = isPair(wanted, texts) ? await ownerOf(session, wanted, options).catch(suggestPair(wanted)) : undefined;
  const variables = await readVariables(session, texts, {
    file,
    mayAsk: texts.length === 1 && file === undefined,
  });
  if (variables.length === 0) {
    throw usage("Nothing to set.", ["Write KEY=VALUE, or --file FILE with at least one variable in it."]);
  }
  const { name, isShared, save, next } = named ?? (await ownerOf(session, wanted, options));
  requireNoPreview(isShared, preview);
  const ofAll = valuesOf(FLAGS, options);
  const data = variables.map((each) => ({ ...each, ...ofAll, ...(preview ? { is_preview: true } : {}) }));
  const answer = await saveByKey(save, data);
  const lines = await next(answer);
  output.show(answer, () => {
    output.line(`${printable(name)}: set ${data.map(({ key }) => printable(key)).join(", ")}.`);
    for (const line of lines) output.line(line);
    warnOfReferences(output, answer);
  });
}

const warnOfReferences = (output: Output, variables: readonly ShownVariable[]): void =>
  warnOfProblems(
    output,
    variables.flatMap(({ key, reference_problem, is_preview }) =>
      is_preview === true ? [] : [[key, reference_problem] as const],
    ),
  );

/** @throws The API's errors, with keys of variables in place of list positions */
export const saveByKey = <Answer>(
  save: (data: Variable[]) => Promise<Answer>,
  data: readonly Variable[],
): Promise<Answer> =>
  save([...data]).catch((error: unknown) => {
    throw byKey(error, data);
  });

/** The API refers to list positions, but users know variables by their keys. */
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

/** The first argument is the application if it is not an assignment and other assignments follow. */
function split(first: string | undefined, others: readonly string[], options: SetOptions) {
  const all = first === undefined ? [] : [first, ...others];
  const isApp = first !== undefined && !first.includes("=") && (others.length > 0 || options.file !== undefined);
  if (isApp && isNamed(options)) throw usage(`"${printable(first)}" is not a variable. Write it as KEY=VALUE.`);
  return isApp ? { wanted: first, texts: others } : { wanted: undefined, texts: all };
}

/** `GREETING hello` may be a variable and its value. */
const isPair = (wanted: string | undefined, [value, ...others]: readonly string[]): boolean =>
  EnvCreate.shape.key.safeParse(wanted).success && value?.includes("=") === false && others.length === 0;

const suggestPair =
  (key = "") =>
  (error: unknown): never => {
    if (!(error instanceof Failure)) throw error;
    // The value may be a secret, and is in quotes if it needs them.
    const hint = `To set the variable ${printable(key)}, write ${printable(key)}=VALUE`;
    throw usage(error.message, [hint, ...error.details]);
  };

/** @param file In env format; `-` is standard input. */
export async function readVariables(
  session: Session,
  texts: readonly string[],
  { file, mayAsk }: { readonly file: string | undefined; readonly mayAsk: boolean },
): Promise<readonly Variable[]> {
  const variables = [
    ...(file === undefined ? [] : await fromFile(session, file)),
    ...(await Promise.all(texts.map((text) => variable(session, text, mayAsk)))),
  ];
  for (const { key } of variables) {
    const [problem] = EnvCreate.shape.key.safeParse(key).error?.issues ?? [];
    if (problem !== undefined) throw usage(`${printable(key)} cannot be the name of a variable. ${problem.message}`);
  }
  return variables;
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
  if (at === 0 || !mayAsk) throw usage(`"${printable(text)}" is not a variable. Write it as KEY=VALUE.`);
  // Prompted for, so that a secret does not get into the shell's history.
  const value = system.stdin.isTTY
    ? await ask(system, `Value of ${printable(text)}: `, { isSecret: true })
    : await readInput(system);
  if (value === "" && !system.stdin.isTTY) {
    throw usage(`${printable(text)} has no value: standard input is empty.`, [
      `Write ${printable(text)}=VALUE, or ${printable(text)}= for an empty value.`,
    ]);
  }
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
  // An ignored line would only be noticed when the application runs.
  if (unreadLines.length > 0) {
    const lines = `${unreadLines.length === 1 ? "Line" : "Lines"} ${unreadLines.join(", ")}`;
    const what = `${lines} of ${file === "-" ? "standard input" : printable(file)}`;
    throw usage(`${what} cannot be read as KEY=VALUE. Nothing was set.`);
  }
  return entries.map(({ key, value, comment }) => shaped({ key, value, ...(comment === null ? {} : { comment }) }));
}

const shaped = (each: Variable): Variable => (each.value.includes("\n") ? { ...each, is_multiline: true } : each);

async function remove(
  session: Session,
  keys: readonly string[],
  { preview = false, ...named }: EnvOptions,
): Promise<void> {
  const { output } = session;
  const { name, isShared, list: read, remove: removeOne } = await ownerOf(session, undefined, named);
  requireNoPreview(isShared, preview);
  const all = await read();
  const envs = all.filter(({ is_preview = false }) => is_preview === preview);
  // All keys are looked up before any variable is removed.
  const found = keys.map((key) => envs.find((env) => env.key === key) ?? key);
  const unknown = found.filter((each) => typeof each === "string");
  if (unknown.length > 0) throw missing(name, unknown, envs);
  for (const env of found) {
    if (typeof env === "string") continue;
    const answer = await removeOne(env.uuid);
    // The API made a copy for previews with the variable. One that has another value by now stays.
    const isCopy = ({ key, value, is_preview = false }: typeof env) =>
      is_preview && !preview && key === env.key && value !== undefined && value === env.value;
    const copy = all.find(isCopy);
    if (copy !== undefined) await removeOne(copy.uuid);
    output.json(answer);
    const also = copy === undefined ? "" : " Its copy for previews is removed too.";
    output.line(`${printable(name)}: removed ${printable(env.key)}.${also}`);
  }
}
