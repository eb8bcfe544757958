import { basename, dirname } from "node:path";
import { type ComposeService, parseCompose } from "@berth/core/compose";
import { usage } from "../failure.ts";
import { printable } from "../printable.ts";

/**
 * Refuses a compose file that builds from its folder, which only an application has: of a service the compose file alone
 * is sent.
 * @param file Its path, for the command that deploys its folder.
 */
export function requireNoBuild(docker_compose: string, file: string): void {
  const compose = parseCompose(docker_compose);
  // The server says what is wrong with it.
  if ("problems" in compose) return;
  const built = Object.entries(compose.document.services).find(([, service]) => buildsFolder(service));
  if (built === undefined) return;
  throw usage(`The compose file builds ${printable(built[0])} from a folder, which a service does not have.`, [
    `Deploy the folder as an application: berth deploy ${printable(dirname(file))} --build-pack dockercompose${location(file)}`,
    "Or name an image in place of build.",
  ]);
}

const location = (file: string): string => {
  const name = basename(file);
  return name === DEFAULT_LOCATION ? "" : ` --docker-compose-location ${printable(name)}`;
};

/** Of an application, if no other is set. */
const DEFAULT_LOCATION = "docker-compose.yaml";

function buildsFolder({ build, profiles }: ComposeService): boolean {
  // Those of a profile are made only where it is asked for.
  if (build === undefined || build === null || (profiles ?? []).length > 0) return false;
  const context = typeof build === "string" ? build : String(build.context ?? ".");
  return !/^([a-z-]+:\/\/|git@)/.test(context);
}
