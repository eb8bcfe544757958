import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { isDomainError } from "@berth/core";
import { type BuildPlan, FILE_DEPTH, findPlan, isRead, sourceFacts, unrecognised } from "@berth/core/build";
import { Failure } from "../failure.ts";
import type { Content } from "../pack/walk.ts";
import { printable } from "../printable.ts";

/** What is uploaded, as the rules see it that the server builds by. */
export interface RecognisedFolder {
  /** `undefined`: nothing says how to start it. */
  readonly plan: BuildPlan | undefined;
  /** The error for a folder that nothing recognises, with its remedies. */
  refusal(): Failure;
}

/**
 * Reads the folder before anything is made of it.
 * @param settings Those that the application is created with.
 * @throws Failure when a file that says how to start it cannot be read
 */
export async function recognised(
  folder: string,
  { entries }: Content,
  settings: Readonly<Record<string, unknown>>,
): Promise<RecognisedFolder> {
  const text = (key: string) => (typeof settings[key] === "string" ? settings[key] : null);
  const base = posix.join("/", text("base_directory") ?? "/", "/").slice(1);
  const paths = entries
    .filter(({ path }) => path.startsWith(base))
    .map(({ path, stats }) => `${path.slice(base.length)}${stats.isDirectory() ? "/" : ""}`)
    .filter((path) => path !== "" && path.replace(/\/$/, "").split("/").length <= FILE_DEPTH);
  const read = entries.filter(
    ({ path, stats }) => path.startsWith(base) && stats.isFile() && isRead(path.slice(base.length)),
  );
  const texts = new Map(
    await Promise.all(
      read.map(async ({ path }) => [path.slice(base.length), await readFile(join(folder, path), "utf8")] as const),
    ),
  );
  const config = {
    build_pack: "nixpacks",
    base_directory: text("base_directory") ?? "/",
    publish_directory: text("publish_directory"),
    install_command: text("install_command"),
    build_command: text("build_command"),
    start_command: text("start_command"),
    is_static: settings.is_static === true,
    is_spa: settings.is_spa === true,
  } as const;
  try {
    const facts = sourceFacts({ paths, texts, missingPrograms: [] });
    return {
      plan: findPlan(facts, config),
      refusal: () => new Failure(printable(unrecognised(facts, config).message)),
    };
  } catch (cause) {
    if (!isDomainError(cause, "deploy.build_failed")) throw cause;
    throw new Failure(printable(cause.message), { cause });
  }
}
