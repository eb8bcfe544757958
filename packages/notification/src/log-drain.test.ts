import { type DrainedLine, type LogDrain, readFluentBitOutput } from "@berth/core/server";
import { DRAINED_SOURCE as source } from "@berth/core/testing";
import { DRAIN_DATASET, DRAIN_LOGIN, type LogDrainServer, logDrainServer } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { logDrainSender } from "./log-drain.ts";

const lines: readonly DrainedLine[] = ["one", "two"].map((line) => ({
  moment: "2026-01-02T03:04:05.000000006Z",
  line,
  source,
}));

let receiver: LogDrainServer;
beforeAll(async () => {
  receiver = await logDrainServer();
});
afterAll(() => receiver.close());
beforeEach(() => {
  receiver.fault = undefined;
});

const send = (drain: LogDrain, allowedPrivateHosts = ["127.0.0.1"]) =>
  logDrainSender({ allowedPrivateHosts, axiomUrl: receiver.url, secondsMax: 5 })(drain, lines);
const newRelic = (licenseKey: string = DRAIN_LOGIN.newrelic_license_key): LogDrain => ({
  type: "newrelic",
  url: `${receiver.url}/log/v1`,
  licenseKey,
});
const axiom = (dataset: string = DRAIN_DATASET): LogDrain => ({
  type: "axiom",
  dataset,
  apiKey: DRAIN_LOGIN.axiom_api_key,
});
const custom = (...entries: string[]): LogDrain => ({
  type: "custom",
  output: readFluentBitOutput(["[OUTPUT]", "Host 127.0.0.1", `Port ${receiver.port}`, ...entries].join("\n")),
});

describe("a batch", () => {
  test.each([
    ["New Relic", () => newRelic(), "gzip"],
    ["Axiom", () => axiom(), "gzip"],
    ["http of Fluent Bit", () => custom("Name http", "Format json", "URI /logs"), undefined],
    ["http of Fluent Bit, line by line", () => custom("Name http", "Format json_lines", "compress gzip"), "gzip"],
    ["Loki", () => custom("Name loki"), undefined],
  ])("is accepted by %s with all of its lines", async (_, drain, encoding) => {
    const before = receiver.lines.length;
    expect(await send(drain())).toEqual({ isDelivered: true, refused: 0 });
    const accepted = receiver.lines.slice(before);
    expect(accepted.map(({ text }) => text)).toEqual(["one", "two"]);
    expect(accepted[0]?.fields).toMatchObject({ resource_name: "api", project_name: "Shop", server_name: "web-1" });
    expect(receiver.requests.at(-1)?.headers["content-encoding"]).toBe(encoding);
  });
});

describe("a refusal", () => {
  test.each([
    [
      "a wrong key",
      () => newRelic("wrong"),
      { problem: "New Relic answered 403: Invalid license key", cause: "receiver" },
    ],
    ["a dataset that is missing", () => axiom("other"), { problem: expect.stringContaining("Axiom answered 404") }],
  ])("of %s names it", async (_, drain, expected) => {
    expect(await send(drain())).toMatchObject({ isDelivered: false, ...expected });
  });

  test.each([
    [400, "content"],
    [413, "size"],
    [422, "content"],
    [429, "receiver"],
    [503, "receiver"],
  ])("with %i is about the %s", async (status, cause) => {
    receiver.fault = () => ({ status, headers: { "retry-after": "7" } });
    expect(await send(newRelic())).toMatchObject({ kind: String(status), cause, retryAfterSeconds: 7 });
  });

  test("never shows the key that the receiver repeats, nor control characters", async () => {
    receiver.fault = () => ({ status: 500, body: { got: `${DRAIN_LOGIN.axiom_api_key}\r\n\u001b[31m` } });
    const result = await send(axiom());
    expect(JSON.stringify(result)).not.toContain(DRAIN_LOGIN.axiom_api_key);
    expect(result).toMatchObject({ problem: expect.stringMatching(/^[\x20-\x7e]+$/) });
  });

  test("never shows the address, the login or a header that a receiver of one's own repeats", async () => {
    const entries = ["Name http", "Format json", "http_user ada", "http_passwd hunter22", "Header X-Key k3y-of-mine"];
    const drain = custom(...entries, "URI /v1/http/ZaVnC4dhaV1abc?code=c0de-of-mine");
    receiver.fault = () => ({
      status: 404,
      body: {
        message: "No /v1/http/ZaVnC4dhaV1abc?code=c0de-of-mine for ada:hunter22, nor ZaVnC4dhaV1abc, k3y-of-mine.",
      },
    });
    expect(await send(drain)).toMatchObject({
      problem: `127.0.0.1:${receiver.port} answered 404: No [REDACTED] for [REDACTED], nor [REDACTED], [REDACTED].`,
    });
  });

  test("follows no redirect, which could lead elsewhere with the key", async () => {
    receiver.fault = () => ({ status: 307, headers: { location: `${receiver.url}/log/v1` } });
    const before = receiver.requests.length;
    expect(await send(newRelic())).toMatchObject({ isDelivered: false, problem: expect.stringContaining("redirect") });
    expect(receiver.requests.length).toBe(before + 1);
  });

  test("counts the lines that Axiom did not store", async () => {
    const failures = [{ timestamp: "2026-01-02T03:04:05Z", error: "field limit exceeded" }];
    receiver.fault = () => ({ status: 200, body: { ingested: 1, failed: 1, failures } });
    expect(await send(axiom())).toEqual({
      isDelivered: true,
      refused: 1,
      problem: "Axiom did not store some lines: field limit exceeded",
    });
  });
});

test("no private address is called that the operator did not allow", async () => {
  const before = receiver.requests.length;
  for (const drain of [newRelic(), custom("Name http", "Format json"), custom("Name loki")]) {
    expect(await send(drain, [])).toMatchObject({
      isDelivered: false,
      kind: "private_address",
      problem: expect.stringContaining("is a private address or this machine"),
    });
  }
  expect(receiver.requests.length).toBe(before);
});

test("a receiver that is away is a problem, not an error", async () => {
  const gone = await logDrainServer();
  await gone.close();
  const drain: LogDrain = { type: "newrelic", url: gone.url, licenseKey: "x" };
  expect(await send(drain)).toMatchObject({ isDelivered: false, kind: "broken_off", cause: "receiver" });
});
