// Generates the tables in docs/configuration.md, docs/errors.md and docs/permissions.md from settings, errors and
// operations; with --check only reports whether they are up to date.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ENVIRONMENT } from "../../apps/server/src/config.ts";
import {
  appRouter,
  extraText,
  type Permission,
  permissionsOf,
  sensitiveFields,
  statusOf,
} from "../../packages/api/src/index.ts";
import { ERROR_HELP, ERRORS, VERSION } from "../../packages/core/src/index.ts";

const BEGIN = "<!-- Written by `npm run docs`. -->";
const END = "<!-- End of what is written. -->";

const isCheck = process.argv.includes("--check");

await writeTable("configuration.md", ["Variable", "Default", "Meaning"], settings());
await writeTable("errors.md", ["Code", "Status", "What it means, and what to do"], errors());
await writeTable(
  "permissions.md",
  ["Operation", "Ability", "Roles", "Other teams", "Beyond it", "Hidden"],
  permissionsOf(appRouter).map(permissionRow),
);

function permissionRow(permission: Permission): readonly string[] {
  const { operation, ability, roles, extras } = permission;
  const { method, path } = operation.options;
  return [
    `\`${method} ${path}\``,
    ability === null ? "-" : `\`${ability}\``,
    ability === null ? "-" : roles.join(", "),
    ability === null ? "-" : otherTeams(permission),
    extras.map(extraText).join("; "),
    hiddenFields(sensitiveFields(operation)),
  ];
}

/** A table cell lists only some; the API description names all. */
function hiddenFields(names: readonly string[]): string {
  const shown = names.slice(0, 4).map((name) => `\`${name}\``);
  return [...shown, ...(names.length > 4 ? [`${names.length - 4} more`] : [])].join(", ");
}

function otherTeams({ isRootTeamOnly, namesObjects, rootTeamReaches }: Permission): string {
  if (isRootTeamOnly) return "root team";
  const reached = rootTeamReaches === undefined ? "" : `root team with \`${rootTeamReaches}\``;
  return [namesObjects ? "404" : "own", reached].filter((text) => text !== "").join("; ");
}

function settings(): readonly (readonly string[])[] {
  const defaults: Readonly<Record<string, unknown>> = ENVIRONMENT.parse({});
  return Object.entries(ENVIRONMENT.shape).map(([name, schema]) => {
    const value = asText(defaults[name]);
    // Omits the current version, which would change with each release.
    const shown = value === "" || value === VERSION ? "" : `\`${value}\``;
    return [`\`${name}\``, shown, descriptionOf(schema)];
  });
}

/** A value as it is written in the environment. */
function asText(value: unknown): string {
  return value instanceof Map ? [...value].map((pair) => pair.join("=")).join(",") : String(value ?? "");
}

/** Unwraps defaults and transformations to find the description. */
function descriptionOf(schema: Described): string {
  const inner = schema.def.innerType ?? schema.def.in;
  return schema.description ?? (inner === undefined ? "" : descriptionOf(inner));
}

interface Described {
  readonly description?: string | undefined;
  readonly def: { readonly type: string; readonly innerType?: Described; readonly in?: Described };
}

function errors(): readonly (readonly string[])[] {
  return Object.entries(ERRORS).map(([code, category]) => [
    `\`${code}\``,
    String(statusOf(category)),
    ERROR_HELP[code as keyof typeof ERRORS],
  ]);
}

async function writeTable(page: string, head: readonly string[], rows: readonly (readonly string[])[]): Promise<void> {
  const file = fileURLToPath(new URL(`../../docs/${page}`, import.meta.url));
  const text = await readFile(file, "utf8");
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/${page} lacks the marks of its table`);
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  const written = `${before}${BEGIN}\n${lines.join("\n")}\n${END}${after}`;
  if (written === text) return;
  if (!isCheck) return await writeFile(file, written);
  console.error(`docs/${page} differs from the code. Run \`npm run docs\` and commit the page.`);
  process.exitCode = 1;
}
