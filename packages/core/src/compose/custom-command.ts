const COMMANDS = { build: "build", start: "up" } as const;

/** What Berth's own way of doing it comes to as well, so that nothing is lost when it goes its own way. */
const FLAGS: Readonly<Record<keyof typeof COMMANDS, ReadonlySet<string>>> = {
  build: new Set(["--pull", "--quiet", "-q"]),
  start: new Set(["-d", "--detach", "--build", "--no-build", "--wait", "--remove-orphans", "--quiet-pull"]),
};

/** Before the command: where the file is, which is a setting of its own, and how it is told. */
const OPTIONS: ReadonlySet<string> = new Set(["-f", "--file", "--project-directory", "--progress", "--ansi"]);

/**
 * Why a command in the place of Berth's own cannot be obeyed, in a sentence; `undefined`: it asks for nothing else. No
 * shell reads it, and it is not run: a compose file is built and started with what Berth knows of the server, and a
 * command that meant something else must not be passed over in silence.
 * @param location Of the compose file.
 */
export function customCommandProblem(
  step: keyof typeof COMMANDS,
  text: string | null | undefined,
  location: string,
): string | undefined {
  if (!text) return undefined;
  const words = text.trim().split(/\s+/);
  const [program, plugin, ...rest] = words[0] === "docker-compose" ? ["docker", "compose", ...words.slice(1)] : words;
  const own = `docker compose ${COMMANDS[step]}`;
  if (program !== "docker" || plugin !== "compose") return `Only ${own} can be asked for, without a shell.`;
  const foreign = foreignWord(step, rest, location);
  if (foreign === undefined) return undefined;
  const shown = foreign.slice(0, 100).replace(/\p{C}/gu, "?");
  const allowed = [...FLAGS[step]].filter((flag) => flag.startsWith("--")).join(", ");
  return `Berth runs ${own} by itself and cannot obey ${shown || "a command without it"}. Leave the field empty, or use only ${allowed}.`;
}

/** The first that asks for something else; empty when the command itself is missing. */
function foreignWord(step: keyof typeof COMMANDS, words: readonly string[], location: string): string | undefined {
  let at = 0;
  for (; at < words.length && words[at]?.startsWith("-"); at += 1) {
    const [option = "", inline] = (words[at] ?? "").split("=", 2);
    if (!OPTIONS.has(option)) return option;
    if (inline === undefined) at += 1;
    const value = inline ?? words[at] ?? "";
    const isFile = option === "-f" || option === "--file";
    if (isFile && plainPath(value) !== plainPath(location)) return `${option} ${value}`;
    if (option === "--project-directory" && plainPath(value) !== "") return `${option} ${value}`;
  }
  if (words[at] !== COMMANDS[step]) return words[at] ?? "";
  return words.slice(at + 1).find((word) => !FLAGS[step].has(word));
}

const plainPath = (path: string): string => path.replace(/^(\.?\/)+/, "").replace(/^\.$/, "");
