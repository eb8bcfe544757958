import { ApplicationCreateUpload } from "@berth/core/application";
import { EnvCreate } from "@berth/core/env";
import { TokenCreate } from "@berth/core/team";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SETTING_FLAGS } from "./deploy/setting-flags.ts";
import { addFlags, flagName, flagsFor, valuesOf } from "./flags.ts";

function parsed(schema: z.ZodObject, argv: readonly string[]): Record<string, unknown> {
  const flags = flagsFor(schema);
  const command = new Command("x").exitOverride().configureOutput({ writeErr: () => {} });
  addFlags(command, flags, "Settings:");
  command.parse([...argv], { from: "user" });
  return valuesOf(flags, command.opts());
}

describe("flags of a schema", () => {
  test("are named in kebab case, whatever the field's case", () => {
    expect([flagName("build_command"), flagName("buildCommand"), flagName("url")]).toEqual([
      "build-command",
      "build-command",
      "url",
    ]);
  });

  test.each<[string, readonly string[], Record<string, unknown>]>([
    ["a text", ["--start-command", "node --watch server.js"], { start_command: "node --watch server.js" }],
    ["a text that looks like a flag", ["--start-command=--inspect"], { start_command: "--inspect" }],
    ["a switch turned on", ["--is-spa"], { is_spa: true }],
    ["a switch turned off", ["--no-is-spa"], { is_spa: false }],
    ["a number", ["--health-check-port", "8080"], { health_check_port: 8080 }],
    ["a choice", ["--redirect", "www"], { redirect: "www" }],
    [
      "an empty text as null",
      ["--build-command", "", "--health-check-port", "", "--redirect", ""],
      { build_command: null, health_check_port: null, redirect: null },
    ],
    ["JSON", ["--docker-compose-domains", '[{"name":"web"}]'], { docker_compose_domains: [{ name: "web" }] }],
    ...["apps/web", "./apps/web", "/apps/web"].map((given): [string, string[], Record<string, unknown>] => [
      `the folder ${given} of a source`,
      ["--base-directory", given, "--publish-directory", given],
      { base_directory: "/apps/web", publish_directory: "/apps/web" },
    ]),
    ["the source itself", ["--base-directory", "."], { base_directory: "/" }],
    ["a hidden file of a source", ["--dockerfile-location", ".docker/web"], { dockerfile_location: "/.docker/web" }],
    ["nothing when nothing is given", [], {}],
  ])("of an application read %s", (_title, argv, expected) => {
    expect(parsed(ApplicationCreateUpload, argv)).toEqual(expected);
  });

  test("collect a list that is repeated", () => {
    expect(parsed(TokenCreate, ["--abilities", "read", "--abilities", "deploy"])).toEqual({
      abilities: ["read", "deploy"],
    });
    expect(parsed(TokenCreate, ["--abilities", "read,deploy", "--abilities", "write"])).toEqual({
      abilities: ["read", "deploy", "write"],
    });
  });

  test.each([
    [["--health-check-port", "eighty"], "It takes a whole number."],
    [["--health-check-port", "1.5"], "It takes a whole number."],
    [["--redirect", "sideways"], "Allowed choices are both, www, non-www."],
    [["--docker-compose-domains", "{"], "It takes JSON."],
    [["--is-spa=yes"], "unknown option"],
  ])("refuse %j", (argv, message) => {
    expect(() => parsed(ApplicationCreateUpload, argv)).toThrow(message);
  });

  test("give a field without a default or description still its type", () => {
    const schema = z.strictObject({
      a: z.string(),
      b: z.number().optional(),
      c: z.boolean().nullable().default(true),
      d: z.object({}),
      e: z.array(z.enum(["read", "write"])).describe("What it may."),
    });
    expect(flagsFor(schema).map(({ name, type, isRequired, help }) => [name, type, isRequired, help])).toEqual([
      ["a", "text", true, ""],
      ["b", "number", false, ""],
      ["c", "switch", false, "Default true."],
      ["d", "json", true, ""],
      ["e", "list", true, "What it may. One or several, separated by commas, of: read, write."],
    ]);
  });

  test("describe every kind of field there is in the API's own schemas", () => {
    const kinds = new Map(
      [ApplicationCreateUpload, EnvCreate].flatMap((schema) => flagsFor(schema).map((flag) => [flag.key, flag])),
    );
    expect(kinds.get("build_pack")).toMatchObject({
      type: "text",
      choices: expect.arrayContaining(["nixpacks", "static"]),
    });
    expect(kinds.get("is_runtime")).toMatchObject({
      type: "switch",
      help: "Given to the running application. Default true.",
    });
    expect(kinds.get("limits_memory")?.help).toContain("512m");
  });

  test("of a deployment hold no secret, which an argument would show to everyone", () => {
    const keys = SETTING_FLAGS.map(({ key }) => key);
    expect(keys).toContain("build_command");
    expect(keys.filter((key) => /password|secret/.test(key))).toEqual([]);
  });
});
