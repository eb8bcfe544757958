import { z } from "zod";
import type { DatabaseFile, EngineField } from "../database/engine/row.ts";

const SCRIPTS_MAX = 50;
const CHARACTERS_MAX = 262_144;
const ALL_CHARACTERS_MAX = 1_048_576;
const FILENAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/** A script that a new database runs at its first start. */
export const InitScript = z
  .object({
    index: z.int().describe("Its position among the scripts, from 0."),
    filename: z.string(),
    content: z.string(),
  })
  .meta({ id: "InitScript", description: "A script that a database runs when it starts for the first time." });
export type InitScript = z.infer<typeof InitScript>;

export const InitScriptsInput = z
  .array(
    z.strictObject({
      filename: z
        .string()
        .regex(FILENAME, "A name such as schema.sql: letters, digits, _, . and -, beginning with a letter or digit.")
        .describe("Its extension determines how it is run."),
      content: z
        .string()
        .max(CHARACTERS_MAX, `At most ${CHARACTERS_MAX} characters.`)
        .refine((text) => !text.includes("\0"), "Must not contain NUL.")
        .describe("Plain text."),
      index: z
        .int()
        .min(0)
        .max(9999)
        .optional()
        .describe("Its position among the scripts. Default: the order in which they are sent."),
    }),
  )
  .max(SCRIPTS_MAX, `At most ${SCRIPTS_MAX} scripts.`)
  .refine(
    (scripts) => new Set(scripts.map(({ filename }) => filename)).size === scripts.length,
    "Each script needs a different name.",
  )
  .refine(
    (scripts) => scripts.reduce((sum, { content }) => sum + content.length, 0) <= ALL_CHARACTERS_MAX,
    `At most ${ALL_CHARACTERS_MAX} characters in total.`,
  );
type InitScriptsInput = z.infer<typeof InitScriptsInput>;

/** Problems of the file names: the engine runs only files with its extensions. */
export function scriptProblems({ options = [] }: EngineField, scripts: InitScriptsInput): readonly string[] {
  const isRun = (filename: string) => options.some((extension) => filename.endsWith(extension));
  return scripts
    .filter(({ filename }) => !isRun(filename))
    .map(({ filename }) => `${filename} would not be run: its name must end with ${options.join(" or ")}.`);
}

/** The stored form of scripts, in the order in which they run. */
export const keptScripts = (scripts: InitScriptsInput): string =>
  JSON.stringify(
    scripts
      .map((script, at) => ({ ...script, place: script.index ?? at }))
      .sort((a, b) => a.place - b.place)
      .map(({ filename, content }, index): InitScript => ({ index, filename, content })),
  );

/** @param kept Written by `keptScripts`. */
export const initScripts = (kept: string | null | undefined): readonly InitScript[] =>
  // Only `keptScripts` writes this value.
  kept ? (JSON.parse(kept) as readonly InitScript[]) : [];

/** Drops the scripts of a database that already has data. */
export function withoutScripts<Secrets extends Readonly<Record<string, string>>>({
  init_scripts: _scripts,
  ...secrets
}: Secrets) {
  return secrets;
}

/** Files for the image, which runs them in the order of their names. */
export const scriptFiles = (kept: string | null | undefined): readonly DatabaseFile[] =>
  initScripts(kept).map(({ index, filename, content }) => ({
    path: `/docker-entrypoint-initdb.d/${String(index).padStart(4, "0")}-${filename}`,
    text: content,
    isSecret: true,
  }));
