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
      `(--publish-directory /site), or base_directory ${whereElse(facts)}.${ofDocker(facts, language)}`,
  );
}

function seen({ packageJson, procfile }: SourceFacts, language: LanguageProject | undefined): string {
  if (language !== undefined) return `it is recognised as ${language.title}, but without ${language.help.looked}.`;
  if (packageJson !== undefined) return "its package.json has no start script and no main file.";
  if (procfile !== undefined) return "its Procfile has no line web, and no other file says how.";
  return "no file of a language that Berth knows, no Procfile and no index.html was found.";
}

const COMPOSE = /^(docker-)?compose\.ya?ml$/;

function whereElse({ files }: SourceFacts): string {
  const found = applicationBelow(files);
  if (found === undefined) return "when the application lies in another folder (--base-directory /app)";
  const { folder, manifest } = found;
  return `for the application of another folder, such as the one with ${folder}/${manifest} (--base-directory /${folder})`;
}

/** The uppermost folder below this one that looks like an application. */
function applicationBelow(files: readonly string[]) {
  const manifests = files.flatMap((path) => {
    const [, folder, manifest] = MANIFEST.exec(path) ?? [];
    return folder === undefined || manifest === undefined ? [] : [{ folder, manifest }];
  });
  return manifests.toSorted((one, other) => depthOf(one.folder) - depthOf(other.folder))[0];
}

const depthOf = (folder: string): number => folder.split("/").length;

const MANIFEST =
  /^((?!(?:tests?|examples?|docs?)\/)[\w-][\w.-]{0,60}(?:\/[\w-][\w.-]{0,60})?)\/(package\.json|requirements\.txt|pyproject\.toml|Pipfile|manage\.py|go\.mod|Gemfile|composer\.json|Cargo\.toml|mix\.exs|pom\.xml|build\.gradle(?:\.kts)?|deno\.jsonc?|Dockerfile)$/;

/** Suggests the folder's Dockerfile or compose file, which Berth uses only if chosen. */
function ofDocker({ entries, files, packageJson }: SourceFacts, language: LanguageProject | undefined): string {
  if (entries.includes("Dockerfile")) {
    return " To build it from its Dockerfile, set build_pack to dockerfile (--build-pack dockerfile), on a server with Docker.";
  }
  const compose = entries.find((name) => COMPOSE.test(name));
  if (compose === undefined) {
    const isKnown = language !== undefined || packageJson !== undefined || applicationBelow(files) !== undefined;
    return isKnown
      ? ""
      : " For a language that is not recognised, add a Dockerfile and deploy to a server with Docker.";
  }
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
