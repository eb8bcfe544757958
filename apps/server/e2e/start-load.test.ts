import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { freshBuild } from "../../../tooling/build/fresh.mjs";

/** Of `tooling/build/start-load.mjs`. */
interface StartLoad {
  readonly bytes: number;
  readonly packages: readonly string[];
}

const load = (): StartLoad => JSON.parse(readFileSync(join(freshBuild("server"), "start-load.json"), "utf8")).main;

/**
 * Packages that a start loads. Each costs every instance memory and time, so what only some need is imported lazily: a
 * new name here needs a reason.
 */
const PACKAGES: readonly string[] = [
  "@fastify/cors",
  "@fastify/static",
  "@fastify/websocket",
  "@trpc/server",
  "async-mutex",
  "croner",
  "dockerode",
  "fastify",
  // Always was: its main file only passes on what others contain, and is not seen. Its helper for JSON is.
  "kysely",
  "otpauth",
  "p-limit",
  "pg",
  "yaml",
  "zod",
];
const BYTES_MAX = 3_000_000;

describe("a start of the server loads", () => {
  it("only these packages", () => {
    expect(load().packages).toEqual(PACKAGES);
  });

  it("no module of Node by import, which would read all of its names and load what these need", () => {
    const folder = freshBuild("server");
    const programs = readdirSync(folder).filter((name) => name.endsWith(".js"));
    const imported = programs.flatMap((name) => [
      ...readFileSync(join(folder, name), "utf8").matchAll(/\bfrom ?"(node:[^"]+)"/g),
    ]);
    expect(new Set(imported.map(([, builtin]) => builtin))).toEqual(new Set(["node:module"]));
  });

  it("at most this much script, and not much less than the budget says", () => {
    const { bytes } = load();
    expect(bytes).toBeLessThan(BYTES_MAX);
    expect(bytes).toBeGreaterThan(BYTES_MAX * 0.85);
  });
});
