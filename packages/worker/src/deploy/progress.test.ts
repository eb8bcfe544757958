import type { StackArtifact } from "@berth/core/deploy";
import { expect, test } from "vitest";
import { type DeploymentRun, mergeOutput } from "./progress.ts";

test("no line tells a secret of the compose file once that is read, also after a resumption", () => {
  const hidden: string[] = [];
  const run = {
    state: { commit: "abc" },
    log: { hide: (texts: readonly string[]) => void hidden.push(...texts) },
    ctx: { envs: [{ key: "MID", value: "x" }] },
    // Only these fields are read.
  } as unknown as DeploymentRun;
  mergeOutput(run, { folder: null });
  expect(hidden).toEqual([]);
  const environment = { A_SECRET: "pre-$MID-post", B_TOKEN: "true", C_TOKEN: "tok-1", MODE: "quick" };
  const compose = JSON.stringify({ services: { web: { image: "a", environment } } });
  const artifact: StackArtifact = { type: "stack", compose, images: {}, files: [] };
  mergeOutput(run, { artifact });
  expect(hidden).toEqual(["pre-x-post", "tok-1"]);
  expect(run.state).toEqual({ commit: "abc", folder: null, artifact });
});
