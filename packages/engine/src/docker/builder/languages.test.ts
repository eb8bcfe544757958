import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { detectPlan } from "@berth/core/build";
import { BUILD_CONFIG } from "@berth/core/testing";
import { describeDocker } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readFacts } from "../../builder/facts.ts";
import { type Files, hasEngine, type ImageSuite, imageSuite } from "./image.fixture.ts";

const EXAMPLES = join(import.meta.dirname, "../../../../../examples/languages");

function example(name: string): Files {
  const folder = join(EXAMPLES, name);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

test.each([
  ["bun", "Bun (bun)"],
  ["deno", "Deno"],
  ["elixir", "Elixir"],
  ["go", "Go"],
  ["java", "Java (Maven)"],
  ["php", "PHP"],
  ["python", "Python"],
  ["ruby", "Ruby"],
  ["rust", "Rust"],
])("the example of %s is recognised as %s", async (name, detected) => {
  const folder = join(EXAMPLES, name);
  expect(detectPlan(await readFacts(folder, folder), BUILD_CONFIG).detected).toBe(detected);
});

describe.skipIf(!hasEngine)("a language of Berth's own rules", () => {
  let suite: ImageSuite;
  beforeAll(() => {
    suite = imageSuite({ path: "/usr/bin:/bin" });
  });
  afterAll(() => suite.close());

  test.each([
    ["python", "Hello from Python\n"],
    ["php", "Hello from PHP\n"],
    ["ruby", "Hello from Ruby\n"],
    ["bun", "Hello from Bun\n"],
    ["deno", "Hello from Deno\n"],
  ])("answers from the image that was built for it: %s", async (name, text) => {
    const { image } = await suite.build(example(name), { build_pack: "nixpacks" });
    expect(await suite.served(image, 8080, ["/"], { PORT: "8080" })).toEqual([`200 ${text}`]);
    const { Config } = await suite.docker.getImage(image).inspect();
    expect(Config.Healthcheck?.Test ?? ["NONE"]).toEqual(["NONE"]);
  });

  test("installs dependencies once, however often other files change", async () => {
    const source = (text: string, requirements = "") => ({
      "requirements.txt": requirements,
      ".dockerignore": "*.md\n.python-version\n",
      ".python-version": "3.13\n",
      "main.py": `print("${text}")\n`,
    });
    const INSTALLS = /^(CACHED )?\[.*\$ .venv\/bin\/python -m pip install/;
    const built = async (files: Files) => {
      suite.lines.splice(0);
      const { image } = await suite.build(files, { build_pack: "nixpacks" });
      const installs = suite.lines.filter((line) => INSTALLS.test(line)).at(-1) ?? "";
      return { isCached: installs.startsWith("CACHED "), output: await suite.output(image) };
    };
    expect(await built(source("one"))).toEqual({ isCached: false, output: "one\n" });
    expect(await built(source("two"))).toEqual({ isCached: true, output: "two\n" });
    expect(await built(source("two", "# changed\n"))).toEqual({ isCached: false, output: "two\n" });
  });

  test("runs a compiled program in another image than the one that built it, as build variables name them", async () => {
    // A compiler takes a minute on a small machine: this one only writes where it is told to.
    const go =
      "#!/bin/sh\nmkdir .berth && printf '#!/bin/sh\\necho made by go\\n' >.berth/app && chmod +x .berth/app\n";
    const image = "FROM alpine:3\nCOPY go /usr/local/bin/go\nRUN chmod +x /usr/local/bin/go\n";
    const compiler = await suite.build({ Dockerfile: image, go });
    const env = { BERTH_BASE_IMAGE: compiler.image, BERTH_RUN_IMAGE: "busybox:stable" };
    const source = { "go.mod": "module x\n", "main.go": "package main\n", "vendor/modules.txt": "" };
    const made = await suite.build(source, { build_pack: "nixpacks" }, { env });
    expect(await suite.output(made.image)).toBe("made by go\n");
    expect(await suite.output(made.image, ["/bin/sh", "-c", "command -v go || ls /app"])).toContain("main.go");
  });

  test("is built in the operator's image in place of the usual one, and runs in it", async () => {
    const marked = await suite.build({ Dockerfile: "FROM python:3.13-slim\nRUN echo mirrored >/etc/base\n" });
    const mirror = `mirror.invalid/${suite.resourceUuid}/python`;
    await suite.docker.getImage(marked.image).tag({ repo: mirror, tag: "3.13-slim" });
    const mirrored = imageSuite({ path: "/usr/bin:/bin", replacements: new Map([["python", mirror]]) });
    try {
      const { image } = await mirrored.build(example("python"), { build_pack: "nixpacks" });
      expect(await mirrored.output(image, ["cat", "/etc/base"])).toBe("mirrored\n");
      expect(await mirrored.served(image, 8080, ["/"], { PORT: "8080" })).toEqual(["200 Hello from Python\n"]);
      // An image that an application's own Dockerfile names is its own matter.
      const own = await mirrored.build({ Dockerfile: "FROM python:3.13-slim\nCMD ls /etc/base\n" });
      expect(await mirrored.output(own.image)).toContain("No such file");
    } finally {
      await mirrored.close();
      await suite.docker.getImage(`${mirror}:3.13-slim`).remove();
    }
  });

  test("is built in the image that a build variable names", async () => {
    const env = { BERTH_BASE_IMAGE: "nosuch.example/python:1" };
    await expect(suite.build(example("python"), { build_pack: "nixpacks" }, { env })).rejects.toThrow(
      /nosuch\.example/,
    );
  });
});

// Their images are not in the default set: `tooling/docker/images.sh languages` makes stand-ins.
const COMPILERS = [
  ["go", "Hello from Go\n", ["golang:1-trixie", "buildpack-deps:trixie-curl"]],
  ["rust", "Hello from Rust\n", ["rust:1-trixie", "buildpack-deps:trixie-curl"]],
  ["elixir", "Hello from Elixir\n", ["elixir:1.18"]],
  ["java", "Hello from Java\n", ["maven:3-eclipse-temurin-17", "eclipse-temurin:17-jre"]],
] as const;

for (const [name, text, images] of COMPILERS) {
  describeDocker(`the compiler of ${name}`, images, () => {
    let suite: ImageSuite;
    beforeAll(() => {
      suite = imageSuite({ path: "/usr/bin:/bin" });
    });
    afterAll(() => suite.close());

    test("makes a program that answers from the image that was built for it", async () => {
      const { image } = await suite.build(example(name), { build_pack: "nixpacks" });
      expect(await suite.served(image, 8080, ["/"], { PORT: "8080" })).toEqual([`200 ${text}`]);
    });
  });
}
