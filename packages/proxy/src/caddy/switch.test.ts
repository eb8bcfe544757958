import { describeDocker } from "@berth/testing";
import { expect, it } from "vitest";
import { IMAGE, useCaddy } from "./caddy.fixture.ts";
import { RELEASE_IMAGE, switchUnderLoad } from "./switch-load.fixture.ts";

const SWITCHES = 6;

describeDocker("releases in containers behind Caddy", [IMAGE, RELEASE_IMAGE], (docker) => {
  const front = useCaddy(docker);

  it("take each other's place 6 times without failing one of 2,000 requests or one WebSocket", async () => {
    const result = await switchUnderLoad({
      proxy: front.proxy,
      port: front.options.httpPort,
      docker: docker.client,
      labels: docker.labels,
      network: await docker.network(),
      switches: SWITCHES,
      requestsMin: 2000,
      requestsPerSecond: 200,
    });
    expect(result.failures).toEqual([]);
    expect(result.releases).toBe(SWITCHES + 1);
    expect(result.requests).toBeGreaterThanOrEqual(2000);
    expect(result.messages).toBeGreaterThan(100);
  });
});
