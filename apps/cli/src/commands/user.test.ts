import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const EVA = { id: 7, name: "Eva", email: "eva@example.com", role: "member" };

async function ran(...argv: readonly string[]) {
  const removed: unknown[] = [];
  const answers = {
    "teams.current": () => ({ id: 3, name: "Shop" }),
    "teams.members.list": () => [EVA],
    "teams.members.add": (input: object) => ({ ...EVA, ...input, id: 8 }),
    "teams.members.createSignInLink": () => ({ code: "c0de", url: null, expires_at: "2026-01-02T00:00:00Z" }),
    "teams.members.remove": (input: unknown) => {
      removed.push(input);
      return { message: "Member removed." };
    },
  };
  return { ...(await ranWith(answers, argv)), removed };
}

test.each([[["user", "list"]], [["users"]], [["members", "list"]]])(
  "the users of the team are listed: %j",
  async (argv) => {
    const { exitCode, stdout } = await ran(...argv);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^Eva +eva@example\.com +member +7$/m)]);
  },
);

test("a user is removed from the team by their address, once that is confirmed", async () => {
  expect(await ran("user", "remove", EVA.email)).toMatchObject({ exitCode: 2, removed: [] });
  const unknown = await ran("user", "rm", "eve@example.com", "--yes");
  expect([unknown.exitCode, unknown.removed, unknown.stderr]).toEqual([
    1,
    [],
    expect.stringContaining("berth user list"),
  ]);
  const { exitCode, stdout, removed } = await ran("user", "remove", "EVA@example.com", "--yes");
  expect([exitCode, stdout, removed]).toEqual([0, "Member removed.\n", [{ id: 3, user_id: 7 }]]);
});

test("an invitation says where its link leads, and who is a member already", async () => {
  const again = await ran("user", "invite", EVA.email);
  expect([again.exitCode, again.stdout]).toEqual([0, expect.stringContaining("/sign-in#code=c0de\n")]);
  expect(again.stderr).toContain("eva@example.com is a member already, as member.");
  const { stderr } = await ran("user", "invite", "new@example.com");
  expect(stderr).toContain("set BERTH_PUBLIC_URL");
  expect(stderr).not.toContain("already");
});
