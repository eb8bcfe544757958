import { describe, expect, test } from "vitest";
import { unmappedPorts } from "./unmapped-ports.ts";

const PROCESSES = { port_mappings: false, networks: false };
const CLUSTER = { port_mappings: false, networks: true };
const DOCKER = { port_mappings: true, networks: true };

describe("ports of an engine that maps none", () => {
  test.each([
    ["nothing is mapped", null, "4000"],
    ["the program listens on the server's port itself", "4000:4000", "3000,4000"],
  ])("are no matter where %s", (_, ports_mappings, ports_exposes) => {
    expect(unmappedPorts({ ports_mappings, ports_exposes }, PROCESSES, "localhost")).toBeUndefined();
  });

  test.each([
    ["another port of the program is mapped", "8080:4000", "4000"],
    ["nothing says that the program listens there", "8080:8080", null],
    ["only one of two is its own", "4000:4000,8080:80", "4000,80"],
  ])("are refused with what helps where %s", (_, ports_mappings, ports_exposes) => {
    const sentence = unmappedPorts({ ports_mappings, ports_exposes }, PROCESSES, "localhost");
    expect(sentence).toMatch(/^Server localhost runs processes, .* 8080:\d+ of ports_mappings .* port 8080, and set/);
  });

  test("are refused by an engine with networks, whose server's ports no program has", () => {
    const settings = { ports_mappings: "4000:4000", ports_exposes: "4000" };
    expect(unmappedPorts(settings, CLUSTER, "nodes")).toMatch(/^The engine of server nodes maps no ports, .* a domain/);
    expect(unmappedPorts(settings, DOCKER, "docker")).toBeUndefined();
  });
});
