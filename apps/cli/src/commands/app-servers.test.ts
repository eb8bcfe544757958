import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const server = (name: string, is_usable: boolean) => ({
  ...{ uuid: `${name}-uuid`, name, settings: { is_usable }, validation_logs: "Port 22 refuses connections." },
});
const placed = (name: string, is_primary: boolean) => ({
  ...{ uuid: `${name}-destination`, server_uuid: `${name}-uuid`, server_name: name, is_primary },
});
const ANSWERS = {
  "applications.list": () => [{ uuid: "a1", name: "shop", environment_name: "production", urls: [] }],
  "servers.list": () => [server("web-1", true), server("web-2", false)],
  "destinations.listOfServer": () => [{ uuid: "web-2-destination", name: "standard" }],
  "applications.destinations.list": () => [placed("web-1", true), placed("web-2", false)],
  "applications.destinations.attach": () => ({ message: "Destination attached." }),
  "applications.destinations.detach": () => ({ message: "Destination detached." }),
};

test("a server that is not usable is not added, and what it lacks is said", async () => {
  const ran = await ranWith(ANSWERS, ["app", "add-server", "shop", "web-2"]);
  expect([ran.exitCode, ran.called]).toEqual([1, ["applications.list", "servers.list"]]);
  expect(ran.stderr).toContain("Server web-2 is not usable");
  expect(ran.stderr).toContain("Port 22 refuses connections.");
  expect(ran.stderr).toContain("berth servers validate web-2");
});

test("a server that is not usable yet is added for the next deployment", async () => {
  const ran = await ranWith(ANSWERS, ["app", "add-server", "shop", "web-2", "--no-deploy"]);
  expect([ran.exitCode, ran.called.at(-1)]).toEqual([0, "applications.destinations.attach"]);
});

test("the first server stays, and the way to leave it is named", async () => {
  const ran = await ranWith(ANSWERS, ["app", "remove-server", "shop", "web-1"]);
  expect([ran.exitCode, ran.called.at(-1)]).toEqual([2, "applications.destinations.list"]);
  expect(ran.stderr).toContain("berth move shop --server SERVER");
  expect((await ranWith(ANSWERS, ["app", "remove-server", "shop", "web-2"])).exitCode).toBe(0);
});
