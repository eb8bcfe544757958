import { expect, test } from "vitest";
import { answering } from "../answers.fixture.ts";
import { saveLink } from "../application-link.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";

const made = async (
  words: readonly string[],
  names: readonly (string | null)[] = ["web", "db"],
  { isInFolder = false } = {},
) => {
  const sent: unknown[] = [];
  const answers = {
    "applications.list": () => [{ uuid: "a1", name: "shop" }],
    "applications.get": () => ({ uuid: "a1", name: "shop" }),
    "applications.containers.list": () => names.map((name) => ({ name })),
    "services.list": () => [{ uuid: "s1", name: "stack", status: "running:healthy" }],
    "services.get": () => ({ uuid: "s1", name: "stack" }),
    "applications.scheduledTasks.create": ({ container, command }: { container?: string; command?: string }) =>
      sent.push({ container, command }),
    "services.scheduledTasks.create": ({ container, command }: { container?: string; command?: string }) =>
      sent.push({ container, command }),
  };
  // The command ends where it would begin to run.
  using folder = temporaryFolder({});
  await using server = await answering(answers);
  if (isInFolder) await saveLink(folder.path, { url: server.url, uuid: "a1", name: "shop" });
  const { stderr } = await server.run(words, { cwd: folder.path });
  return { sent, stderr };
};

test.each<[string, readonly string[], string | undefined, string]>([
  ["exec", ["shop", "web", "--", "node", "x.js"], "web", "'node' 'x.js'"],
  ["run", ["shop", "web", "--", "ls"], "web", "ls"],
  ["exec", ["--service", "stack", "web", "--", "ls"], "web", "ls"],
  ["run", ["stack", "web", "--", "ls"], "web", "ls"],
  ["exec", ["shop", "--container", "db", "--", "ls"], "db", "ls"],
  ["exec", ["shop", "--", "ls", "-l"], undefined, "'ls' '-l'"],
  ["exec", ["shop", "ls", "--", "-l"], undefined, "'ls' '-l'"],
  ["exec", ["shop", "echo", "a", "--", "b"], undefined, "'echo' 'a' 'b'"],
  ["exec", ["shop", "echo", "a"], undefined, "'echo' 'a'"],
])("%s %j runs in the container that stands before its --", async (word, words, container, command) => {
  expect(await made([word, ...words])).toMatchObject({ sent: [{ container, command }] });
});

test.each<[readonly string[], readonly (string | null)[], string | undefined, string]>([
  [["--", "ls"], ["web"], undefined, "ls"],
  [["web", "--", "ls"], ["web", "db"], "web", "ls"],
  [["web", "--", "ls"], [], "web", "ls"],
  [["web", "--", "ls"], ["web-1", "web-2"], "web", "ls"],
  [["ls", "--", "-l"], ["web", "db"], undefined, "'ls' '-l'"],
  [["echo", "a"], [null], undefined, "'echo' 'a'"],
])("run %j in a deployed folder runs in its application", async (words, names, container, command) => {
  expect(await made(["run", ...words], names, { isInFolder: true })).toMatchObject({ sent: [{ container, command }] });
});

test.each<[readonly (string | null)[], string]>([
  [["web", "db"], "The containers of this folder's application: web, db\n"],
  [[null], "Leave out the name for the application of this folder: berth run -- COMMAND\n"],
])("run of an unknown name before -- in a deployed folder is refused where it has %j", async (names, remedy) => {
  const { sent, stderr } = await made(["run", "nosuch", "--", "ls"], names, { isInFolder: true });
  expect([sent, stderr]).toEqual([[], `No application or container is called nosuch.\n  ${remedy}`]);
});

test.each(["exec", "run"])(
  "%s refuses the name of a container where there is a single one, without a name",
  async (word) => {
    for (const words of [["nope"], ["--container", "nope"]]) {
      const { sent, stderr } = await made([word, "shop", ...words, "--", "ls"], [null]);
      expect(sent).toEqual([]);
      expect(stderr).toContain("The application has no container nope. It is a single one: leave out the name.");
    }
    expect((await made([word, "shop", "--", "ls"], [null])).sent).toHaveLength(1);
    // Of what does not run, the server knows more.
    expect((await made([word, "shop", "web", "--", "ls"], [])).sent).toHaveLength(1);
  },
);
