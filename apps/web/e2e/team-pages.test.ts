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

describePages("the pages of the team and of its members", {}, async () => PATHS, { "sign-in": "/sign-in" });
