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
  rename: renameHint("applications", "APP"),
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

/**
 * What an unknown word after a group means in other tools; `undefined` for any other word. The words that follow replace
 * the placeholders of the hint: NAME, KEY=VALUE or FILE.
 */
export function groupHint(group: string, word: string, [first]: readonly string[]): string | undefined {
  const [, hint] = GROUP_HABITS[group]?.find(([words]) => words.includes(word)) ?? [];
  if (hint === undefined || first === undefined) return hint;
  return hint.replaceAll(placeholderOf(first), () => first);
}

/** What a word is by its form. */
function placeholderOf(word: string): string {
  if (word.includes("=")) return "KEY=VALUE";
  return /[./]/.test(word) ? "FILE" : "NAME";
}

/** The same of a group whose objects have settings. */
export function settingsHint(group: string, word: string, name: string): string | undefined {
  const updating = group === "app" || group === "apps" ? "applications" : group;
  if (word === "rename") return renameHint(updating, name);
  if (word === "edit" || word === "update")
    return `To change its settings: berth ${updating} update ${name}, with flags that --help lists`;
  return undefined;
}

function renameHint(group: string, name: string): string {
  return `To change its name: berth ${group} update ${name} --name NEW`;
}

const openWith = (client: string) => `To open its client: berth db ${client} NAME`;

const GROUP_HABITS: Readonly<Record<string, readonly (readonly [words: readonly string[], hint: string])[]>> = {
  databases: [
    [
      ["shell", "console", "connect", "client", "cli", "exec"],
      `${openWith("psql")} (or mysql, mongosh, redis-cli, clickhouse-client)`,
    ],
    [["postgres", "postgresql", "pg"], openWith("psql")],
    [["mariadb"], openWith("mysql")],
    [["mongo", "mongodb"], openWith("mongosh")],
    [["redis", "keydb", "dragonfly", "valkey"], openWith("redis-cli")],
    [["clickhouse"], openWith("clickhouse-client")],
    [
      ["password", "passwd", "credentials"],
      "To show its password: berth db url NAME. To change it: berth db update NAME --postgres-password-file FILE, or the flag of another engine that --help lists",
    ],
  ],
  env: [
    [
      ["add", "create", "new", "import", "load", "push", "edit", "update"],
      "To set variables: berth env set KEY=VALUE, or those of a file: berth env set --file FILE",
    ],
  ],
  services: [
    [["ps", "status", "info", "describe", "inspect"], "To show NAME: berth services show NAME"],
    [["deployments", "releases", "history"], "To list its deployments: berth deployments NAME"],
    [["deploy", "redeploy", "apply", "push"], "To run a compose file: berth services up FILE"],
  ],
};

/** The command that does what an unknown first word means in other tools; `undefined` for any other word. */
export const habitOf = (word: string): string | undefined => (Object.hasOwn(HABITS, word) ? HABITS[word] : undefined);

function each(words: readonly string[], hint: string): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => [word, hint]));
}
