import { DomainError } from "../errors.ts";

/** How to install the programs of each language, for messages about missing ones. */
const INSTALL = {
  python3: "apt-get install python3 python3-venv",
  go: "apt-get install golang, or https://go.dev/doc/install",
  ruby: "apt-get install ruby-full build-essential",
  bundle: "apt-get install ruby-bundler ruby-dev build-essential",
  php: "apt-get install php-cli php-mbstring php-xml php-curl",
  composer: "apt-get install composer",
  cargo: "apt-get install cargo",
  mix: "apt-get install elixir",
  java: "apt-get install default-jdk-headless",
  mvn: "apt-get install maven",
  gradle: "apt-get install gradle",
  deno: "https://docs.deno.com/runtime/getting_started/installation",
  bun: "https://bun.com/docs/installation",
} as const;

/** All programs that rules may need or use. */
export const PROGRAMS = [...Object.keys(INSTALL), "python"];

/** @throws DomainError `deploy.build_failed` when the server lacks one of the programs. */
export function requirePrograms(title: string, programs: readonly string[], missing: readonly string[]): void {
  const lacking = programs.filter((program) => missing.includes(program));
  if (lacking.length === 0) return;
  const how = lacking.flatMap((program) => Object.entries(INSTALL).find(([name]) => name === program)?.[1] ?? []);
  const verb = lacking.length === 1 ? "is" : "are";
  throw new DomainError(
    "deploy.build_failed",
    `${lacking.join(" and ")} ${verb} not installed on this server: the application is recognised as ${title}. ` +
      `Install ${lacking.length === 1 ? "it" : "them"} there (for example: ${how.join("; ")}), or deploy to a server with Docker.`,
  );
}
