import { describeDocker, hasChromium } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { deploy, made, placeOf } from "../../server/e2e/applications.fixture.ts";
import { type DockerServer, dockerServer } from "../../server/e2e/docker.fixture.ts";
import { dockerfile, setDockerfile } from "../../server/e2e/placed-resource.fixture.ts";
import { accessibilityProblems, openBrowser, picture, visitSignedIn } from "./browser.fixture.ts";

describeDocker("the builds that an application can be rolled back to", ["busybox:stable"], (docker) => {
  let server: DockerServer;
  let browser: Browser;
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: docker.name("rollback") } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it.skipIf(!hasChromium)("are listed with their images", async () => {
    const uuid = await made(server, "/applications/dockerfile", {
      ...{ ...(await placeOf(server)), server_uuid: server.dockerUuid },
      ...{ name: "shop", dockerfile: dockerfile("1"), ports_exposes: "80" },
    });
    const first = await deploy(server, uuid);
    expect(first.status, first.log).toBe("finished");
    await setDockerfile(server, uuid, dockerfile("2"));
    expect((await deploy(server, uuid)).status).toBe("finished");
    const { images } = await server.client.rollbacks.images.query({ uuid });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/deployments`);
    const builds = page.getByRole("region", { name: "Roll back" });
    await builds.waitFor();
    await picture(page, "rollback-list");
    for (const { image } of images) {
      expect(image).toContain(uuid);
      await builds.getByText(image ?? "", { exact: true }).waitFor({ timeout: 10_000 });
    }
    expect(images).toHaveLength(2);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
