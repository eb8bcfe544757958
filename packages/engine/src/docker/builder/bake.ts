import type { Argv } from "../../host/argv.ts";

/** What BuildKit is asked for. Paths are absolute and on Berth's own machine. */
export interface BakeTarget {
  /** The folder that `COPY` and `ADD` take from; its `.dockerignore` is applied. */
  readonly context: string;
  readonly dockerfile: string;
  /** A stage of the Dockerfile; `null` for the last one. */
  readonly target: string | null;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Values are secrets. */
  readonly args: Readonly<Record<string, string>>;
  /** Build secrets by their id. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Build secrets whose value is a file's content, by their id. */
  readonly secretFiles: Readonly<Record<string, string>>;
  readonly isForced: boolean;
  /** Base images are looked for anew. */
  readonly isPulled?: boolean | undefined;
  /** What a compose text says of its build beyond that, as the compose specification calls it. */
  readonly more?: Readonly<Record<string, unknown>> | undefined;
}

/** A definition for `docker buildx bake` in the format of compose, and the environment that its values stand in. */
export interface Bake {
  readonly definition: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Puts every text that is not ours into the environment under a name of our own, and refers to it: nothing of a user is
 * read as a part of the definition, as an option, or as a variable of the program itself, e.g. `LD_PRELOAD`. The format
 * is that of compose, since values that go through bake's own lose bytes: it normalises Unicode.
 */
export function bakeOf(target: BakeTarget): Bake {
  const values = new Map<string, string>();
  const nameOf = (value: string): string => {
    const known = values.get(value);
    if (known !== undefined) return known;
    const name = `${VALUE_NAME}${values.size}`;
    values.set(value, name);
    return name;
  };
  const refer = (value: string): string => `\${${nameOf(value)}}`;
  const referAll = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(named(record).map(([key, value]) => [key, refer(value)]));

  const referIn = (value: unknown): unknown => {
    if (typeof value === "string") return refer(value);
    if (Array.isArray(value)) return value.map(referIn);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, referIn(item)]));
  };

  const build = {
    ...Object.fromEntries(Object.entries(target.more ?? {}).map(([key, value]) => [key, referIn(value)])),
    context: refer(target.context),
    dockerfile: refer(target.dockerfile),
    labels: referAll(target.labels),
    args: referAll(target.args),
    ...(target.target === null ? {} : { target: refer(target.target) }),
    "x-bake": {
      tags: [refer(target.image)],
      secret: [
        ...named(target.secrets).map(([id, value]) => `id=${id},env=${nameOf(value)}`),
        ...named(target.secretFiles).map(([id, file]) => `id=${id},src=${refer(file)}`),
      ],
      output: ["type=docker"],
      ...(target.isForced ? { "no-cache": true } : {}),
      ...(target.isPulled === true ? { pull: true } : {}),
    },
  };
  return {
    // JSON is YAML.
    definition: JSON.stringify({ services: { [TARGET]: { build } } }),
    env: Object.fromEntries([...values].map(([value, name]) => [name, value])),
  };
}

/**
 * Holds no text of a user: what is built stands in the definition.
 * @param buildx The program, and what stands before its own arguments.
 */
export const bakeArgv = (
  files: { readonly definition: string; readonly metadata: string; readonly isInServerNetwork?: boolean },
  buildx: Argv = ["docker", "buildx"],
): Argv => [
  ...buildx,
  "--builder",
  "default",
  "bake",
  "--progress",
  "rawjson",
  "--metadata-file",
  files.metadata,
  // It would ask whether it may.
  ...(files.isInServerNetwork === true ? ["--allow", "network.host"] : []),
  "--file",
  files.definition,
  TARGET,
];

/** Names that BuildKit takes for a label, a build argument and for the id of a secret. */
const named = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).filter(([name]) => /^[A-Za-z_][\w.-]*$/.test(name));

const TARGET = "app";
const VALUE_NAME = "BERTH_VALUE_";
