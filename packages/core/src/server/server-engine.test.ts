import { describe, expect, test } from "vitest";
import { sameMachineProblem } from "./server-engine.ts";

const own = { id: 1, team_id: 1, name: "web-1", host_key: "SHA256:one" };
const other = { ...own, id: 2, name: "web-2" };

describe("servers whose engines have the same identity", () => {
  test.each([
    ["the same host key", "SHA256:one", "SHA256:one", true],
    ["host keys of their own, as copies of a machine have", "SHA256:one", "SHA256:two", false],
    ["one without a host key", "SHA256:one", null, true],
    ["a host key only on the other", null, "SHA256:two", true],
    ["no host keys", null, null, true],
  ])("are one machine or two by their host keys: %s", (_, ownKey, otherKey, isSame) => {
    const problem = sameMachineProblem({ ...own, host_key: ownKey }, [{ ...other, host_key: otherKey }]);
    expect(problem !== null).toBe(isSame);
  });

  test("a server is not its own copy", () => {
    expect(sameMachineProblem(own, [own])).toBeNull();
    expect(sameMachineProblem(own, [])).toBeNull();
  });

  test("the same machine is found behind copies of it", () => {
    const copy = { ...other, id: 3, name: "web-3", host_key: "SHA256:three" };
    expect(sameMachineProblem(own, [own, copy, other])).toMatch(
      /^Server web-1 has the same Docker engine as server web-2,/,
    );
  });

  test("another team's server is not named", () => {
    expect(sameMachineProblem(own, [{ ...other, team_id: 2 }])).toMatch(/same Docker engine as another server, so/);
  });
});
