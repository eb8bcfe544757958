import { expect, it } from "vitest";
import { attentionOf, type Resource, type Server } from "./attention.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
// Only the fields that are read.
const resource = (fields: object) =>
  ({
    ...{ uuid: "r", type: "application", name: "r", status: "running:healthy", last_deployment: null },
    ...{
      public_port_problem: null,
      url_problem: null,
      certificate_problem: null,
      certificate_expires_at: null,
      scale_problem: null,
      status_problem: null,
      failed_backups: [],
      last_drill: null,
    },
    ...fields,
  }) as unknown as Resource;
const server = (fields: object) => ({ uuid: "s", name: "s", is_reachable: true, is_usable: true, ...fields }) as Server;

it("is silent about what is well or was stopped", () => {
  expect(attentionOf([resource({}), resource({ status: "exited:unhealthy" })], [server({})], NOW)).toEqual([]);
});

it("names what is wrong, the worst first", () => {
  const soon = { certificate_expires_at: "2026-01-05T00:00:00Z" };
  const failed = { failed_backups: ["disk full"] };
  const unscaled = { scale_problem: "2 of 3 containers run: no node is free." };
  const unanswered = { url_problem: "The proxy is stopped." };
  const found = attentionOf(
    [
      resource({ ...soon }),
      resource({ status: "running:unhealthy" }),
      resource({ status: "degraded:unhealthy", status_problem: "Its data is on node n2, which is down." }),
      resource({ status: "exited:unhealthy", status_problem: "It restarted 11 times in a row." }),
      resource({ ...failed }),
      resource({ ...unanswered }),
      resource({ ...unscaled }),
    ],
    [server({ is_reachable: false })],
    NOW,
  );
  expect(found.map(({ tone, reason }) => `${tone} ${reason}`)).toEqual([
    "bad is out of reach",
    "bad Unhealthy: It runs, but its health check fails.",
    "bad Degraded: Its data is on node n2, which is down.",
    "bad Stopped: It restarted 11 times in a row.",
    "bad The last backup failed: disk full",
    "bad The proxy is stopped.",
    "warn Its certificate ends in 4 days. Restart it for a new one.",
    "warn 2 of 3 containers run: no node is free.",
  ]);
});

it("names a failed deployment, which is worse where nothing answers", () => {
  const last_deployment = { deployment_uuid: "d", status: "failed", error: "The build failed." };
  const found = attentionOf(
    [resource({ last_deployment }), resource({ last_deployment, status: "exited:unhealthy" })],
    [server({})],
    NOW,
  );
  expect(found.map(({ tone, reason }) => `${tone} ${reason}`)).toEqual([
    "bad Deployment failed: The build failed.",
    "warn The last deployment failed, the release before it still runs: The build failed.",
  ]);
});

it("names a full disk of a server that can be used", () => {
  const settings = { server_disk_usage_notification_threshold: 80 };
  const found = attentionOf([], [server({ high_disk_usage_notification_sent: true, settings })], NOW);
  expect(found.map(({ tone, reason }) => `${tone} ${reason}`)).toEqual([
    "warn Its disk is more than 80 % full. Clean it up.",
  ]);
});

it("names a drill that failed or is old", () => {
  const drill = (status: string, finished_at: string, message: string | null = null) =>
    resource({ last_drill: { status, finished_at, message } });
  const found = attentionOf(
    [
      drill("success", "2025-11-01T00:00:00Z"),
      drill("success", "2025-12-20T00:00:00Z"),
      drill("failed", "2025-12-20T00:00:00Z", "Row counts differ from the backup."),
    ],
    [],
    NOW,
  );
  expect(found.map(({ tone, reason }) => `${tone} ${reason}`)).toEqual([
    "bad The last drill of its backups failed: Row counts differ from the backup.",
    "warn The last drill of its backups was 61 days ago. Run another.",
  ]);
});

it("names backups that were never drilled once a week of them exists", () => {
  const found = attentionOf(
    [
      resource({ undrilled_since: "2025-12-26T00:00:00Z" }),
      resource({ undrilled_since: "2025-12-24T00:00:00Z" }),
      resource({ type: "standalone-postgresql" }),
    ],
    [],
    NOW,
  );
  expect(found.map(({ tone, reason }) => `${tone} ${reason}`)).toEqual([
    "warn It has had backups for 8 days, and none was ever restored in a drill. Run one.",
  ]);
});

it("names a certificate that is missing or ends, unless nothing answers at all", () => {
  const missing = {
    certificate_problem: { reason: "The proxy has no certificate for a.example.com.", is_refused: true },
  };
  const ending = { certificate_problem: { reason: "The certificate of b.example.com ends.", is_refused: false } };
  const found = attentionOf(
    [resource({ ...ending }), resource({ ...missing }), resource({ ...missing, url_problem: "The proxy is stopped." })],
    [],
    NOW,
  );
  expect(found.map(({ tone, reason }) => `${tone} ${reason}`)).toEqual([
    "bad The proxy has no certificate for a.example.com.",
    "bad The proxy is stopped.",
    "warn The certificate of b.example.com ends.",
  ]);
});
