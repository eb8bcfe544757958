import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "../application/application.ts";
import { registryImages } from "./registry-image.ts";

const COMMIT = "4be0b4ec92d2c93d09aba0cb1bd3d35f4d4a4a4a";
const DIGEST = "a".repeat(64);

const pushed = (settings: object, deployment: { commit?: string; pull_request_id?: number } = {}) =>
  registryImages(ApplicationSettings.parse({ build_pack: "dockerfile", ...settings }), {
    commit: COMMIT,
    pull_request_id: 0,
    ...deployment,
  }).map(({ name, tag }) => `${name}:${tag}`);

describe("the names that a built image has in a registry", () => {
  test.each([
    ["a name alone", { docker_registry_image_name: "ghcr.io/a/b" }, {}, [`ghcr.io/a/b:${COMMIT}`]],
    [
      "a name and a tag",
      { docker_registry_image_name: "127.0.0.1:5000/a/b", docker_registry_image_tag: "live" },
      {},
      [`127.0.0.1:5000/a/b:${COMMIT}`, "127.0.0.1:5000/a/b:live"],
    ],
    ["no commit", { docker_registry_image_name: "a/b" }, { commit: "HEAD" }, ["a/b:latest"]],
    [
      "no commit, but a tag",
      { docker_registry_image_name: "a/b", docker_registry_image_tag: "live" },
      { commit: "HEAD" },
      ["a/b:live"],
    ],
    [
      "a pull request",
      { docker_registry_image_name: "a/b", docker_registry_image_tag: "live" },
      { pull_request_id: 7 },
      ["a/b:pr-7"],
    ],
    [
      "a digest, which nothing can be put under",
      { docker_registry_image_name: "a/b@sha256", docker_registry_image_tag: DIGEST },
      {},
      [`a/b:${COMMIT}`],
    ],
    ["no name", {}, {}, []],
    ["what it runs and does not build", { docker_registry_image_name: "a/b", build_pack: "dockerimage" }, {}, []],
    ["what is no name of an image", { docker_registry_image_name: "--privileged" }, {}, []],
  ])("follow from %s", (_, settings, deployment, expected) => {
    expect(pushed(settings, deployment)).toEqual(expected);
  });
});
