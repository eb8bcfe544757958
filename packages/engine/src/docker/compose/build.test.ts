import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { StackArtifact } from "@berth/core/deploy";
import { localHost } from "@berth/host";
import { describeDocker } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { imageSuite } from "../builder/image.fixture.ts";
import { type DockerWorld, dockerWorld, io } from "../docker.fixture.ts";
import { stackSpec } from "./stack.fixture.ts";
import { composeTool } from "./tool.ts";

const TEXT = `
services:
  web:
    build: { context: ., args: { MESSAGE: "$MESSAGE" }, labels: { "berth.instance": mine } }
    command: [httpd, -f, -p, "8080", -h, /www]
    env_file: [web.env]
    environment: { LATE: "\${LATE}" }
    volumes: ["./files:/www/files:ro", "./one.txt:/www/one.txt", "./uploads:/uploads"]
    secrets: [token]
  other:
    image: busybox:stable
    command: [sleep, "1000"]
    env_file: .env
secrets: { token: { file: ./token } }
`;
const FILES = {
  "docker-compose.yaml": TEXT,
  Dockerfile: 'FROM busybox:stable\nARG MESSAGE\nRUN mkdir /www && echo "$MESSAGE" >/www/built\n',
  "web.env": "PLAIN=$NAME!\nQUOTED='$NAME!'\n",
  "files/a/b.txt": "deep",
  "one.txt": "one",
  "uploads/.keep": "",
  token: "s3cret",
};

describeDocker("a compose file in a repository", ["busybox:stable"], (fixture) => {
  let world: DockerWorld;
  let suite: ReturnType<typeof imageSuite>;
  beforeAll(() => {
    world = dockerWorld(fixture);
    suite = imageSuite({ instanceId: fixture.instance });
  });
  afterAll(async () => {
    const { resourceUuid } = suite;
    for (const { Id } of await world.containersOf({ resourceUuid })) {
      await world.docker.getContainer(Id).remove({ force: true });
    }
    await suite.close();
    await world.close();
  });
  const engineOf = () =>
    world.engine({ builder: suite.builder, compose: composeTool({ host: localHost("test"), folder: suite.folder }) });

  test("tells the variables that it demands before anything is pulled or built", async () => {
    const engine = await engineOf();
    const text = `services:
  web: { image: "127.0.0.1:9/not/there", environment: ["A=\${A:?of the mail server}"] }
  other: { build: { context: ., args: { B: "\${B:?}" } } }
`;
    const config = { build_pack: "dockercompose", docker_compose_location: "/docker-compose.yaml" } as const;
    const files = { "docker-compose.yaml": text, Dockerfile: "FROM busybox:stable\nRUN exit 1\n" };
    const lines: string[] = [];
    const request = { ...suite.request(files, config, { env: { A: "1" } }), variables: { B: "1" } };
    const build = engine.build(request, { ...io(), onLine: (line) => lines.push(line) });
    await expect(build).rejects.toMatchObject({
      code: "deploy.start_failed",
      details: { missing_variables: ["A", "B"] },
    });
    expect(lines).toEqual([]);
  });

  test("is refused before anything is pulled or built where it cannot be started", async () => {
    const engine = await engineOf();
    const text = `services:
  web: { image: "127.0.0.1:9/not/there", privileged: true }
  other: { build: . }
`;
    const config = { build_pack: "dockercompose", docker_compose_location: "/docker-compose.yaml" } as const;
    const files = { "docker-compose.yaml": text, Dockerfile: "FROM busybox:stable\nRUN exit 1\n" };
    const lines: string[] = [];
    const planned: unknown[] = [];
    const requireFit = (artifact: StackArtifact) => {
      planned.push(artifact);
      throw new DomainError("deploy.start_failed", "It does not fit.");
    };
    const request = { ...suite.request(files, config), requireFit };
    const build = engine.build(request, { ...io(), onLine: (line) => lines.push(line) });
    await expect(build).rejects.toMatchObject({ code: "deploy.start_failed", message: "It does not fit." });
    expect(lines).toEqual([]);
    expect(planned).toEqual([expect.objectContaining({ type: "stack", images: {}, files: [] })]);
  });

  test("is one text with the files beside it, and knows the variables of others", async () => {
    const engine = await engineOf();
    const files = {
      "deploy/base.yaml": `services:
  web:
    image: "\${IMAGE:?}"
    command: [sleep, "1000"]
    environment: { FROM: base, STAGE: "\${STAGE}", OWN: "\${OWN}", LATE: "\${LATE:?}" }
    volumes: ["./conf:/conf:ro"]
`,
      "prod.yaml":
        "services: { web: { environment: [FROM=prod] }, extra: { image: 'busybox:stable', command: [sleep, '1000'] } }\n",
      "deploy/conf/a.txt": "beside the first",
      ".env": "IMAGE=busybox:stable\nSTAGE=test\nOWN=file\n",
      "deploy/prod.env": 'STAGE="prod-$OWN"\nLATE=late\n',
    };
    const config = {
      build_pack: "dockercompose",
      composeFiles: ["deploy/base.yaml", "prod.yaml"],
      composeEnvFiles: [".env", "deploy/prod.env"],
    } as const;
    const request = { ...suite.request(files, config, { env: { OWN: "resource" } }), variables: { OWN: "resource" } };
    const artifact = await engine.build(request, io());
    if (artifact.type !== "stack") throw new Error("It is a stack.");
    expect(artifact.variables).toEqual({ IMAGE: "busybox:stable", STAGE: "prod-resource", OWN: "file", LATE: "late" });
    const { resourceUuid, deploymentUuid } = request;
    const variables = { ...artifact.variables, OWN: "resource" };
    const spec = { ...stackSpec("", { resourceUuid, deploymentUuid, stack: { variables } }), artifact };
    await engine.start(spec, io());
    const script = "echo $FROM $STAGE $OWN $LATE; cat /conf/a.txt";
    const { output } = await engine.exec(spec, script, { timeoutSeconds: 5, container: "web" });
    expect(output).toBe("prod prod-resource resource late\nbeside the first");
    expect(Object.keys(artifact.images)).toEqual(["web", "extra"]);
  });

  test.each([
    [{ composeFiles: ["docker-compose.yaml", "away.yaml"] }, "The path away.yaml is outside of the source"],
    [{ composeFiles: ["docker-compose.yaml", "none.yaml"] }, "Compose file none.yaml, named"],
    [{ composeFiles: ["docker-compose.yaml", "list.yaml"] }, "list.yaml: services has another type"],
    [{ composeFiles: ["docker-compose.yaml", "include.yaml"] }, "include: Other files cannot be included"],
    [{ composeEnvFiles: ["away.yaml"] }, "The path away.yaml is outside of the source"],
    [{ composeEnvFiles: ["none.env"] }, "Env file none.env, named"],
  ])("with files that it cannot have is refused: %j", async (more, problem) => {
    const engine = await engineOf();
    const files = {
      "docker-compose.yaml": "services: { web: { image: 'busybox:stable' } }",
      "list.yaml": "services: []",
      "include.yaml": "include: [other.yaml]",
    };
    const request = suite.request(files, { build_pack: "dockercompose", ...more }, { env: {} });
    await symlink("/etc/passwd", join(request.sourceFolder, "away.yaml"));
    await expect(engine.build(request, io())).rejects.toThrow(problem);
  });

  test.each([
    ["services: { web: { privileged: !override true } }", "services.web.privileged"],
    ["services: { web: { volumes: ['/:/host'] } }", "services.web.volumes: /"],
    ["x-a: &a { pid: host }\nservices: { web: { <<: *a } }", "services.web.pid"],
    // The host folder comes from an env file.
    ["services: { web: { volumes: ['$OWN'] } }", "services.web.volumes: $OWN"],
    ["services: { web: { volumes: ['/a$OWN'] } }", "services.web.volumes: /a$OWN"],
  ])("asks for no privileges on Berth's own machine, by none of its files: %s", async (later, power) => {
    const engine = await engineOf();
    const files = {
      "docker-compose.yaml": "services: { web: { image: 'busybox:stable', privileged: false } }",
      "later.yaml": later,
      env: "OWN=/:/host\n",
    };
    const config = { composeFiles: ["docker-compose.yaml", "later.yaml"], composeEnvFiles: ["env"] };
    const request = suite.request(files, { build_pack: "dockercompose", ...config }, { env: {}, isHostGuarded: true });
    await expect(engine.build(request, io())).rejects.toThrow(`only the operator can grant: ${power}.`);
  });

  test("is built once, and starts without its source", async () => {
    const engine = await engineOf();
    const config = { build_pack: "dockercompose", docker_compose_location: "/docker-compose.yaml" } as const;
    const env = { MESSAGE: "a 'b' $c", NAME: "Ada" };
    const request = suite.request(FILES, config, { env });
    const artifact = await engine.build(request, io());
    if (artifact.type !== "stack") throw new Error("It is a stack.");
    expect(Object.values(artifact.images).map(({ image }) => image)).toEqual([
      `berth/${request.resourceUuid}:${request.deploymentUuid}.web`,
      `berth/${request.resourceUuid}:${request.deploymentUuid}.other`,
    ]);
    const { resourceUuid, deploymentUuid } = request;
    const web = { ports: [8080] };
    const spec = {
      ...stackSpec("", {
        resourceUuid,
        deploymentUuid,
        containers: { web },
        stack: { variables: { ...env, LATE: "l" } },
      }),
      artifact,
    };
    const { upstream } = await engine.start(spec, io());
    const pages = ["built", "files/a/b.txt", "one.txt"].map(async (path) => {
      return await (await fetch(`http://${upstream?.host}:8080/${path}`)).text();
    });
    expect(await Promise.all(pages)).toEqual(["a 'b' $c\n", "deep", "one"]);
    const run = async (script: string, container: string) =>
      (await engine.exec(spec, script, { timeoutSeconds: 5, container })).output;
    expect(await run('printf "%s|" "$PLAIN" "$QUOTED" "$LATE"; cat /run/secrets/token', "web")).toBe(
      "Ada!|$NAME!|l|s3cret",
    );
    expect(await run('printf %s "$MESSAGE"', "other")).toBe("a 'b' $c");
    await engine.removeResource(resourceUuid, { deleteVolumes: true });
    expect(await world.docker.listImages({ filters: { reference: [`berth/${resourceUuid}:*`] } })).toEqual([]);
  });

  test("finds large files of its source, and folders with many, as they are", async () => {
    const engine = await engineOf();
    const large = "0123456789abcdef".repeat(400_000);
    const text = `services: { web: { image: "busybox:stable", command: [sleep, "1000"], volumes: ["./large:/var/large:ro", "./large/a.sh:/tmp/a.sh"] } }`;
    const files = { "docker-compose.yaml": text, "large/deep er/b.bin": large, "large/a.sh": "#!/bin/sh\necho ran\n" };
    const request = suite.request(files, { build_pack: "dockercompose" });
    const artifact = await engine.build(request, io());
    if (artifact.type !== "stack") throw new Error("It is a stack.");
    expect(JSON.stringify(artifact).length).toBeLessThan(10_000);
    const { resourceUuid, deploymentUuid } = request;
    const spec = { ...stackSpec("", { resourceUuid, deploymentUuid }), artifact };
    await engine.start(spec, io());
    const script = "stat -c '%s %a %u' '/var/large/deep er/b.bin'; stat -c %a /tmp /var; sh /tmp/a.sh";
    const { output } = await engine.exec(spec, script, { timeoutSeconds: 5 });
    expect(output).toBe(`${large.length} 644 0\n1777\n755\nran\n`);
    await engine.removeResource(resourceUuid, { deleteVolumes: true });
    expect(await world.docker.listImages({ filters: { reference: [`berth/${resourceUuid}:*`] } })).toEqual([]);
  });

  test.each([
    ["volumes", 'volumes: ["./small:$OUTSIDE", "./large:/large"]'],
    ["folders", 'volumes: ["./folder:$OUTSIDE", "./large:/large"]'],
    ["configs", 'configs: [{ source: small, target: "$OUTSIDE" }, { source: large, target: /large }]'],
    ["secrets", 'secrets: [{ source: small, target: "..$OUTSIDE" }, { source: large, target: /large }]'],
  ])("writes nothing on Berth's machine by the targets of its %s", async (name, mounts) => {
    const engine = await engineOf();
    const outside = join(suite.folder, `outside-${name}`);
    const definitions = "{ small: { file: ./small }, large: { file: ./large } }";
    const files = {
      "docker-compose.yaml": `
services: { web: { image: "busybox:stable", ${mounts} } }
configs: ${definitions}
secrets: ${definitions}
`,
      small: "small",
      "folder/small": "small",
      large: "0123456789abcdef".repeat(400_000),
    };
    const env = { OUTSIDE: `${"/..".repeat(40)}${outside}` };
    const request = suite.request(files, { build_pack: "dockercompose" }, { env });
    await expect(engine.build(request, io())).rejects.toThrow('must be a path without ".."');
    expect(existsSync(outside)).toBe(false);
  });

  test.each([
    ["volumes: [/:/host]", { isHostGuarded: true }, "host privileges"],
    ["env_file: link.env", {}, "is outside of the source"],
    ["env_file: gone.env", {}, "File gone.env is not in the source"],
    ["env_file: ../x.env", {}, "not in the service's own folder"],
  ])("is refused with %s", async (line, more, sentence) => {
    const engine = await engineOf();
    const text = `services: { web: { image: "busybox:stable", ${line} } }`;
    const files = { "docker-compose.yaml": text, "link.env": { link: "/etc/hostname" } };
    const request = suite.request(files, { build_pack: "dockercompose" }, more);
    await expect(engine.build(request, io())).rejects.toThrow(sentence);
  });

  test("is not built any further once it is cancelled", async () => {
    const engine = await engineOf();
    const files = { "docker-compose.yaml": 'services: { web: { image: "busybox:stable" } }' };
    const request = suite.request(files, { build_pack: "dockercompose" });
    await expect(engine.build(request, io(AbortSignal.abort()))).rejects.toMatchObject({ code: "deploy.cancelled" });
  });

  test("is refused where there is none", async () => {
    const engine = await engineOf();
    const request = suite.request({ Dockerfile: "FROM scratch" }, { build_pack: "dockercompose" });
    await expect(engine.build(request, io())).rejects.toThrow("Compose file docker-compose.yaml is not in the source");
  });
});
