import { expect, test } from "vitest";
import { customCommandProblem } from "./custom-command.ts";

const LOCATION = "/deploy/compose.yaml";

test.each([
  ["build", null],
  ["build", "docker compose build"],
  ["build", "docker compose -f ./deploy/compose.yaml build --pull"],
  ["build", "docker-compose --file=deploy/compose.yaml build"],
  ["start", "docker compose --project-directory . up -d --remove-orphans"],
  ["start", " docker  compose up --detach --build "],
] as const)("to %s by %s is what Berth does by itself", (step, text) => {
  expect(customCommandProblem(step, text, LOCATION)).toBeUndefined();
});

test.each([
  ["build", "docker compose build && rm -rf /", "&&"],
  ["build", "docker compose build --no-cache", "--no-cache"],
  ["build", "docker compose build web", "web"],
  ["build", "docker compose -f other.yaml build", "-f other.yaml"],
  ["build", "docker compose up", "up"],
  ["build", "make", "Only docker compose build"],
  ["start", "docker compose --env-file x up", "--env-file"],
  ["start", "docker compose up --scale web=3", "--scale"],
  ["start", "docker compose up $(id)", "$(id)"],
  ["start", "docker compose", "a command without it"],
  ["start", "sh -c 'docker compose up'", "Only docker compose up"],
] as const)("to %s by %s is refused, and says why", (step, text, part) => {
  expect(customCommandProblem(step, text, LOCATION)).toContain(part);
});
