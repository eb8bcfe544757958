/** First words of other tools that are not names of Berth's commands, and the command that does what they mean. */
export const HABITS: Readonly<Record<string, string>> = {
  up: "Run a compose file with: berth services up FILE, a folder with: berth deploy FOLDER",
  push: "Deploy a folder with: berth deploy FOLDER, a repository with: berth deploy --git URL",
  ...each(
    ["psql", "mysql", "mongosh", "redis-cli", "clickhouse-client"],
    "Open a database with its client, such as: berth db psql NAME",
  ),
  down: "Stop an application with: berth stop APP, a service with: berth services stop NAME",
  ...each(
    ["init", "create", "launch", "link", "add"],
    "Create an application from a folder or a repository with: berth deploy, a database with: berth db create, a service with: berth services create",
  ),
  // Only what comes from git is built again without a folder.
  ...each(
    ["redeploy", "rebuild", "build"],
    "Build and start an application again with: berth deploy in its folder, berth deploy FOLDER --app APP elsewhere, or berth deploy --app APP if its code comes from git",
  ),
  logout: "Forget a connection with: berth context rm NAME",
  ...each(
    ["volume", "volumes", "storage", "storages"],
    "List what an application keeps with: berth applications storages list APP",
  ),
  ...each(["metrics", "stats", "top"], "Show what an application uses with: berth applications metrics list APP"),
  ...each(["preview", "previews"], "List previews of pull requests with: berth applications previews list APP"),
  ...each(["key", "keys", "ssh-keys"], "List private keys with: berth private-keys list"),
  ...each(["node", "nodes"], "List the machines of a cluster with: berth clusters nodes"),
  ...each(
    ["restore", "dump"],
    "Save a database with: berth backup run NAME. Restore it with: berth backup restore NAME",
  ),
  ...each(
    ["set", "unset", "export"],
    "Set a variable with: berth env set KEY=VALUE, remove one with: berth env unset KEY",
  ),
  ...each(
    ["update", "edit", "configure"],
    "Change settings with: berth applications update APP, berth db update NAME or berth services update NAME",
  ),
  ...each(["attach", "connect", "detach"], "Give an application the URL of a database with: berth db attach NAME APP"),
  ...each(["get", "describe", "inspect", "show", "info"], "Show an application with: berth app APP"),
};

/** How an object of a group is made, if that is what an unknown word means. An application is made by deploying it. */
export const createHint = (group: string, word: string): string | undefined => {
  if (!CREATING.has(word)) return undefined;
  if (group === "app" || group === "apps")
    return "Create an application from a folder or a repository with: berth deploy";
  return `To make one: berth ${group} create --help`;
};
const CREATING: ReadonlySet<string> = new Set(["create", "add", "new", "make"]);

/** What an unknown word after a group means in other tools; `undefined` for any other word. */
export function groupHint(group: string, word: string, name: string): string | undefined {
  const updating = group === "app" || group === "apps" ? "applications" : group;
  if (word === "rename") return `To change its name: berth ${updating} update ${name} --name NEW`;
  if (word === "edit" || word === "update")
    return `To change its settings: berth ${updating} update ${name}, with flags that --help lists`;
  if (group === "databases" && CLIENT_WORDS.has(word))
    return `To open its client: berth db psql ${name} (or mysql, mongosh, redis-cli, clickhouse-client)`;
  return undefined;
}
const CLIENT_WORDS: ReadonlySet<string> = new Set(["shell", "console", "connect", "client", "cli", "exec"]);

/** The command that does what an unknown first word means in other tools; `undefined` for any other word. */
export const habitOf = (word: string): string | undefined => (Object.hasOwn(HABITS, word) ? HABITS[word] : undefined);

function each(words: readonly string[], hint: string): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => [word, hint]));
}
