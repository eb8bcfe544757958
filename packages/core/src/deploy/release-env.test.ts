import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "../application/application.ts";
import type { EnvRecord } from "../ports/records.ts";
import { buildtimeEnv, type EnvSubject, runtimeEnv } from "./release-env.ts";

const env = (key: string, value: string | null, change: Partial<EnvRecord> = {}): EnvRecord => ({
  id: 1,
  uuid: "e",
  key,
  value,
  is_preview: false,
  is_literal: false,
  is_multiline: false,
  is_shown_once: false,
  is_runtime: true,
  is_buildtime: true,
  is_required: false,
  comment: null,
  order: null,
  created_at: new Date(0),
  updated_at: new Date(0),
  ...change,
});

const subject = (envs: readonly EnvRecord[], pullRequestId = 0): EnvSubject => ({
  application: {
    uuid: "app1",
    name: "shop",
    github_app: null,
    placement: { project_name: "Shops", environment_name: "staging", server_ip: "192.0.2.7" },
    settings: ApplicationSettings.parse({ build_pack: "nixpacks", git_branch: "main" }),
  },
  deployment: { uuid: "dep1", commit: "abc123", pull_request_id: pullRequestId, git_type: null },
  domains: [
    { host: "shop.example.com", path: "/", url: "https://shop.example.com" },
    { host: "example.com", path: "/shop", url: "https://example.com/shop" },
  ],
  envs,
});

describe("the variables of a release", () => {
  test("name the release, its URLs, its branch and its commit", () => {
    const own = {
      BERTH_RESOURCE_UUID: "app1",
      BERTH_CONTAINER_NAME: "app1-dep1",
      BERTH_APP_NAME: "shop",
      BERTH_PROJECT_NAME: "Shops",
      BERTH_ENVIRONMENT_NAME: "staging",
      BERTH_SERVER_IP: "192.0.2.7",
      BERTH_FQDN: "shop.example.com,example.com",
      BERTH_URL: "https://shop.example.com,https://example.com/shop",
      BERTH_BRANCH: "main",
    };
    const family = Object.fromEntries(
      Object.entries(own).map(([key, value]) => [key.replace("BERTH_", "COOLIFY_"), value]),
    );
    expect(runtimeEnv(subject([]))).toEqual({ ...own, ...family, SOURCE_COMMIT: "abc123" });
  });

  test("have the URL that a browser opens, and not the port of the container", () => {
    const claim = { host: "shop.localhost", path: "/", url: "http://shop.localhost:3000" };
    const domains = [{ ...claim, public_url: "http://shop.localhost:8080" }];
    const env = runtimeEnv({ ...subject([]), domains });
    expect([env.BERTH_URL, env.COOLIFY_URL, env.COOLIFY_FQDN]).toEqual([
      "http://shop.localhost:8080",
      "http://shop.localhost:8080",
      "shop.localhost",
    ]);
  });

  test("are the user's where both set one", () => {
    expect(runtimeEnv(subject([env("BERTH_URL", "mine")])).BERTH_URL).toBe("mine");
  });

  test("are split into those of the build and those of the run", () => {
    const envs = [env("BUILD", "1", { is_runtime: false }), env("RUN", "2", { is_buildtime: false })];
    expect(runtimeEnv(subject(envs))).toMatchObject({ RUN: "2" });
    expect(runtimeEnv(subject(envs))).not.toHaveProperty("BUILD");
    expect(buildtimeEnv(subject(envs))).toMatchObject({ BUILD: "1" });
    expect(buildtimeEnv(subject(envs))).not.toHaveProperty("RUN");
    // A build with other variables finds no cached layer.
    const { deployment, ...rest } = subject(envs);
    const later = { ...rest, deployment: { ...deployment, uuid: "dep2", commit: "later" } };
    expect(buildtimeEnv(later)).toEqual(buildtimeEnv(subject(envs)));
  });

  test("of a preview are the preview ones only", () => {
    const envs = [env("A", "live"), env("A", "preview", { is_preview: true }), env("B", "live")];
    expect(runtimeEnv(subject(envs, 7))).toMatchObject({ A: "preview" });
    expect(runtimeEnv(subject(envs, 7))).not.toHaveProperty("B");
    expect(runtimeEnv(subject(envs))).toMatchObject({ A: "live", B: "live" });
  });
});

describe("the user's values", () => {
  test("reach the release byte for byte, whatever they look like", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), fc.boolean(), (value, is_literal, is_multiline) => {
        fc.pre(!value.includes("{{"));
        expect(runtimeEnv(subject([env("A", value, { is_literal, is_multiline })])).A).toBe(value);
      }),
    );
  });

  test("are an empty text when there is none", () => {
    expect(runtimeEnv(subject([env("A", null)])).A).toBe("");
  });

  test("that grow past what a program can be started with fail by their name", () => {
    const grown = subject([env("GROWN", "x".repeat(140_000))]);
    expect(() => runtimeEnv(grown)).toThrow(/^The variable GROWN is too long: .* has more than 131071 bytes/);
  });
});
