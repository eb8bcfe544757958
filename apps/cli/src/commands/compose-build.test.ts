import { describe, expect, test } from "vitest";
import { answering } from "../answers.fixture.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";
import { requireNoBuild } from "./compose-build.ts";

const file = (api: string) => `services:\n  web:\n    image: nginx\n  api:\n${api}\n`;

describe("a compose file for a service", () => {
  test.each([
    "    build: .",
    "    build: ./api",
    "    build: {dockerfile: Dockerfile.api}",
    "    build: {dockerfile_inline: FROM alpine}\n    image: api",
  ])("is refused where it builds from a folder:\n%s", (api) => {
    const refused = () => requireNoBuild(file(api), "shop/docker-compose.yaml");
    expect(refused).toThrow("builds api from a folder");
    expect(refused).toThrow(
      expect.objectContaining({
        details: expect.arrayContaining([expect.stringMatching(/berth deploy shop --build-pack dockercompose$/)]),
      }),
    );
  });

  test.each([
    "    image: api",
    "    image: api\n    environment: {build: x}",
    "    build: https://git.test/shop.git",
    "    build: {context: git@git.test:shop.git}",
    "    build: .\n    profiles: [debug]",
    "  - broken: [",
  ])("is left to the server otherwise:\n%s", (api) => {
    requireNoBuild(file(api), "shop/docker-compose.yaml");
  });

  test("that builds makes no service", async () => {
    using folder = temporaryFolder({ "shop/compose.yaml": file("    build: .") });
    await using server = await answering({ "services.list": () => [] });
    const { exitCode, stderr } = await server.run(["service", "up", "shop/compose.yaml"], { cwd: folder.path });
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining("shop --build-pack dockercompose --docker-compose-location compose.yaml\n"),
    ]);
    expect(server.called).toEqual(["services.list"]);
  });
});
