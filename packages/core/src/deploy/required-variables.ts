import { type Compose, textsIn } from "../compose/parse.ts";
import { referencesOf } from "../compose/reference.ts";
import type { ComposeVariable } from "../compose/variables.ts";
import { DomainError } from "../errors.ts";
import { generatedKeys } from "./compose-values.ts";

type Env = Readonly<Record<string, string>>;
type Demand = Pick<ComposeVariable, "key" | "isRequired" | "reason">;

/** The variables that a compose file requires and that have no value. */
export const missingVariables = (variables: readonly Demand[], values: Env): readonly Demand[] =>
  variables.filter(({ key, isRequired }) => isRequired && !(Object.hasOwn(values, key) && values[key]));

/** @throws DomainError `deploy.start_failed` that names all missing variables */
export function requireVariables({ variables }: Pick<Compose, "variables">, values: Env): void {
  refuse(missingVariables(variables, values), []);
}

interface BuildDemands {
  /** The original compose file, with the sections that shape the build. */
  readonly text: Pick<Compose, "document">;
  /** The compose file as it is started. */
  readonly started: Pick<Compose, "variables" | "environments">;
  /** What Berth generates for the compose file is missing until the build has ended. */
  readonly isGenerating: boolean;
}

/**
 * Reports all variables that building or starting a compose file needs, before anything is pulled or built.
 * @throws DomainError `deploy.start_failed` that names all of them
 */
export function requireBuildable(demands: BuildDemands, buildEnv: Env, values: Env): void {
  const { text, started, isGenerating } = demands;
  const generated = new Set(isGenerating ? generatedKeys(started) : []);
  const toStart = missingVariables(started.variables, values).filter(
    // A value that is set and empty is not replaced.
    ({ key }) => Object.hasOwn(values, key) || !generated.has(key),
  );
  const told = new Set(toStart.map(({ key }) => key));
  const toBuild = new Map(
    missingVariables(buildVariables(text.document), buildEnv).flatMap((demand) =>
      told.has(demand.key) ? [] : [[demand.key, demand] as const],
    ),
  );
  refuse(toStart, [...toBuild.values()]);
}

/** `undefined`: nothing is missing. */
export function missingSentence(missing: readonly Demand[]): string | undefined {
  if (missing.length === 0) return undefined;
  const [which, them] = missing.length === 1 ? ["The variable", "it"] : ["The variables", "them"];
  return `${which} ${missing.map(shown).join(", ")} must have a value, which the compose file demands. Set ${them}, then deploy again.`;
}

function refuse(toStart: readonly Demand[], toBuild: readonly Demand[]): void {
  const atBuild =
    toBuild.length === 0
      ? undefined
      : `The build needs a value of ${toBuild.map(shown).join(", ")}: set it with is_buildtime, then deploy again.`;
  const sentences = [missingSentence(toStart), atBuild].filter((sentence) => sentence !== undefined);
  if (sentences.length === 0) return;
  const missing_variables = [...toStart, ...toBuild].map(({ key }) => key);
  throw new DomainError("deploy.start_failed", sentences.join(" "), { details: { missing_variables } });
}

/** Variables that are read during the build. */
const buildVariables = ({ services }: Compose["document"]): readonly Demand[] =>
  Object.values(services).flatMap(({ build, image }) => textsIn([build, image]).flatMap((text) => referencesOf(text)));

/** With its message in the compose file: `${DB_PASSWORD:?of the database}`. */
function shown({ key, reason = "" }: Demand): string {
  const words = reason.replace(/\p{C}/gu, " ").trim().slice(0, REASON_LENGTH_MAX);
  return words === "" ? key : `${key} (${words})`;
}

const REASON_LENGTH_MAX = 100;
