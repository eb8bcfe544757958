import { expect, test } from "vitest";
import { customCommandProblem, NO_COMMAND, readComposeCommand } from "./custom-command.ts";

const LOCATION = "/deploy/compose.yaml";

test.each([
  ["build", null, {}],
  ["build", "docker compose build --quiet", {}],
  ["build", "docker compose -f ./deploy/compose.yaml build --pull", { isPulled: true }],
  ["build", "docker-compose --file=deploy/compose.yaml build --no-cache", { isForced: true }],
  [
    "build",
    `docker compose --profile web --profile=jobs build --build-arg "A=b c" --build-arg TOKEN`,
    { profiles: ["web", "jobs"], buildArgs: { A: "b c", TOKEN: null } },
  ],
  ["start", "docker compose --project-directory . up -d --remove-orphans", {}],
  ["start", " docker  compose up --detach --build --wait", {}],
  ["start", "docker compose up -d --scale web=3 --scale=job=0", { scale: { web: 3, job: 0 } }],
  ["start", "docker compose --profile debug up --force-recreate", { profiles: ["debug"], isRecreated: true }],
] as const)("to %s by %s is what Berth does itself", (step, text, change) => {
  expect(readComposeCommand(step, text, LOCATION)).toEqual({ ...NO_COMMAND, ...change });
  expect(customCommandProblem(step, text, LOCATION)).toBeUndefined();
});

test.each([
  ["build", "docker compose build && rm -rf /", "&&"],
  ["build", "docker compose build --push", "--push"],
  ["build", "docker compose build web", "web"],
  ["build", "docker compose build --build-arg 1=2", "NAME=value"],
  ["build", "docker compose -f other.yaml build", "-f other.yaml"],
  ["build", "docker compose -f deploy/compose.yaml -f more.yaml build", "-f more.yaml"],
  ["build", "docker compose up", "up"],
  ["build", "make", "Only docker compose build"],
  ["build", "docker compose build 'a", "quotation mark"],
  ["start", "docker compose --env-file x up", "--env-file"],
  ["start", "docker compose up --scale web=many", "--scale web=many"],
  ["start", "docker compose up --scale", "SERVICE=number"],
  ["start", "docker compose up --detach=false", "--detach"],
  ["start", "docker compose up $(id)", "$(id)"],
  ["start", "docker compose up --constructor", "--constructor"],
  ["start", "docker compose", "a command without it"],
  ["start", "sh -c 'docker compose up'", "Only docker compose up"],
] as const)("to %s by %s is refused, and says why", (step, text, part) => {
  expect(customCommandProblem(step, text, LOCATION)).toContain(part);
});
