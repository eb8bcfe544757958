import { sshKeyPair } from "@berth/testing";
import type { TestServer } from "../../server/e2e/server.fixture.ts";
import { describePages } from "./pages.fixture.ts";

const PATHS = {
  members: "/team",
  ...Object.fromEntries(
    ["tokens", "keys", "registries", "storages", "clouds", "git", "activity"].map((name) => [name, `/team/${name}`]),
  ),
  "team-sign-in": "/team/sign-in",
  account: "/account",
  "shared-variables": "/team/variables",
  notifications: "/team/notifications",
};

describePages("the pages of the team and of its members", {}, pathsOf, { "sign-in": "/sign-in" });

/** Each list has a row with its buttons. */
async function pathsOf({ client }: TestServer) {
  const bucket = { endpoint: "https://s3.example.com", bucket: "backups", region: "eu-central-1" };
  await Promise.all([
    client.privateKeys.create.mutate({ name: "servers", private_key: sshKeyPair().privateKey }),
    client.registries.create.mutate({ address: "registry.example.com", username: "ada", password: "hunter2" }),
    client.s3Storages.create.mutate({ ...bucket, name: "Backups", key: "AKIA", secret: "hush" }),
    client.sharedVariables.team.create.mutate({ key: "SMTP_HOST", value: "smtp.example.com" }),
  ]);
  return PATHS;
}
