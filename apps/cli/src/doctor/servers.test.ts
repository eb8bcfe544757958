import { expect, test } from "vitest";
import { checkServers } from "./servers.ts";

type Server = Parameters<typeof checkServers>[0][number];

const serverWith = (status: string) =>
  // Only the fields that the check reads.
  ({
    ...{ uuid: "s1", name: "web-1", engine: "docker", validation_logs: null, high_disk_usage_notification_sent: false },
    ...{ settings: { is_usable: true, is_reachable: true }, proxy: { type: "CADDY", status } },
  }) as unknown as Server;

const answers = ["server web-1", "ok", "answers (docker)"];
const WHY = "The registry of traefik:v3 could not be reached from the server.";

test.each<[string, string, string | null, boolean, readonly (readonly string[])[]]>([
  ["is well", "running", null, true, [answers]],
  [
    "cannot be replaced, while the one before serves",
    "running",
    WHY,
    false,
    [answers, ["server web-1", "warning", `Its proxy is not as it should be. ${WHY}`]],
  ],
  [
    "does not run, and says why",
    "exited",
    WHY,
    true,
    [answers, ["server web-1", "problem", `Its proxy (CADDY) is exited: URLs do not answer. ${WHY}`]],
  ],
  ["does not run where no URL needs it", "exited", null, false, [answers]],
])("of a server whose proxy %s", (_, status, problem, isRouted, expected) => {
  const findings = checkServers([serverWith(status)], new Set(isRouted ? ["s1"] : []), new Map([["s1", problem]]));
  expect(findings.map(({ subject, state, message }) => [subject, state, message])).toEqual(expected);
});
