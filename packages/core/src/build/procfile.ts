import { listNames } from "./listing.ts";

/** The command of the process type `web`. */
export const procfileWeb = (procfile: string | undefined): string | undefined =>
  linesOf(procfile).find(({ type }) => type === "web")?.command;

/** What to do about the process types that are not run; empty if it has `web` alone. */
export function unrunTypes(procfile: string | undefined): readonly string[] {
  const types = [...new Set(linesOf(procfile).map(({ type }) => type))].filter((type) => type !== "web");
  if (types.length === 0) return [];
  const others = types.filter((type) => type !== RELEASE);
  return [
    `Of the Procfile only the line web is run, not ${listNames(types)}.`,
    ...(others.length > 0
      ? [
          `To run ${listNames(others)} too, deploy the same source as another application with that command as its ` +
            "start_command and without a URL (berth deploy --new --name NAME --start-command COMMAND " +
            "--no-autogenerate-domain).",
        ]
      : []),
    ...(types.includes(RELEASE)
      ? [
          "To run release with each deployment, set post_deployment_command (--post-deployment-command), which runs " +
            "in the new release, or pre_deployment_command, which runs in the one before.",
        ]
      : []),
  ];
}

/** Runs once for each deployment. */
const RELEASE = "release";

function linesOf(procfile = "") {
  return procfile.split("\n").flatMap((line) => {
    const [, type = "", command = ""] = /^([\w-]+)[ \t]*:(.*)$/.exec(line.trimEnd()) ?? [];
    return command.trim() === "" ? [] : [{ type, command: command.trim() }];
  });
}
