import { DomainError } from "@berth/core";

/** Fields of a package.json that a build reads. Values of an undocumented type count as absent. */
export interface PackageJson {
  readonly scripts: ReadonlyMap<string, string>;
  /** Names of all dependencies, development included. */
  readonly dependencies: ReadonlySet<string>;
  readonly main: string | undefined;
  /** `pnpm@9.1.0`, without the checksum that may follow. */
  readonly packageManager: { readonly name: string; readonly version: string } | undefined;
  readonly enginesNode: string | undefined;
  readonly hasWorkspaces: boolean;
  /** Whether it has the key `pnpm`, where older versions look for settings. */
  readonly hasPnpmSettings: boolean;
}

/** @throws DomainError `deploy.build_failed` when the text is not a JSON object. */
export function parsePackageJson(text: string): PackageJson {
  const json = parseObject(text);
  const [, name, version] = /^([a-z]+)@(\d[\w.-]*)/.exec(textOf(json.packageManager) ?? "") ?? [];
  return {
    scripts: new Map(Object.entries(objectOf(json.scripts)).flatMap(([key, value]) => pairOfText(key, value))),
    dependencies: new Set(
      [json.dependencies, json.devDependencies, json.optionalDependencies].flatMap((part) =>
        Object.keys(objectOf(part)),
      ),
    ),
    main: textOf(json.main),
    packageManager: name === undefined || version === undefined ? undefined : { name, version },
    enginesNode: textOf(objectOf(json.engines).node),
    hasWorkspaces: json.workspaces !== undefined,
    hasPnpmSettings: json.pnpm !== undefined,
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    // npm accepts a leading byte order mark, JSON.parse does not.
    const json: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (isObject(json)) return json;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DomainError(
      "deploy.build_failed",
      `package.json is not valid JSON: ${reason.slice(0, 200)}. Correct it.`,
      {
        cause,
      },
    );
  }
  throw new DomainError("deploy.build_failed", "package.json is not a JSON object. Correct it.");
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;

function pairOfText(key: string, value: unknown): [string, string][] {
  const text = textOf(value);
  return text === undefined ? [] : [[key, text]];
}
