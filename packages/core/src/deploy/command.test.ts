import { expect, test } from "vitest";
import { commandContainer, deploymentCommand } from "./command.ts";

const [web, store] = [
  { name: "web", state: "running" },
  { name: "store", state: "running" },
] as const;
const replicas = [
  { name: "web", number: 1, state: "restarting" },
  { name: "web", number: 2, state: "running" },
] as const;
const stopped = replicas.map((one) => ({ ...one, state: "exited" as const }));

test.each([
  ["of one container is chosen by no name", null, undefined, undefined],
  ["of one container minds no name", "web", undefined, undefined],
  ["of a stack of one needs no name", null, [web], "web"],
  ["of several is the named one", "store", [web, store], "store"],
  ["of several alike is any of that name", "web", replicas, "web"],
  ["of several alike needs no name, and runs in one that runs", null, replicas, "web-2"],
  ["of several alike that are stopped names the first", null, stopped, "web-1"],
  ["of several alike is one by its number", "web-2", replicas, "web-2"],
] as const)("a command %s", (_what, container, containers, expected) => {
  expect(commandContainer({ container }, "pre", containers)).toBe(expected);
});

test.each([
  ["names none of several", null, "say in post_deployment_command_container in which of web, store."],
  ["names one that there is not", "db", "Set post_deployment_command_container to one of web, store."],
] as const)("a command that %s is refused with the names there are", (_what, container, sentence) => {
  expect(() => commandContainer({ container }, "post", [web, store])).toThrow(sentence);
});

test("an emptied script is no command, and an emptied name names none", () => {
  expect(deploymentCommand("", "web")).toBeNull();
  expect(deploymentCommand("true", "")).toEqual({ script: "true", container: null });
});
