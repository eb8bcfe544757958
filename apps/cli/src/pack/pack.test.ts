import { spawnSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { extract } from "tar";
import { describe, expect, test } from "vitest";
import { Failure } from "../failure.ts";
import { type TemporaryFolder, temporaryFolder } from "../temporary-folder.fixture.ts";
import { archive, assertUploadable, LIMITS, tarBytes } from "./archive.ts";
import { walk } from "./walk.ts";

type Files = Parameters<TemporaryFolder["write"]>[0];

async function packed(files: Files, inside = ""): Promise<readonly string[]> {
  using folder = temporaryFolder(files);
  const { entries } = await walk(join(folder.path, inside));
  return entries.filter(({ stats }) => !stats.isDirectory()).map(({ path }) => path);
}

describe("what is uploaded", () => {
  test("leaves out .git, .berth and node_modules wherever they are", async () => {
    const files = {
      "index.js": "",
      ".git/config": "",
      ".berth/app.json": "",
      "node_modules/a/index.js": "",
      "packages/web/node_modules/b/index.js": "",
      "packages/web/.git": "gitdir: elsewhere",
      "packages/web/index.js": "",
      ".env.example": "",
    };
    expect(await packed(files)).toEqual([".env.example", "index.js", "packages/web/index.js"]);
  });

  test("leaves out files of variables where git does not decide, and says how to set them", async () => {
    const files = {
      ".env": "SECRET=1",
      ".env.production": "",
      ".env.example": "",
      "web/.env.local": "",
      "web/.environment": "",
      "web/x.env": "",
    };
    using folder = temporaryFolder(files);
    const { entries, leftOut, variableFiles } = await walk(folder.path);
    expect(entries.map(({ path }) => path)).toEqual([".env.example", "web", "web/.environment", "web/x.env"]);
    expect(leftOut.map((line) => line.split(":")[0])).toEqual([".env", ".env.production", "web/.env.local"]);
    expect(leftOut[0]).toContain("--env-file");
    expect(variableFiles).toEqual([]);
    expect(await packed({ ...files, ".berthignore": "!.env" })).toContain(".env");
  });

  test("names files of variables that a repository has and no ignore file mentions", async () => {
    using folder = temporaryFolder({ ".git/HEAD": "", ".env": "", "web/.env": "", "web/.gitignore": ".env" });
    const { entries, variableFiles } = await walk(folder.path);
    expect(entries.map(({ path }) => path)).toEqual([".env", "web", "web/.gitignore"]);
    expect(variableFiles).toEqual([".env"]);
    folder.write({ ".berthignore": "!.env" });
    expect((await walk(folder.path)).variableFiles).toEqual([]);
  });

  test.each<[string, Files, readonly string[]]>([
    [
      "leaves out what .gitignore says, in every folder",
      {
        ".gitignore": "dist\n*.log\n!keep.log\n",
        "dist/a": "",
        "a.log": "",
        "keep.log": "",
        "x/dist/b": "",
        "x/c": "",
      },
      [".gitignore", "keep.log", "x/c"],
    ],
    [
      "lets a nearer .gitignore bring back what a farther one left out",
      {
        ".gitignore": "*.env\nout",
        "x/.gitignore": "!.env\n!out",
        "x/.env": "",
        "y/.env": "",
        "x/out/f": "",
        "out/f": "",
      },
      [".gitignore", "x/.env", "x/.gitignore", "x/out/f"],
    ],
    [
      "lets .berthignore have the last word",
      {
        ".gitignore": "dist",
        ".berthignore": "!dist\ndocs",
        "dist/a.js": "",
        "dist/b/c.js": "",
        "docs/a.md": "",
        z: "",
      },
      [".berthignore", ".gitignore", "dist/a.js", "dist/b/c.js", "z"],
    ],
    [
      "anchors .dockerignore at the folder, as Docker does",
      { ".dockerignore": "tmp\n*.md\n**/*.log\n", "tmp/a": "", "x/tmp/a": "", "a.md": "", "x/b.md": "", "x/c.log": "" },
      [".dockerignore", "x/b.md", "x/tmp/a"],
    ],
    [
      "brings back by .dockerignore what lies in an ignored folder",
      { ".dockerignore": "*\n!src/app\n!package.json", "src/app/a.js": "", "src/b.js": "", "package.json": "", c: "" },
      [".dockerignore", "package.json", "src/app/a.js"],
    ],
    [
      "keeps what says how to build, though .dockerignore leaves it out",
      {
        ".dockerignore": "Dockerfile*\ncompose.yaml\n.dockerignore\nx",
        Dockerfile: "",
        "Dockerfile.dev": "",
        "compose.yaml": "",
        x: "",
      },
      [".dockerignore", "Dockerfile", "Dockerfile.dev", "compose.yaml"],
    ],
    [
      "reads an ignore file with a byte order mark and Windows line ends",
      { ".gitignore": "\uFEFFa\r\nb\r\n", a: "", b: "", c: "" },
      [".gitignore", "c"],
    ],
  ])("%s", async (_title, files, expected) => {
    expect(await packed(files)).toEqual(expected);
  });

  test("leaves out what the repository around the folder keeps out of git", async () => {
    const files = {
      ".git/config": "",
      ".gitignore": ".env\n/apps/web/tmp",
      "apps/web/.env": "",
      "apps/web/tmp/a": "",
      "apps/web/b": "",
    };
    expect(await packed(files, "apps/web")).toEqual(["b"]);
  });

  test("uploads a built folder that the repository around it leaves out as a whole", async () => {
    expect(await packed({ ".git/config": "", ".gitignore": "dist", "dist/index.html": "" }, "dist")).toEqual([
      "index.html",
    ]);
  });

  test("is not shaped by ignore files above a folder that is in no repository", async () => {
    expect(await packed({ ".gitignore": "*", "app/a": "" }, "app")).toEqual(["a"]);
  });
});

describe("links and special files", () => {
  test("keeps links that stay inside, absolute ones made relative, and names the ones that leave", async () => {
    using folder = temporaryFolder({
      "real/file": "1",
      "deep/er/up": { link: "../../real" },
      "real/self": { link: "file" },
      dangling: { link: "nothing/here" },
      "real/outside": { link: "../../etc/passwd" },
      absolute: { link: "/etc/passwd" },
      // As text it stays inside, but `deep/er/up` is a link that leads outside.
      "sly-target": { link: "deep/er/up/../.." },
    });
    folder.write({ "deep/inner": { link: join(folder.path, "real/file") } });
    const { entries, leftOut } = await walk(folder.path);
    const links = Object.fromEntries(
      entries.flatMap(({ path, target }) => (target === undefined ? [] : [[path, target]])),
    );
    expect(links).toEqual({
      "deep/er/up": "../../real",
      "deep/inner": "../real/file",
      "real/self": "file",
      dangling: "nothing/here",
    });
    expect(leftOut.map((line) => line.split(":")[0])).toEqual(["absolute", "real/outside", "sly-target"]);
  });

  test("does not wait at a fifo, and leaves it out", async () => {
    using folder = temporaryFolder({ a: "" });
    expect(spawnSync("mkfifo", [join(folder.path, "fifo")]).status).toBe(0);
    const { entries, leftOut } = await walk(folder.path);
    expect(entries.map(({ path }) => path)).toEqual(["a"]);
    expect(leftOut).toEqual(["fifo: neither a file, a folder nor a link"]);
  });

  test("leaves out a name that is no UTF-8", async () => {
    using folder = temporaryFolder({ a: "" });
    writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/bad`), Buffer.from([0xff])]), "");
    const { entries, leftOut } = await walk(folder.path);
    expect(entries.map(({ path }) => path)).toEqual(["a"]);
    expect(leftOut).toHaveLength(1);
  });
});

describe("the archive", () => {
  test("holds every file byte for byte, whatever it is called", async () => {
    const names = [
      "-rf",
      "@list",
      "new\nline",
      'quote"s',
      "$(touch x)",
      "back\\slash",
      "ünïcödé",
      "c:notes",
      " space ",
      "..x",
      "a".repeat(250),
    ];
    using folder = temporaryFolder(Object.fromEntries(names.map((name) => [`x/${name}`, `<${name}>`])));
    folder.write({
      "empty/": "",
      "run.sh": "#!/bin/sh\n",
      link: { link: "x/-rf" },
      "x/abs": { link: join(folder.path, "run.sh") },
    });
    chmodSync(join(folder.path, "run.sh"), 0o755);
    linkSync(join(folder.path, "run.sh"), join(folder.path, "twin.sh"));
    using target = temporaryFolder();

    const content = await walk(folder.path);
    let seen = 0;
    const bytes = await buffer(archive(folder.path, content, { onBytes: (count) => (seen = count) }));
    writeFileSync(join(target.path, "archive.tgz"), bytes);
    mkdirSync(join(target.path, "out"));
    await extract({ file: join(target.path, "archive.tgz"), cwd: join(target.path, "out"), preservePaths: true });

    const out = join(target.path, "out");
    for (const name of names) expect(readFileSync(join(out, "x", name), "utf8")).toBe(`<${name}>`);
    expect(readlinkSync(join(out, "link"))).toBe("x/-rf");
    expect(readlinkSync(join(out, "x/abs"))).toBe("../run.sh");
    expect(readFileSync(join(out, "twin.sh"), "utf8")).toBe("#!/bin/sh\n");
    // An estimate is enough for progress; extended headers of long names are not counted.
    expect(seen / tarBytes(content)).toBeGreaterThan(0.95);
  });

  test("is the same for the same content", async () => {
    using folder = temporaryFolder({ "a/b": "1", "a.txt": "2", c: "3" });
    const make = async () => await buffer(archive(folder.path, await walk(folder.path)));
    expect((await make()).equals(await make())).toBe(true);
  });

  test("fails with a reason when a file goes while it is packed", async () => {
    using folder = temporaryFolder({ a: "1", b: "2" });
    const content = await walk(folder.path);
    rmSync(join(folder.path, "b"));
    await expect(buffer(archive(folder.path, content))).rejects.toThrow("changed");
  });

  test("fails once where many files go", async () => {
    using folder = temporaryFolder(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, "x"])));
    const content = await walk(folder.path);
    for (const { path } of content.entries) rmSync(join(folder.path, path));
    const uncaught: unknown[] = [];
    const listener = (error: unknown) => void uncaught.push(error);
    process.on("uncaughtExceptionMonitor", listener);
    await expect(buffer(archive(folder.path, content))).rejects.toThrow("changed");
    await new Promise(setImmediate);
    process.off("uncaughtExceptionMonitor", listener);
    expect(uncaught).toEqual([]);
  });

  test("of too much is refused, naming what takes the room", async () => {
    using folder = temporaryFolder({
      "assets/big.bin": "x".repeat(5000),
      "src/a.js": "x".repeat(10),
      "readme.md": "x".repeat(2000),
    });
    const content = await walk(folder.path);
    const refusal = failureOf(() => assertUploadable(content, { ...LIMITS, sizeBytes: 6000 }));
    expect(refusal.message).toBe("The folder contains 7.0 kB, and at most 6.0 kB can be uploaded.");
    expect(refusal.details.map((line) => line.trim())).toEqual([
      "5.0 kB  assets/",
      "2.0 kB  readme.md",
      "10 B  src/",
      "Leave out what is not needed by a line in .berthignore.",
    ]);
    expect(failureOf(() => assertUploadable(content, { ...LIMITS, entries: 2 })).details[0]).toContain(
      "2 entries  assets/",
    );
    await expect(buffer(archive(folder.path, content, { limits: { ...LIMITS, archiveBytes: 20 } }))).rejects.toThrow(
      "more than 20 B when compressed",
    );
  });

  test("of nothing is refused", async () => {
    using folder = temporaryFolder({ "a/": "", "node_modules/x": "" });
    const content = await walk(folder.path);
    expect(failureOf(() => assertUploadable(content)).exitCode).toBe(2);
  });
});

function failureOf(action: () => void): Failure {
  try {
    action();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}
