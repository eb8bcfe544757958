import { describe, expect, test } from "vitest";
import {
  type LogDrainSecrets,
  LogDrainsUpdate,
  logDrainOf,
  logDrainsAfter,
  NO_LOG_DRAIN_SECRETS,
} from "./log-drain.ts";
import { ServerSettings } from "./server-settings.ts";

const OFF = ServerSettings.parse({});
const KEYS: LogDrainSecrets = {
  ...NO_LOG_DRAIN_SECRETS,
  logdrain_newrelic_license_key: "license",
  logdrain_axiom_api_key: "api-key",
};
const EU = "https://log-api.eu.newrelic.com/log/v1";
const CONFIG = "[OUTPUT]\n  Name http\n  Host h\n  Format json\n";
const after = (sent: object, settings = OFF, secrets = KEYS) =>
  logDrainsAfter({ settings, secrets }, LogDrainsUpdate.parse(sent));

describe("LogDrainsUpdate", () => {
  test.each([
    { logdrain_newrelic_license_key: "a\nb" },
    { logdrain_newrelic_license_key: "a b" },
    { logdrain_axiom_api_key: "k\r" },
    { logdrain_axiom_dataset_name: "a/b" },
    { logdrain_axiom_dataset_name: ".." },
    { logdrain_newrelic_base_uri: "http://log-api.example.com" },
    { logdrain_newrelic_base_uri: "https://me:pw@log-api.example.com" },
    { logdrain_newrelic_base_uri: "https://log-api.example.com/a\nb" },
    { logdrain_newrelic_base_uri: "file:///etc/passwd" },
    { logdrain_custom_config: "x".repeat(32_769) },
    { logdrain_custom_config: "[OUTPUT]\n  Name kafka" },
    { logdrain_custom_config_parser: "[FILTER]\n  Name lua" },
    { is_logdrain_highlight_enabled: true },
  ])("refuses %j", (sent) => {
    expect(LogDrainsUpdate.safeParse(sent).success).toBe(false);
  });

  test("reads the other spellings of the family's clients", () => {
    expect(LogDrainsUpdate.parse({ is_logdrain_axiom_enabled: "1", logdrain_axiom_dataset_name: "" })).toEqual({
      is_logdrain_axiom_enabled: true,
      logdrain_axiom_dataset_name: null,
    });
  });
});

describe("logDrainsAfter", () => {
  test("keeps what was not sent, and removes what is null", () => {
    const { settings, secrets, problems } = after(
      { logdrain_axiom_api_key: null },
      { ...OFF, logdrain_newrelic_base_uri: EU },
    );
    expect(problems).toEqual({});
    expect(settings.logdrain_newrelic_base_uri).toBe(EU);
    expect(secrets).toEqual({ ...KEYS, logdrain_axiom_api_key: null });
  });

  test("turns the others off when one is enabled", () => {
    const { settings } = after(
      { is_logdrain_newrelic_enabled: true },
      { ...OFF, is_logdrain_axiom_enabled: true, logdrain_axiom_dataset_name: "shop" },
    );
    expect([settings.is_logdrain_newrelic_enabled, settings.is_logdrain_axiom_enabled]).toEqual([true, false]);
  });

  test("refuses two at once", () => {
    const { problems } = after({ is_logdrain_newrelic_enabled: true, is_logdrain_custom_enabled: true });
    expect(problems).toEqual({ is_logdrain_custom_enabled: [expect.stringContaining("one log drain at a time")] });
  });

  test.each([
    [{ is_logdrain_newrelic_enabled: true, logdrain_newrelic_license_key: null }, "logdrain_newrelic_license_key"],
    [{ is_logdrain_axiom_enabled: true }, "logdrain_axiom_dataset_name"],
    [{ is_logdrain_custom_enabled: true }, "logdrain_custom_config"],
  ])("refuses one that lacks a value: %j", (sent, missing) => {
    expect(Object.keys(after(sent).problems)).toEqual([missing]);
  });

  test("refuses to remove what an enabled one needs", () => {
    const on = { ...OFF, is_logdrain_axiom_enabled: true, logdrain_axiom_dataset_name: "shop" };
    expect(Object.keys(after({ logdrain_axiom_api_key: null }, on).problems)).toEqual(["logdrain_axiom_api_key"]);
  });

  test("sends a stored key to no other origin", () => {
    const evil = "https://evil.example/log/v1";
    expect(after({ logdrain_newrelic_base_uri: evil }).problems).toEqual({
      logdrain_newrelic_license_key: [expect.stringContaining("Send it again for https://evil.example")],
    });
    expect(after({ logdrain_newrelic_base_uri: evil, logdrain_newrelic_license_key: "new" }).problems).toEqual({});
    expect(after({ logdrain_newrelic_base_uri: "https://log-api.newrelic.com/other" }).problems).toEqual({});
    expect(after({ logdrain_newrelic_base_uri: evil }, OFF, NO_LOG_DRAIN_SECRETS).problems).toEqual({});
  });
});

describe("logDrainOf", () => {
  test.each([
    [{}, undefined],
    [
      { is_logdrain_newrelic_enabled: true },
      { type: "newrelic", url: "https://log-api.newrelic.com/log/v1", licenseKey: "license" },
    ],
    [
      { is_logdrain_newrelic_enabled: true, logdrain_newrelic_base_uri: EU },
      { type: "newrelic", url: EU, licenseKey: "license" },
    ],
    [
      { is_logdrain_axiom_enabled: true, logdrain_axiom_dataset_name: "shop" },
      { type: "axiom", dataset: "shop", apiKey: "api-key" },
    ],
    [{ is_logdrain_axiom_enabled: true }, undefined],
    [
      { is_logdrain_custom_enabled: true },
      { type: "custom", output: expect.objectContaining({ url: "http://h:80/" }) },
    ],
  ])("reads %j", (settings, drain) => {
    expect(logDrainOf({ ...OFF, ...settings }, { ...KEYS, logdrain_custom_config: CONFIG })).toEqual(drain);
  });
});
