import { expect, test } from "vitest";
import { engineError } from "./client.ts";

const refusal = (message: string, statusCode = 500) => Object.assign(new Error(message), { statusCode });

test.each<[string, Error, string, RegExp]>([
  ["a refusal", refusal("no such thing", 404), "engine.failed", /^The engine of node-1 refused: no such thing$/],
  ["no answer", new Error("hung up"), "engine.unreachable", /^The engine of node-1 does not answer: hung up\. Check/],
  [
    "managers that answered too late",
    refusal("rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
    "engine.unreachable",
    /does not answer: rpc error/,
  ],
  ...[
    "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are online.",
    "rpc error: code = Unknown desc = raft: failed to process the request: node lost leader status",
    "This node is not a swarm manager. Manager is being prepared or has trouble connecting to the cluster.",
  ].map((message): [string, Error, string, RegExp] => [
    "too few managers",
    refusal(message),
    "cluster.no_leader",
    /^The Docker Swarm of node-1 has no leader\. .* start them\. .* --force-new-cluster --advertise-addr ADDRESS on node-1,/,
  ]),
])("%s says what to do, and whether to try again", (_title, cause, code, message) => {
  expect(engineError("node-1", cause)).toMatchObject({ code, message: expect.stringMatching(message), cause });
});
