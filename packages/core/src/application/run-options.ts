import type { RunOptions } from "../deploy/container.ts";
import { isRunOptionName, RUN_OPTION_TABLE, type RunOptionRow } from "./run-option-table.ts";

export const NO_RUN_OPTIONS: RunOptions = {
  capAdd: [],
  capDrop: [],
  securityOpt: [],
  sysctls: {},
  ulimits: [],
  devices: [],
  gpus: null,
  shmBytes: null,
  tmpfs: {},
  extraHosts: [],
  dns: [],
  groups: [],
  hasInit: null,
  isPrivileged: false,
  isReadOnly: false,
  hostname: null,
  ip: null,
  user: null,
  workingFolder: null,
  entrypoint: null,
  stopSignal: null,
  processesMax: null,
};

export interface ReadRunOptions {
  readonly options: RunOptions;
  /** Names of the options that grant privileges on the server. */
  readonly powers: readonly string[];
  /** Sentences; empty when all options are valid. */
  readonly problems: readonly string[];
}

/**
 * Reads options in the syntax of `docker run`. They never become part of a command line, and unknown ones are
 * refused.
 */
export function readRunOptions(text: string | null): ReadRunOptions {
  const words = splitWords(text ?? "");
  if (words === undefined) {
    return { options: NO_RUN_OPTIONS, powers: [], problems: ["A quotation mark is not closed."] };
  }
  let options = NO_RUN_OPTIONS;
  const powers = new Set<string>();
  const problems: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const equals = word.indexOf("=");
    const name = equals === -1 ? word : word.slice(0, equals);
    if (!isRunOptionName(name)) {
      problems.push(`${shown(name)} is not allowed. Allowed are ${ALLOWED}.`);
      continue;
    }
    const row: RunOptionRow = RUN_OPTION_TABLE[name];
    let value = equals === -1 ? undefined : word.slice(equals + 1);
    if (value === undefined && !row.isSwitch) {
      at++;
      value = words[at];
    }
    const change = row.read(value ?? (row.isSwitch ? "true" : ""), options);
    if (change === undefined) {
      problems.push(`${name} needs ${row.needs}.`);
      continue;
    }
    options = { ...options, ...change };
    if (row.isPower(change)) powers.add(name);
  }
  return { options, powers: [...powers], problems: [...new Set(problems)] };
}

/** Problems by field, as in the answer to an invalid request. */
export function runOptionProblems({
  custom_docker_run_options: text,
}: {
  readonly custom_docker_run_options?: string | null | undefined;
}): Record<string, readonly string[]> {
  const { problems } = readRunOptions(text ?? null);
  return problems.length === 0 ? {} : { custom_docker_run_options: problems };
}

/** Splits at blanks and line ends, except within quotation marks. There is no other syntax. */
export function splitWords(text: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  // Joins lines that end with a backslash, as in commands copied from a terminal.
  for (const character of text.replace(/\\\r?\n/g, " ")) {
    if (quote !== "") {
      if (character === quote) quote = "";
      else word += character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (word !== undefined) words.push(word);
  return quote === "" ? words : undefined;
}

const NAME_LENGTH_SHOWN = 40;
const shown = (name: string) => (name.length > NAME_LENGTH_SHOWN ? `${name.slice(0, NAME_LENGTH_SHOWN)}…` : name);

const ALLOWED = Object.keys(RUN_OPTION_TABLE).join(", ");
