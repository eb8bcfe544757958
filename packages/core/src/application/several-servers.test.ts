import { describe, expect, test } from "vitest";
import { whyNotFollowed } from "../deploy/following-deployment.ts";
import type { ApplicationDestinationRecord } from "../ports/application-destination.ts";
import type { DeploymentRecord } from "../ports/records.ts";
import { attachedDestinationView } from "./attached-destination.ts";
import { combinedStatus, onServer } from "./several-servers.ts";

const HERE: ApplicationDestinationRecord = {
  ...{ server_id: 2, destination_id: 20, status: "running:healthy", restart_count: 1, is_given_up: false },
  status_problem: null,
  ...{ scale_problem: null, server_uuid: "s2", server_name: "web-2", server_ip: "192.0.2.2", server_engine: "docker" },
  ...{ is_server_functional: true, destination_uuid: "d2", destination_name: "main", destination_network: "berth" },
};

describe("the status of an application on several servers", () => {
  test.each([
    [["running:healthy", "running:healthy"], "running:healthy"],
    [["running:healthy", "running:unknown"], "running:unknown"],
    [["running:healthy", "running:unhealthy"], "running:unhealthy"],
    [["running:healthy", "exited:unhealthy"], "degraded:unhealthy"],
    [["exited:unhealthy", "exited:unhealthy"], "exited:unhealthy"],
    [["removing:unhealthy", "removing:unhealthy"], "removing:unhealthy"],
    [["running:healthy", "degraded:unhealthy", "running:healthy"], "degraded:unhealthy"],
    [["running:healthy", "starting:unknown"], "starting:unknown"],
    [["running:healthy"], "running:healthy"],
  ])("of %j is %s", (statuses, combined) => {
    expect(combinedStatus(statuses)).toBe(combined);
    expect(combinedStatus(statuses.toReversed())).toBe(combined);
  });
});

describe("the record of an application on one of its servers", () => {
  const placement = { ...HERE, project_uuid: "p", project_name: "p", environment_uuid: "e", environment_name: "e" };
  const record = {
    ...{ id: 7, server_id: 1, destination_id: 10, status: "degraded:unhealthy", desired_state: "running" as const },
    status_problem: "Its data is on node n1, which is down.",
    ...{ placement: { ...placement, server_uuid: "s1" }, restart_count: 9, scale_problem: "No memory.", name: "shop" },
  };

  test("has the names, the status and the counts of that server, and keeps the rest", () => {
    const seen = onServer(record, HERE);
    expect(seen).toMatchObject({ id: 7, name: "shop", server_id: 2, destination_id: 20, status: "running:healthy" });
    expect(seen).toMatchObject({ restart_count: 1, scale_problem: null, desired_state: "running" });
    expect(seen.status_problem).toBeNull();
    expect(seen.placement).toMatchObject({ project_uuid: "p", server_uuid: "s2", destination_network: "berth" });
  });

  test("is stopped where it was given up", () => {
    expect(onServer(record, { ...HERE, is_given_up: true })).toMatchObject({
      desired_state: "stopped",
      stop_reason: expect.stringContaining("restarted too often on this server"),
    });
  });

  test("adds no field that the record lacks", () => {
    const { placement: _, restart_count, scale_problem, ...bare } = record;
    expect(Object.keys(onServer(bare, HERE))).toEqual(Object.keys(bare));
  });
});

describe("the deployments to other servers", () => {
  const first = (status: DeploymentRecord["status"], error_code: string | null = null) =>
    whyNotFollowed({ status, error_code, server_name: "web-1" });

  test.each([
    ["finished", null],
    ["failed", "engine.unreachable"],
    ["failed", "server.unreachable"],
  ] as const)("start after one that %s with %s", (status, code) => {
    expect(first(status, code)).toBeUndefined();
  });

  test.each([
    ["failed", "deploy.build_failed", "Not started, since the deployment to server web-1 failed"],
    ["failed", null, "Not started, since the deployment to server web-1 failed"],
    ["cancelled-by-user", null, "Cancelled with the deployment to server web-1"],
  ] as const)("do not start after one that %s with %s", (status, code, reason) => {
    expect(first(status, code)).toMatch(reason);
  });
});

describe("what is shown of a server", () => {
  const deployment = {
    ...{ uuid: "d", server_id: 2, status: "finished" as const, commit: "abc", error: null },
    ...{ finished_at: new Date(0), follows: null },
  };
  test.each([
    ["nothing", {}, deployment, null],
    ["that it was never deployed there", {}, undefined, /not deployed to this server yet/],
    ["that the server does not answer", { is_server_functional: false }, deployment, /web-2 is not within reach/],
    ["that it was given up", { is_given_up: true }, deployment, /restarted too often/],
    ["why it cannot run", { status_problem: "Its data is on node n2." }, deployment, /Its data is on node n2/],
    ["why it lacks containers", { scale_problem: "No memory." }, deployment, /No memory/],
    [
      "that what ran before still runs",
      {},
      { ...deployment, status: "failed" as const, error: "Out of disk." },
      /what ran before still runs\. Out of disk\./,
    ],
    [
      "nothing of what ran before where nothing runs",
      { status: "exited:unhealthy" },
      { ...deployment, status: "failed" as const, error: null },
      /^Its last deployment to this server did not finish\.$/,
    ],
  ])("says %s", (_, fields, newest, problem) => {
    const view = attachedDestinationView({ ...HERE, ...fields }, 10, newest);
    if (problem === null) expect(view.problem).toBeNull();
    else expect(view.problem).toMatch(problem);
    expect(view).toMatchObject({ uuid: "d2", is_primary: false, server_name: "web-2" });
  });
});
