import { type ComposeService, parseCompose } from "@berth/core/compose";
import { usage } from "../failure.ts";
import { printable } from "../printable.ts";

/**
 * Refuses a compose file that builds from its folder, which only an application has: of a service the compose file alone
 * is sent.
 * @param folder The argument of a command that names the folder.
 */
export function requireNoBuild(docker_compose: string, folder: string): void {
  const compose = parseCompose(docker_compose);
  // The server says what is wrong with it.
  if ("problems" in compose) return;
  const built = Object.entries(compose.document.services).find(([, service]) => buildsFolder(service));
  if (built === undefined) return;
  throw usage(`The compose file builds ${printable(built[0])} from a folder, which a service does not have.`, [
    `Deploy the folder as an application: berth deploy ${printable(folder)} --build-pack dockercompose`,
    "Or name an image in place of build.",
  ]);
}

function buildsFolder({ build, profiles }: ComposeService): boolean {
  // Those of a profile are made only where it is asked for.
  if (build === undefined || build === null || (profiles ?? []).length > 0) return false;
  const context = typeof build === "string" ? build : String(build.context ?? ".");
  return !/^([a-z-]+:\/\/|git@)/.test(context);
}
