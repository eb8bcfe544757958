/** Reads labels, one `name=value` per line. Lines without a name are skipped. */
export function readLabels(text: string | null): Readonly<Record<string, string>> {
  const lines = (text ?? "").split("\n").map((line) => line.trim().replace(/^- /, ""));
  return Object.fromEntries(
    lines
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const [, name = line, value = ""] = /^([^=]*)=(.*)$/s.exec(line) ?? [];
        return [name.trim(), value];
      }),
  );
}

/** Problems by field, as in the answer to an invalid request. */
export function labelProblems({
  custom_labels: text,
}: {
  readonly custom_labels?: string | null | undefined;
}): Record<string, readonly string[]> {
  const names = Object.keys(readLabels(text ?? null));
  const taken = RESERVED.find(({ prefix }) => names.some((name) => name.toLowerCase().startsWith(prefix)));
  const isOdd = names.some((name) => name === "" || name.length > NAME_LENGTH_MAX || /[\p{Cc}\s]/u.test(name));
  if (taken !== undefined) {
    return { custom_labels: [`Labels that begin with ${taken.prefix} are reserved for ${taken.owner}.`] };
  }
  return isOdd ? { custom_labels: ["Write one label per line, as name=value; names cannot contain spaces."] } : {};
}

/**
 * The value of a label whose `$` are not escaped: `$NAME` and `${NAME}` become the application's variables, or
 * nothing where it has none of that name; `$$` becomes `$`.
 */
export const interpolateLabel = (value: string, env: Readonly<Record<string, string>>): string =>
  value.replace(
    /\$(?:\$|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g,
    (match, braced: string | undefined, plain: string | undefined) => {
      const name = braced ?? plain;
      if (name === undefined) return match === "$$" ? "$" : match;
      return Object.hasOwn(env, name) ? (env[name] ?? "") : "";
    },
  );

const RESERVED = [
  { prefix: "berth.", owner: "Berth" },
  // By these, docker compose finds the containers of a stack.
  { prefix: "com.docker.compose.", owner: "docker compose" },
  { prefix: "com.docker.swarm.", owner: "Docker Swarm" },
] as const;
const NAME_LENGTH_MAX = 255;
