/** The tabs of a team, which the search finds too. */
export const TEAM_TABS = [
  { name: "members", title: "Members" },
  { name: "tokens", title: "Tokens" },
  { name: "keys", title: "Keys" },
  { name: "registries", title: "Registries" },
  { name: "storages", title: "S3 storages" },
  { name: "clouds", title: "Cloud tokens" },
  { name: "git", title: "Git hosts" },
  { name: "variables", title: "Shared variables" },
  { name: "notifications", title: "Notifications" },
  { name: "sign-in", title: "Sign-in" },
  { name: "activity", title: "Activity" },
] as const;
