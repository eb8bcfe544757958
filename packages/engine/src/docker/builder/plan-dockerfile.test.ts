import { detectPlan, sourceFacts } from "@berth/core/build";
import { BUILD_CONFIG } from "@berth/core/testing";
import { describe, expect, test } from "vitest";
import { planDockerfile } from "./plan-dockerfile.ts";

function dockerfile(
  files: Readonly<Record<string, string>>,
  {
    env = {},
    way = "",
    start,
    others = {},
  }: { env?: Record<string, string>; way?: string; start?: string; others?: Record<string, string> } = {},
): string {
  const texts = new Map(Object.entries(files));
  const facts = sourceFacts({ paths: [...texts.keys()], texts, missingPrograms: [] });
  const config = { ...BUILD_CONFIG, start_command: start ?? null };
  const plan = detectPlan(facts, config);
  const replacements = new Map(Object.entries(others));
  return planDockerfile({ plan, facts, config, env, way, secretsHash: "hash", cacheId: "berth-app", replacements })
    .text;
}

const instructions = (text: string, name: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(`${name} `));

describe("the images of a generated Dockerfile", () => {
  test.each<[string, Record<string, string>, string[]]>([
    ["Node", { "package.json": '{"main":"a.js","engines":{"node":"^22"}}' }, ["node:22-alpine"]],
    ["Bun", { "package.json": '{"main":"a.js"}', "bun.lock": "" }, ["oven/bun:1"]],
    ["Python", { "app.py": "", ".python-version": "3.12.4" }, ["python:3.12-slim"]],
    ["Go", { "go.mod": "module x", "main.go": "" }, ["golang:1-trixie", "buildpack-deps:trixie-curl"]],
    [
      "Rust",
      { "Cargo.toml": '[package]\nname = "x"', "src/main.rs": "" },
      ["rust:1-trixie", "buildpack-deps:trixie-curl"],
    ],
    ["Ruby", { Gemfile: 'ruby "3.3.1"\n', "config.ru": "" }, ["ruby:3.3"]],
    ["PHP", { "index.php": "" }, ["dunglas/frankenphp:1-php8.4"]],
    ["Elixir", { "mix.exs": "app: :shop," }, ["elixir:1.18"]],
    ["Java with Maven", { "pom.xml": "" }, ["maven:3-eclipse-temurin-21", "eclipse-temurin:21-jre"]],
    ["Java with Gradle", { "build.gradle": "" }, ["gradle:jdk21", "eclipse-temurin:21-jre"]],
    ["Java with a wrapper", { "pom.xml": "", mvnw: "" }, ["eclipse-temurin:21-jdk", "eclipse-temurin:21-jre"]],
    ["Deno", { "deno.json": "{}", "main.ts": "" }, ["denoland/deno:2"]],
  ])("of %s are %j", (_name, files, expected) => {
    const from = instructions(dockerfile(files), "FROM").map((line) => line.split(" ")[1]);
    expect(from).toEqual(expected);
  });

  test("are those that build variables name, and one alone is built and run in", () => {
    const go = { "go.mod": "module x", "main.go": "" };
    const own = { BERTH_BASE_IMAGE: "registry.example:5000/go:1" };
    expect(instructions(dockerfile(go, { env: own }), "FROM")).toEqual(["FROM registry.example:5000/go:1 AS build"]);
    const both = { ...own, BERTH_RUN_IMAGE: "debian:trixie-slim" };
    expect(instructions(dockerfile(go, { env: both }), "FROM")[1]).toBe("FROM debian:trixie-slim");
  });

  test("are the operator's for every application, unless its build variables name others", () => {
    const go = { "go.mod": "module x", "main.go": "" };
    const others = { golang: "registry.example:5000/go", "buildpack-deps:trixie-curl": "registry.example/run" };
    const from = (env = {}) => instructions(dockerfile(go, { others, env }), "FROM");
    expect(from()).toEqual(["FROM registry.example:5000/go:1-trixie AS build", "FROM registry.example/run"]);
    expect(from({ BERTH_BASE_IMAGE: "golang:1" })).toEqual(["FROM golang:1 AS build"]);
    const tagged = dockerfile({ "app.py": "" }, { others: { python: "registry.example/python:3.13" } });
    expect(instructions(tagged, "FROM")).toEqual(["FROM registry.example/python:3.13 AS build"]);
  });

  test.each(["x\nRUN id", "x AS y", "$(id)", "--platform=x y"])(
    "are none of a variable that is no name: %j",
    (value) => {
      expect(() => dockerfile({ "app.py": "" }, { env: { BERTH_BASE_IMAGE: value } })).toThrow(
        "The build variable BERTH_BASE_IMAGE is not the name of an image.",
      );
    },
  );

  test("bring Node along where it builds another language's assets", () => {
    const text = dockerfile({
      "composer.json": '{"require":{"php":"^8.3"}}',
      "public/index.php": "",
      "package.json": '{"scripts":{"build":"vite build"}}',
    });
    expect(instructions(text, "FROM")[0]).toBe("FROM node:24-slim AS node");
    expect(text).toContain('COPY --from=node ["/usr/local/bin/node", "/usr/local/bin/"]');
    expect(text).toContain('install-php-extensions \\"$@\\"; fi","install","@composer","zip"]');
  });
});

test("a compiled program runs without what built it, and without the check of its base image", () => {
  const lines = dockerfile({ "go.mod": "module x", "main.go": "" }, { way: "" }).trimEnd().split("\n");
  expect(lines.slice(-5)).toEqual([
    "FROM buildpack-deps:trixie-curl",
    'COPY --from=build ["/app/", "/app/"]',
    "WORKDIR /app",
    "HEALTHCHECK NONE",
    'CMD ["/bin/sh","-c","exec ./.berth/app"]',
  ]);
});

test("a user's text stays one element of a list", () => {
  const start = 'echo "\nRUN id" $(id)';
  const text = dockerfile({ "app.py": "" }, { start });
  expect(text.split("\n").some((line) => line.startsWith("RUN id"))).toBe(false);
  expect(instructions(text, "CMD")).toHaveLength(1);
});

describe("the order of a generated Dockerfile", () => {
  const kinds = (text: string): string[] =>
    text.split("\n").flatMap((line) => {
      if (line.startsWith("COPY ")) return [line];
      const step = /"berth-step-\d+-hash","env",(.*)\]$/.exec(line)?.[1];
      return step === undefined ? [] : [`RUN ${step}`];
    });

  test("installs from manifests and lockfiles before the other files are copied, each name as a pattern", () => {
    const files = { "package.json": '{"main":"a.js","dependencies":{"x":"1"},"scripts":{"build":"make"}}' };
    const text = dockerfile({ ...files, "package-lock.json": "{}" }, { way: "apps/web" });
    expect(kinds(text)).toEqual([
      'COPY ["apps/web/package.jso[n]","apps/web/package-lock.jso[n]","/app/apps/web/"]',
      'RUN "npm_config_include=dev","npm","ci"',
      'COPY [".", "/app/"]',
      'RUN "npm","run","build"',
    ]);
  });

  test("copies manifests of a folder into that folder, and compiles dependencies before the sources are there", () => {
    const mix = 'app: :shop,\ndeps: [{:plug, "1"}]';
    const text = dockerfile({ "mix.exs": mix, "config/config.exs": "import Config\n" });
    expect(kinds(text)).toEqual([
      'COPY ["mix.ex[s]","/app/"]',
      'COPY ["config/config.ex[s]","/app/config/"]',
      'RUN "MIX_ENV=prod","mix","local.hex","--force","--if-missing"',
      'RUN "MIX_ENV=prod","mix","local.rebar","--force","--if-missing"',
      'RUN "MIX_ENV=prod","mix","deps.get","--only","prod"',
      'RUN "MIX_ENV=prod","mix","deps.compile"',
      'COPY [".", "/app/"]',
      'RUN "MIX_ENV=prod","mix","release","--overwrite"',
    ]);
  });

  test("copies everything first where an installation may read any file", () => {
    const text = dockerfile({ "package.json": '{"main":"a.js","dependencies":{"x":"file:x"}}' });
    expect(kinds(text)).toEqual(['COPY [".", "/app/"]', 'RUN "npm_config_include=dev","npm","install"']);
  });
});
