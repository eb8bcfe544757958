import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Files, hasEngine, type ImageSuite, imageSuite } from "./image.fixture.ts";

describe.skipIf(!hasEngine)("an image without a Dockerfile", () => {
  let suite: ImageSuite;
  beforeAll(() => {
    suite = imageSuite();
  });
  beforeEach(() => void suite.lines.splice(0));
  afterAll(() => suite.close());
  const nixpacks = { build_pack: "nixpacks" } as const;

  test("runs what npm start runs, with no other tool", async () => {
    const { image } = await suite.build(
      {
        "package.json": JSON.stringify({ name: "x", scripts: { start: "node server.js" } }),
        "server.js": 'console.log("serving", process.env.NODE_ENV)',
      },
      nixpacks,
    );
    expect(await suite.output(image)).toBe("serving production\n");
    expect(suite.lines).toContain("Detected Node.js (npm)");
    expect(suite.lines.join("\n")).not.toContain("--mount");
  });

  test("is built with the variables of the build, which stay out of it and out of the log", async () => {
    const source: Files = {
      "package.json": JSON.stringify({ name: "x", scripts: { build: "node build.js", start: "cat made.txt" } }),
      "build.js":
        'require("fs").writeFileSync("made.txt", require("crypto").createHash("sha256").update(process.env.KEY).digest("hex"))',
    };
    const made = async (KEY: string) => {
      const { image } = await suite.build(source, nixpacks, { env: { KEY, PATH: "/nowhere", HOME: "/x" } });
      const kept = JSON.stringify([
        await suite.docker.getImage(image).history(),
        await suite.docker.getImage(image).inspect(),
      ]);
      for (const text of [kept, suite.lines.join("\n")]) expect(text).not.toContain("c4n4ry");
      expect(await suite.output(image, ["ls", "/run/secrets"])).not.toContain("berth");
      return await suite.output(image);
    };
    const first = await made("c4n4ry 'one' $x");
    expect(first).toMatch(/^[a-f0-9]{64}$/);
    expect(await made("c4n4ry two")).not.toBe(first);
  });

  test("takes commands of its own, from the folder that is named, with the names that users give", async () => {
    const { image } = await suite.build(
      { "apps/web one/x": "", "apps/web/index.js": "", "apps/web/package.json": "{}" },
      {
        ...nixpacks,
        base_directory: "/apps/web",
        install_command: 'echo "installs <<EOF"',
        build_command: "pwd > where.txt && echo '$HOME \"\\ ]' >> where.txt",
        start_command: "cat where.txt",
      },
    );
    expect(await suite.output(image)).toBe('/app/apps/web\n$HOME "\\ ]\n');
  });

  test("names the command that failed", async () => {
    const source = { "package.json": JSON.stringify({ name: "x", scripts: { build: "exit 4", start: "node ." } }) };
    await expect(suite.build(source, nixpacks)).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: "The build command `npm run build` exited with code 4.",
    });
  });

  test("serves with a configuration that names a host which only the server knows", async () => {
    const own = "server { listen 80; location / { proxy_pass http://api-of-mine:3000; } }";
    const config = { build_pack: "static", custom_nginx_configuration: own } as const;
    await expect(suite.build({ "index.html": "x" }, config)).resolves.toMatchObject({ type: "image" });
  });

  test("says what is missing when nothing is recognised", async () => {
    await expect(suite.build({ "main.xyz": "" }, nixpacks)).rejects.toMatchObject({
      code: "deploy.unrecognised",
      message: expect.stringContaining("It is not clear how to start this"),
    });
  });

  test("serves static files, and neither hidden ones nor what .dockerignore names", async () => {
    const { image } = await suite.build(
      {
        "public/index.html": "home",
        "public/.dockerignore": "drafts",
        "public/drafts/x.html": "no",
        "public/.env": "no",
        "public/.well-known/security.txt": "yes",
        "other.txt": "no",
      },
      { build_pack: "static", publish_directory: "/public", ports_exposes: "8080" },
    );
    const paths = ["/", "/.env", "/.well-known/security.txt", "/nosuch", "/drafts/x.html", "/other.txt"];
    const answers = await suite.served(image, 8080, paths);
    expect(answers).toEqual(["200 home", "404", "200 yes", "404", "404", "404"]);
  });

  test("answers unknown paths of a single-page application with its index", async () => {
    const { image } = await suite.build({ "index.html": "spa" }, { build_pack: "static", is_spa: true });
    expect(await suite.served(image, 80, ["/a/b", "/"])).toEqual(["200 spa", "200 spa"]);
  });

  test("serves with the user's own configuration, and says when nginx refuses it", async () => {
    const own = `server { listen 80; location / { return 200 "own 'x' $request_method"; } }`;
    const { image } = await suite.build(
      { "index.html": "x" },
      { build_pack: "static", custom_nginx_configuration: own },
    );
    expect(await suite.served(image, 80, ["/"])).toEqual(["200 own 'x' GET"]);
    const broken = { build_pack: "static", custom_nginx_configuration: "server { nonsense }" } as const;
    await expect(suite.build({ "index.html": "x" }, broken)).rejects.toMatchObject({ code: "deploy.build_failed" });
    expect(suite.lines.join("\n")).toContain('unexpected "}" in /etc/nginx/conf.d/default.conf');
  });

  test("serves what a build has made, from the first folder that has an index.html", async () => {
    const { image } = await suite.build(
      {
        "package.json": JSON.stringify({ name: "x", scripts: { build: "mkdir dist && echo built > dist/index.html" } }),
      },
      { ...nixpacks, is_static: true },
    );
    expect(await suite.output(image, ["cat", "/usr/share/nginx/html/index.html"])).toBe("built\n");
  });

  test.each(["ln -s /etc dist", "ln -s ../../.. dist"])(
    "publishes nothing that a build leads out to: %s",
    async (build) => {
      const config = { ...nixpacks, is_static: true, publish_directory: "/dist" };
      const source = { "package.json": JSON.stringify({ name: "x", scripts: { build } }) };
      await expect(suite.build(source, config)).rejects.toMatchObject({ code: "deploy.build_failed" });
    },
  );

  test("is refused for a base directory that is outside of the source", async () => {
    const building = suite.build({ out: { link: "/etc" } }, { ...nixpacks, base_directory: "/out" });
    await expect(building).rejects.toMatchObject({ message: expect.stringContaining("is outside of the source") });
  });
});
