import { expect, test } from "vitest";
import { ApplicationSettings } from "./application.ts";
import { replicaProblems, replicasWanted } from "./replicas.ts";

const settings = (change: Partial<ApplicationSettings>) =>
  ApplicationSettings.parse({ build_pack: "nixpacks", replicas: 3, ...change });

test.each<[string, Partial<ApplicationSettings>, string | undefined]>([
  ["several containers", {}, undefined],
  ["a port of the server", { ports_mappings: "8080:80" }, "port 8080"],
  ["a port of the server with one container", { ports_mappings: "8080:80", replicas: 1 }, undefined],
  ["a lasting name", { is_consistent_container_name_enabled: true }, "lasting name"],
  ["an address of its own", { custom_docker_run_options: "--ip 10.0.0.5" }, "--ip"],
  ["other options", { custom_docker_run_options: "--cap-add NET_ADMIN" }, undefined],
  ["a compose file", { build_pack: "dockercompose" }, "deploy.replicas"],
])("%s", (_title, change, problem) => {
  const problems = replicaProblems(settings(change));
  if (problem === undefined) expect(problems).toEqual({});
  else expect(problems).toEqual({ replicas: [expect.stringContaining(problem)] });
});

test("a preview has one container, and a compose file decides for itself", () => {
  expect(replicasWanted(settings({}))).toBe(3);
  expect(replicasWanted(settings({}), 7)).toBe(1);
  expect(replicasWanted(settings({ build_pack: "dockercompose" }))).toBeUndefined();
});
