// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what must not be expanded.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import { assertTook, took, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hasEngine, type ImageSuite, imageSuite, oneImage } from "./image.fixture.ts";

describe.skipIf(!hasEngine)("an image from a Dockerfile", () => {
  let suite: ImageSuite;
  beforeAll(() => {
    suite = imageSuite();
  });
  beforeEach(() => void suite.lines.splice(0));
  afterAll(() => suite.close());
  const refusal = async (...args: Parameters<ImageSuite["build"]>): Promise<string> => {
    const error = await suite.build(...args).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(DomainError);
    return error instanceof DomainError ? `${error.code}: ${error.message}` : "";
  };

  test("of the repository lies on the engine under the deployment's own name, with its labels", async () => {
    const { image, id } = await suite.build({
      Dockerfile: `FROM alpine:3\nCOPY a.txt /a.txt\nRUN echo "made ${suite.resourceUuid}"\nCMD ["cat","/a.txt"]\n`,
      "a.txt": "hello",
    });
    expect(image).toMatch(new RegExp(`^berth/${suite.resourceUuid}:d\\d+-${suite.resourceUuid}$`));
    expect(await suite.output(image)).toBe("hello");
    const { Config, Id } = await suite.docker.getImage(image).inspect();
    expect(id).toBe(Id);
    expect(Config.Labels).toMatchObject({
      "berth.managed": "true",
      "berth.instance": "test",
      "berth.resource": suite.resourceUuid,
    });
    expect(suite.lines).toContain(`made ${suite.resourceUuid}`);
    expect(suite.lines.join("\n")).toMatch(/\[3\/3\] RUN echo "made t/);
    expect(readdirSync(join(suite.folder, "builds"))).toEqual([]);
  });

  test("tells the TCP ports that it exposes, those of its base image too", async () => {
    const base = "FROM alpine:3\nEXPOSE 8080 443/udp 22\n";
    expect(await suite.build({ Dockerfile: base })).toMatchObject({ ports: [22, 8080] });
    expect(await suite.build({ Dockerfile: "FROM nginx:alpine\nEXPOSE 9000\n" })).toMatchObject({ ports: [80, 9000] });
    expect(await suite.build({ Dockerfile: "FROM alpine:3\n" })).toMatchObject({ ports: [] });
  });

  test("of the record is built in the place of the repository's", async () => {
    const { image } = await suite.build(
      { Dockerfile: "FROM nowhere" },
      { dockerfile: 'FROM alpine:3\nCMD ["echo","mine"]' },
    );
    expect(await suite.output(image)).toBe("mine\n");
  });

  test("takes its location, base directory and stage, and leaves out what .dockerignore names", async () => {
    const { image } = await suite.build(
      {
        "app/docker/Prod.file":
          'FROM alpine:3 AS one\nCOPY . /src\nCMD ["find","/src","-type","f"]\nFROM one\nRUN exit 1',
        "app/.dockerignore": "secret.txt\ndocker\n.dockerignore\n",
        "app/secret.txt": "no",
        "app/kept.txt": "yes",
        "outside.txt": "no",
      },
      { base_directory: "/app", dockerfile_location: "/docker/Prod.file", dockerfile_target_build: "one" },
    );
    expect(await suite.output(image)).toBe("/src/kept.txt\n");
  });

  test("takes build arguments and build secrets byte for byte, which stand in no line, argument or history", async () => {
    const canary = "c4n4ry-${x} %{if} \"q\" 's' $$ \n second";
    const seen: string[] = [];
    const timer = setInterval(() => seen.push(...commandLines()), 20);
    const { image } = await suite
      .build(
        {
          Dockerfile: [
            "FROM alpine:3",
            "ARG GREETING",
            'RUN printf %s "$GREETING" > /greeting',
            "RUN --mount=type=secret,id=TOKEN sleep 0.3; cat /run/secrets/TOKEN | od -An -tx1 | tr -d ' \\n' > /token",
          ].join("\n"),
        },
        {},
        { env: { GREETING: "a b ${c}", TOKEN: canary, LD_PRELOAD: "/x.so", "bad name": "x", "-x": "y" } },
      )
      .finally(() => clearInterval(timer));
    expect(await suite.output(image, ["cat", "/greeting"])).toBe("a b ${c}");
    expect(await suite.output(image, ["cat", "/token"])).toBe(Buffer.from(canary).toString("hex"));
    expect(seen.length).toBeGreaterThan(0);
    const history = JSON.stringify(await suite.docker.getImage(image).history());
    for (const text of [seen.join("\n"), suite.lines.join("\n"), history]) expect(text).not.toContain("c4n4ry");
  });

  test("uses the cache unless it is forced not to", async () => {
    const files = {
      Dockerfile: `FROM alpine:3\nRUN echo ${suite.resourceUuid} && head -c 8 /dev/urandom | od -An -tx1 > /id`,
    };
    const id = async (isForced: boolean) => {
      const { image } = await suite.build(files, {}, { isForced });
      return await suite.output(image, ["cat", "/id"]);
    };
    const first = await id(false);
    expect(await id(false)).toBe(first);
    expect(suite.lines.join("\n")).toContain("CACHED [2/2] RUN echo");
    expect(await id(true)).not.toBe(first);
  });

  test.each([
    [
      "a step that fails",
      "FROM alpine:3\nRUN echo oops; exit 3",
      "The build command `RUN echo oops; exit 3` exited with code 3.",
    ],
    ["a missing program", "FROM alpine:3\nRUN nosuchprogram", "A program of this name is not installed"],
    ["a mistake in it", "FROM alpine:3\nFOO bar", "dockerfile parse error line 2: unknown instruction: FOO"],
    ["a file that is not there", "FROM alpine:3\nCOPY nope /", '"/nope" not found'],
    ["an image that is not there", "FROM berth-test-nosuch/image:1", "The registry could not be reached."],
  ])("says in one sentence what went wrong with %s", async (_what, text, expected) => {
    const sentence = await refusal({ Dockerfile: text });
    expect(sentence).toContain("deploy.build_failed: ");
    expect(sentence).toContain(expected);
    expect(sentence).not.toContain("rpc error");
  });

  test.each([
    ["/../outside", {}],
    ["/link", { link: { link: "/etc/passwd" } }],
    ["/link", { link: { link: "../../../etc/hostname" } }],
    ["/folder/Dockerfile", { folder: { link: "/etc" } }],
    ["/nosuch", {}],
    ["/sub", { "sub/x": "" }],
    ["/a\0b", {}],
    ["/--help", {}],
  ])("is never taken from outside of the source: %j", async (location, files) => {
    const sentence = await refusal({ "keep.txt": "", ...files }, { dockerfile_location: location });
    expect(sentence).toMatch(/^deploy.build_failed: The Dockerfile .* (is outside of|is not a file of) the source/);
  });

  test("sends links as links: what they lead to outside of the source stays where it is", async () => {
    const { image } = await suite.build({
      Dockerfile: 'FROM alpine:3\nCOPY . /src/\nCMD ["readlink","/src/out"]',
      out: { link: "/etc/hostname" },
      ".dockerignore": "# nothing",
    });
    expect(await suite.output(image)).toBe("/etc/hostname\n");
    const sentence = await refusal({ Dockerfile: "FROM alpine:3\nCOPY out/passwd /", out: { link: "/etc" } });
    expect(sentence).toContain("not found");
  });

  test("may have names that begin with a dash, or hold quotes and line ends", async () => {
    const { image } = await suite.build(
      { "-f/--Dockerfile": 'FROM alpine:3\nCOPY . /src\nCMD ["ls","-A","/src"]', "-f/$(touch x)": "", "-f/a\nb": "" },
      { base_directory: "/-f", dockerfile_location: "/--Dockerfile" },
    );
    expect(await suite.output(image)).toContain("$(touch x)");
  });

  test("that is cancelled ends within 5 seconds and leaves nothing running", async () => {
    const abort = new AbortController();
    const mark = `4${Date.now()}`;
    const building = suite.build(
      { Dockerfile: `FROM alpine:3\nRUN echo begun && sleep ${mark}` },
      {},
      {},
      abort.signal,
    );
    building.catch(() => undefined);
    await expect.poll(() => suite.lines.includes("begun")).toBe(true);
    const isRunning = () => commandLines().some((line) => line.includes(`sleep\0${mark}`));
    await expect.poll(isRunning).toBe(true);
    const ended = async () => {
      abort.abort();
      await expect(building).rejects.toMatchObject({ code: "deploy.cancelled" });
      await until(() => !commandLines().some((line) => line.includes(mark)));
    };
    await assertTook(await took(ended), 5000);
    expect(readdirSync(join(suite.folder, "builds"))).toEqual([]);
  });

  test("goes with the deployment, or with all of its resource", async () => {
    const request = suite.request({ Dockerfile: "FROM alpine:3\nLABEL x=y" });
    const io = { signal: new AbortController().signal, onLine: () => undefined };
    const { image } = oneImage(await suite.builder.build(request, io));
    await suite.builder.removeImage(request);
    await suite.builder.removeImage(request);
    await expect(suite.docker.getImage(image).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  test("stays when it is another control plane's, whatever its name is", async () => {
    const { image } = await suite.build({ Dockerfile: "FROM alpine:3\nLABEL y=z" });
    const other = imageSuite({ instanceId: "other" });
    await other.builder.removeImages(suite.resourceUuid);
    await other.close();
    expect(await suite.docker.getImage(image).inspect()).toMatchObject({ RepoTags: [image] });
  });
});

/** Command lines of all processes on this machine. */
function commandLines(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    });
}
