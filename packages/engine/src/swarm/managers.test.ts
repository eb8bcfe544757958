import type Docker from "dockerode";
import { describe, expect, test } from "vitest";
import { Managers } from "./managers.ts";

type Answer = () => Promise<readonly object[]>;

const manager = (Reachability: string) => ({ Spec: { Role: "manager" }, ManagerStatus: { Reachability } });
const WORKER = { Spec: { Role: "worker" } };
/** After a new cluster was forced, until it returns. */
const FORMER = { Spec: { Role: "manager" } };

const WELL: Answer = async () => [manager("reachable"), manager("reachable"), manager("unreachable"), WORKER];
const ALONE: Answer = async () => [manager("reachable"), manager("unreachable"), manager("unreachable"), WORKER];
const FORCED: Answer = async () => [manager("reachable"), FORMER, FORMER];
const HANGS: Answer = () => new Promise(() => {});
const REFUSES: Answer = async () => {
  throw Object.assign(new Error("The swarm does not have a leader."), { statusCode: 500 });
};

/** @param answers In this order; the last one again and again. */
function managersThat(...answers: readonly Answer[]) {
  let asked = 0;
  const docker = {
    listNodes: () => (answers[asked++] ?? answers.at(-1) ?? WELL)(),
    ping: async () => "OK",
  };
  // Only what is asked here.
  return { managers: new Managers(docker as unknown as Docker, "node-1"), asked: () => asked };
}

const said = async (managers: Managers): Promise<string> =>
  await managers.nodes().then(
    (nodes) => `${nodes.length} nodes`,
    ({ code, message }) => `${code}: ${message}`,
  );

const NO_LEADER = /^cluster\.no_leader: The Docker Swarm of node-1 has had no leader since 20\S+ \S+ UTC\. /;

describe.concurrent("the managers of a swarm", () => {
  test.each<[string, Answer, RegExp]>([
    ["list its nodes while more than half of them answer", WELL, /^4 nodes$/],
    ["list its nodes after a new cluster was forced, in which the others are not yet", FORCED, /^3 nodes$/],
    ["have no leader when one alone still answers from its memory", ALONE, NO_LEADER],
    ["have no leader when they hang and the engine answers", HANGS, NO_LEADER],
    ["have no leader when they say so", REFUSES, NO_LEADER],
  ])("%s", async (_title, answer, expected) => {
    expect(await said(managersThat(answer).managers)).toMatch(expected);
  });

  test("are asked again when one of two has just joined", async () => {
    const { managers, asked } = managersThat(async () => [manager("reachable"), manager("unreachable")], WELL);
    expect(await said(managers)).toBe("4 nodes");
    expect(asked()).toBe(2);
  });

  test("say since when they have no leader until they have one again", async () => {
    const { managers } = managersThat(REFUSES, REFUSES, WELL, REFUSES);
    const first = await said(managers);
    // Messages have whole seconds.
    await expect
      .poll(() => new Date().toISOString().slice(0, 19).replace("T", " "), { timeout: 2000 })
      .not.toBe(secondOf(first));
    expect(await said(managers)).toBe(first);
    expect(await said(managers)).toBe("4 nodes");
    expect(secondOf(await said(managers))).not.toBe(secondOf(first));
  });
});

const secondOf = (sentence: string): string | undefined => /since (\S+ \S+) UTC/.exec(sentence)?.[1];
