import { DomainError } from "../errors.ts";
import type { LanguageProject } from "./language.ts";
import { languageOf } from "./languages.ts";
import { listNames } from "./listing.ts";
import type { PlanConfig, SourceFacts } from "./plan.ts";

/** Lists the files that were found, and the settings and `berth deploy` flags that help. */
export function unrecognised(facts: SourceFacts, { base_directory }: PlanConfig): DomainError {
  const { entries } = facts;
  const language = languageOf(facts);
  const example = language?.help.example ?? "node server.js";
  return new DomainError(
    "deploy.unrecognised",
    `It is not clear how to start this: ${seen(facts, language)} ` +
      `${base_directory} holds ${listNames(entries)}. ` +
      `Set start_command (berth deploy --start-command '${example}'), publish_directory for a static site ` +
      "(--publish-directory /site), or base_directory when the application lies in another folder " +
      `(--base-directory /app).${ofDocker(entries)}`,
  );
}

function seen({ packageJson, procfile }: SourceFacts, language: LanguageProject | undefined): string {
  if (language !== undefined) return `it is recognised as ${language.title}, but without ${language.help.looked}.`;
  if (packageJson !== undefined) return "its package.json has no start script and no main file.";
  if (procfile !== undefined) return "its Procfile has no line web, and no other file says how.";
  return "no file of a language that Berth knows, no Procfile and no index.html was found.";
}

const COMPOSE = /^(docker-)?compose\.ya?ml$/;

/** Suggests the folder's Dockerfile or compose file, which Berth uses only if chosen. */
function ofDocker(entries: readonly string[]): string {
  if (entries.includes("Dockerfile")) {
    return " To build it from its Dockerfile, set build_pack to dockerfile (--build-pack dockerfile), on a server with Docker.";
  }
  const compose = entries.find((name) => COMPOSE.test(name));
  if (compose === undefined) return "";
  return (
    ` To run its ${compose}, set build_pack to dockercompose and docker_compose_location to /${compose} ` +
    `(--build-pack dockercompose --docker-compose-location /${compose}), on a server with Docker.`
  );
}

/** Other ways to build the folder. */
export function otherWays({ entries }: SourceFacts, source: string): string[] {
  if (!entries.includes("Dockerfile")) return [];
  const what = source === "command" ? "start command" : source;
  return [
    `It has a Dockerfile too, and is built by its ${what}. To build it from the Dockerfile, set build_pack to ` +
      "dockerfile (--build-pack dockerfile), on a server with Docker.",
  ];
}
