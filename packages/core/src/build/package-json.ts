import { isObject, parseJsonObject } from "./json-object.ts";

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
  const json = parseJsonObject(text, "package.json");
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

const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;

function pairOfText(key: string, value: unknown): [string, string][] {
  const text = textOf(value);
  return text === undefined ? [] : [[key, text]];
}
