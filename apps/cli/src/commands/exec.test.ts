import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const made = async (words: readonly string[], names: readonly (string | null)[] = ["web", "db"]) => {
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
  const { stderr } = await ranWith(answers, words);
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
