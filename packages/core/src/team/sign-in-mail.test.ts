import { expect, test } from "vitest";
import { invitationMail, passwordResetMail } from "./sign-in-mail.ts";

const link = { to: "ada@example.com", url: "https://berth.example/sign-in#code=abc", teamName: "Shop" };

test("an invitation names the team and has the link on a line of its own", () => {
  const { to, subject, text } = invitationMail(link);
  expect(to).toBe("ada@example.com");
  expect(subject).toBe("You are invited to the team Shop");
  expect(text.split("\n")).toContain(link.url);
});

test.each([
  ["Shop\r\nBcc: eve@example.com", "Shop Bcc: eve@example.com"],
  [" Shop\u2028Floor \u0000", "Shop Floor"],
])("a team's name cannot break lines: %j", (teamName, shown) => {
  expect(invitationMail({ ...link, teamName }).subject).toBe(`You are invited to the team ${shown}`);
  expect(passwordResetMail({ ...link, teamName }).text).toContain(`(team ${shown})`);
});
