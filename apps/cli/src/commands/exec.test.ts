import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const made = async (words: readonly string[]) => {
  const sent: unknown[] = [];
  const answers = {
    "applications.list": () => [{ uuid: "a1", name: "shop" }],
    "applications.get": () => ({ uuid: "a1", name: "shop" }),
    "services.list": () => [{ uuid: "s1", name: "stack", status: "running:healthy" }],
    "services.get": () => ({ uuid: "s1", name: "stack" }),
    "applications.scheduledTasks.create": ({ container, command }: { container?: string; command?: string }) =>
      sent.push({ container, command }),
    "services.scheduledTasks.create": ({ container, command }: { container?: string; command?: string }) =>
      sent.push({ container, command }),
  };
  // The command ends where it would begin to run.
  await ranWith(answers, words);
  return sent;
};

test.each<[string, readonly string[], string | undefined, string]>([
  ["exec", ["shop", "web", "--", "node", "x.js"], "web", "'node' 'x.js'"],
  ["run", ["shop", "web", "--", "ls"], "web", "ls"],
  ["exec", ["--service", "stack", "web", "--", "ls"], "web", "ls"],
  ["exec", ["shop", "--container", "db", "--", "ls"], "db", "ls"],
  ["exec", ["shop", "--", "ls", "-l"], undefined, "'ls' '-l'"],
  ["exec", ["shop", "ls", "--", "-l"], undefined, "'ls' '-l'"],
  ["exec", ["shop", "echo", "a", "--", "b"], undefined, "'echo' 'a' 'b'"],
  ["exec", ["shop", "echo", "a"], undefined, "'echo' 'a'"],
])("%s %j runs in the container that stands before its --", async (word, words, container, command) => {
  expect(await made([word, ...words])).toEqual([{ container, command }]);
});
