import { expect, test } from "vitest";
import {
  commandFiles,
  customCommandProblem,
  differingFiles,
  NO_COMMAND,
  readComposeCommand,
} from "./custom-command.ts";

const LOCATION = "/deploy/compose.yaml";
const FIRST = ["deploy/compose.yaml"];

test.each([
  ["build", null, {}],
  ["build", "docker compose build --quiet", {}],
  ["build", "docker compose -f ./deploy/compose.yaml build --pull", { files: FIRST, isPulled: true }],
  ["build", "docker-compose --file=deploy/compose.yaml build --no-cache", { files: FIRST, isForced: true }],
  [
    "build",
    "docker compose -f deploy/compose.yaml -f ./deploy//prod.yaml --file=more.yaml build",
    { files: ["deploy/compose.yaml", "deploy/prod.yaml", "more.yaml"] },
  ],
  [
    "start",
    "docker compose --env-file .env --env-file=./deploy/prod.env up",
    { envFiles: [".env", "deploy/prod.env"] },
  ],
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
  ["build", "docker compose -f other.yaml -f deploy/compose.yaml build", "-f other.yaml"],
  ["build", "docker compose -f deploy/compose.yaml -f ../more.yaml build", "-f ../more.yaml"],
  ["build", "docker compose -f deploy/compose.yaml -f a/../../more.yaml build", "-f a/../../more.yaml"],
  ["build", "docker compose -f deploy/compose.yaml -f /etc/more.yaml build", "-f /etc/more.yaml"],
  ["build", "docker compose -f deploy/compose.yaml -f - build", "-f -"],
  ["build", "docker compose -f deploy/compose.yaml -f https://a.example/b.yaml build", "-f https:"],
  ["build", "docker compose -f deploy/compose.yaml -f oci:registry/a build", "-f oci:"],
  ["build", `docker compose${" -f deploy/compose.yaml".repeat(21)} build`, "at most 20"],
  ["start", "docker compose --env-file ../x up", "--env-file ../x"],
  ["start", "docker compose --env-file /proc/self/environ up", "--env-file /proc"],
  ["start", `docker compose${" --env-file a".repeat(21)} up`, "at most 20"],
  ["build", "docker compose up", "up"],
  ["build", "make", "Only docker compose build"],
  ["build", "docker compose build 'a", "quotation mark"],
  ["start", "docker compose up --env-file x", "--env-file"],
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

test("both name the same files, where both name any", () => {
  const [a, b] = [
    { ...NO_COMMAND, files: ["a"], envFiles: ["x"] },
    { ...NO_COMMAND, files: ["a", "b"] },
  ];
  expect(differingFiles(a, NO_COMMAND)).toBeUndefined();
  expect(differingFiles(NO_COMMAND, b)).toBeUndefined();
  expect(differingFiles(a, a)).toBeUndefined();
  expect(differingFiles(a, b)).toContain("by --file");
  expect(differingFiles(a, { ...a, envFiles: ["y"] })).toContain("by --env-file");
  expect(commandFiles([NO_COMMAND, a])).toEqual({ files: ["a"], envFiles: ["x"] });
  expect(commandFiles([NO_COMMAND, NO_COMMAND])).toEqual({ files: [], envFiles: [] });
});
